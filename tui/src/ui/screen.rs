//! The trait of a screen.

use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::action::Action;
use crate::ui::keys::{Hint, Key};
use crate::ui::theme::Theme;

/// The things that all screens are about.
#[derive(Debug, Clone)]
pub struct Base {
    /// The folder with experiment files and `results`.
    pub folder: PathBuf,
    /// The CPU that new experiments measure on.
    pub cpu: u32,
}

/// A screen: what it knows, what happens to it, and how it is drawn. It has no terminal, thread or file: what takes time or
/// looks at files is a [`Task`](crate::ui::action::Task) that it asks for, whose news come to [`Screen::take`].
pub trait Screen {
    /// Its name in the row of screens.
    fn name(&self) -> &'static str;

    /// The keys that do something now.
    fn hints(&self) -> Vec<Hint>;

    /// Takes in a key. `measures`: another screen measures something, which must not be disturbed.
    fn key(&mut self, key: Key, measures: bool) -> Option<Action>;

    /// Takes in news, of whatever type: those of other screens, too.
    fn take(&mut self, _news: &dyn Any) -> Option<Action> {
        None
    }

    /// The time between two calls of [`Screen::look`] while the screen is seen; a screen without a time is asked when it comes into sight.
    fn period(&self) -> Option<Duration> {
        None
    }

    /// Asks for what it does not know yet: after each key and all news while it is seen, and `due` once a period.
    fn look(&mut self, _due: bool) -> Option<Action> {
        None
    }

    /// True if it measures something, which must not be disturbed.
    fn measures(&self) -> bool {
        false
    }

    /// What would be lost if one left, in words.
    fn unsaved(&self) -> Option<String> {
        None
    }

    /// True if it takes all characters that are typed, as a text.
    fn is_typed_into(&self) -> bool {
        false
    }

    /// Draws it.
    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme);
}

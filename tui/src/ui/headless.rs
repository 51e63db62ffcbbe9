//! A screen without a terminal, for batch: the same model does its work for a while, and what is seen then is printed.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::cpus::to_housekeeping;
use crate::outcome::Failure;
use crate::picture::is_utf8;
use crate::ui::action::Action;
use crate::ui::app::{App, Input};
use crate::ui::frame;
use crate::ui::keys::Key;
use crate::ui::parts::export;
use crate::ui::session::{base, perform};
use crate::ui::theme::{Colors, Glyphs, Theme};

/// What is printed.
#[derive(Debug)]
pub struct Wanted {
    /// The name of the screen.
    pub screen: String,
    /// How long it is watched; when keys were pressed, as long again.
    pub watch: Duration,
    /// What is pressed.
    pub keys: Vec<Key>,
    /// Columns and rows.
    pub size: (u16, u16),
    /// As SVG, with colours; as text, otherwise.
    pub svg: bool,
}

/// Watches a screen, and gives what is seen.
///
/// # Errors
/// There is no such screen.
pub fn picture(folder: PathBuf, wanted: &Wanted) -> Result<String, Failure> {
    to_housekeeping();
    let (input, inputs) = channel();
    let (app, asked) = App::new(&base(folder));
    let mut watch = Watch {
        app,
        input,
        inputs,
        looked: Instant::now(),
    };
    watch.perform(asked);
    let Some(number) = watch.number(&wanted.screen) else {
        let names: Vec<&str> = watch.app.names().collect();
        let names = names.join(", ");
        return Err(Failure::input(format!(
            "there is no screen {}; the screens are {names}",
            wanted.screen
        )));
    };
    watch.on(Input::Key(Key::Char(number)));
    watch.go_on(wanted.watch);
    if !wanted.keys.is_empty() {
        for &key in &wanted.keys {
            watch.on(Input::Key(key));
        }
        watch.go_on(wanted.watch);
    }
    let (width, height) = wanted.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    frame::draw(&mut buffer, &mut watch.app, theme(wanted.svg));
    Ok(match wanted.svg {
        true => export::svg(&buffer),
        false => export::text(&buffer),
    })
}

/// Without colours, characters tell all.
fn theme(svg: bool) -> Theme {
    let has_all = svg || is_utf8(|name| Some(std::env::var_os(name)?.to_string_lossy().into()));
    Theme {
        colors: if svg { Colors::True } else { Colors::None },
        glyphs: if has_all { Glyphs::Fine } else { Glyphs::Ascii },
    }
}

struct Watch {
    app: App,
    input: Sender<Input>,
    inputs: Receiver<Input>,
    looked: Instant,
}

impl Watch {
    /// The number of a screen, which is its key.
    fn number(&self, screen: &str) -> Option<char> {
        let mut names = self.app.names();
        let at = names.position(|name| name.eq_ignore_ascii_case(screen))?;
        char::from_digit(u32::try_from(at).ok()? + 1, 10)
    }

    fn on(&mut self, input: Input) {
        if matches!(input, Input::Due) {
            self.looked = Instant::now();
        }
        let asked = self.app.on(input);
        self.perform(asked);
    }

    fn perform(&self, asked: Vec<Action>) {
        for action in asked {
            perform(action, &self.input);
        }
    }

    /// Takes in what happens in so much time.
    fn go_on(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let due = self.app.period().map(|period| self.looked + period);
            let until = due.map_or(end, |due| due.min(end));
            let left = until.saturating_duration_since(Instant::now());
            match self.inputs.recv_timeout(left) {
                Ok(input) => self.on(input),
                Err(_) if due.is_some_and(|due| due <= Instant::now()) => self.on(Input::Due),
                Err(_) => {}
            }
        }
    }
}

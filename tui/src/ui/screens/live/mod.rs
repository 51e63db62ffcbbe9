//! Live: the distribution of what is being measured, while it is measured.

mod history;
pub mod lens;
pub mod picture;
mod ranks;
#[cfg(test)]
mod tests;
pub mod view;
pub mod watch;

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::action::Action;
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::screen::{Base, Screen};
use crate::ui::theme::Theme;
use lens::Lens;
use picture::Picture;
use watch::{Found, Heard, Look, Seen, Source, Watcher};

#[derive(Debug, Clone, Copy)]
enum Does {
    Choose,
    Pin,
    Unpin,
    Freeze,
    Zoom,
    Cursor,
    Mark,
    Back,
    Ranks,
}

const KEYS: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Char('p')],
        does: "pin",
        command: Does::Pin,
    },
    Binding {
        keys: &[Key::Char('u')],
        does: "unpin",
        command: Does::Unpin,
    },
    Binding {
        keys: &[Key::Char('f')],
        does: "freeze, go on",
        command: Does::Freeze,
    },
    Binding {
        keys: &[Key::Char('z')],
        does: "zoom",
        command: Does::Zoom,
    },
    Binding {
        keys: &[Key::Char('r')],
        does: "ranks",
        command: Does::Ranks,
    },
    Binding {
        keys: &[Key::Left, Key::Right],
        does: "cursor",
        command: Does::Cursor,
    },
    Binding {
        keys: &[Key::Char(' ')],
        does: "mark, zoom between",
        command: Does::Mark,
    },
    Binding {
        keys: &[Key::Escape],
        does: "whole again",
        command: Does::Back,
    },
    Binding {
        keys: MOVES,
        does: "what is watched",
        command: Does::Choose,
    },
];

/// The screen.
struct Live {
    watcher: Arc<Mutex<Watcher>>,
    /// True if somebody looks.
    looks: bool,
    /// All that is being measured; not looked for yet.
    found: Option<Vec<Found>>,
    /// The source that is watched; the first that there is, where none was chosen.
    chosen: Option<Source>,
    picture: Picture,
    /// The picture that is shown while all goes on.
    frozen: Option<Box<Picture>>,
    lens: Lens,
    /// True if ranks are shown where there is room for them or the heat map.
    ranks: bool,
}

/// The screen for the experiments of a folder, and programs that were started by hand.
pub fn screen(base: &Base) -> Box<dyn Screen> {
    Box::new(Live {
        watcher: Arc::new(Mutex::new(Watcher::new(&base.folder))),
        looks: false,
        found: None,
        chosen: None,
        picture: Picture::default(),
        frozen: None,
        lens: Lens::default(),
        ranks: false,
    })
}

impl Live {
    fn shown(&self) -> &Picture {
        self.frozen.as_deref().unwrap_or(&self.picture)
    }

    /// Ends a freeze where another source is heard: whoever started it wants to see it.
    fn thaw_for(&mut self, heard: Option<&Heard>) {
        let frozen = self.frozen.as_ref().and_then(|it| it.heard.as_ref());
        if let (Some(frozen), Some(heard)) = (frozen, heard)
            && frozen.source != heard.source
        {
            self.frozen = None;
        }
    }

    /// The place of what is watched among all that there is.
    fn watched_at(&self) -> Option<usize> {
        let found = self.found.as_ref()?;
        let heard = self.picture.heard.as_ref()?;
        found.iter().position(|it| it.source == heard.source)
    }

    fn choose(&mut self, key: Key) {
        let (Some(found), at) = (&self.found, self.watched_at().unwrap_or(0)) else {
            return;
        };
        if let Some(next) = moved(key, at, found.len()) {
            self.chosen = Some(found[next].source.clone());
        }
    }
}

impl Screen for Live {
    fn name(&self) -> &'static str {
        "Live"
    }

    fn hints(&self) -> Vec<Hint> {
        hints(KEYS)
    }

    fn key(&mut self, key: Key, _measures: bool) -> Option<Action> {
        match command(KEYS, key)? {
            Does::Choose => self.choose(key),
            Does::Pin => {
                // The picture that is seen is pinned.
                match self.frozen.take() {
                    Some(frozen) => self.picture.pin_earlier(frozen.running),
                    None => self.picture.pin(),
                }
            }
            Does::Unpin => self.picture.pinned = None,
            Does::Freeze => {
                self.frozen = match self.frozen {
                    Some(_) => None,
                    None => Some(Box::new(self.picture.clone())),
                };
            }
            Does::Zoom => self.lens.next_zoom(),
            Does::Cursor => {
                if let Some(range) = self.lens.range(self.shown().distributions()) {
                    self.lens.step(range, key == Key::Right);
                }
            }
            Does::Mark => self.lens.mark_or_zoom(),
            Does::Back => self.lens.back(),
            Does::Ranks => self.ranks = !self.ranks,
        }
        None
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        if let Some(seen) = news.downcast_ref::<Seen>() {
            self.looks = false;
            self.found = Some(seen.found.clone());
            self.thaw_for(seen.heard.as_ref());
            self.picture.take(seen.at, seen.heard.clone());
        }
        None
    }

    fn period(&self) -> Option<Duration> {
        Some(Duration::from_millis(250))
    }

    fn look(&mut self, due: bool) -> Option<Action> {
        if !due || self.looks {
            return None;
        }
        self.looks = true;
        Some(Action::work(Look {
            watcher: Arc::clone(&self.watcher),
            chosen: self.chosen.clone(),
        }))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}

//! Log: warnings and errors, of runs, of experiments, of the boot, and of this UI.

mod read;
#[cfg(test)]
mod tests;
mod view;

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jitterlab_base::named;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::action::{Action, Said};
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::screen::{Base, Screen};
use crate::ui::theme::Theme;
use read::{ReadLog, Reader};

/// The weight of what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Something is as somebody wanted it.
    Note,
    /// Something is not as it should be, and it went on.
    Warning,
    /// Something did not come about.
    Error,
}

named!(Weight, Note => "note", Warning => "warning", Error => "error");

/// A line of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When, as UTC (RFC 3339); nothing where nobody knows.
    pub when: String,
    /// The weight of what happened.
    pub weight: Weight,
    /// The source of the message.
    pub source: String,
    /// The message.
    pub text: String,
}

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
enum Does {
    Move,
    Weight,
    Type,
    Clear,
}

const KEYS: &[Binding<Does>] = &[
    Binding {
        keys: MOVES,
        does: "choose",
        command: Does::Move,
    },
    Binding {
        keys: &[Key::Char('e')],
        does: "errors, warnings, all",
        command: Does::Weight,
    },
    Binding {
        keys: &[Key::Char('/')],
        does: "only lines with",
        command: Does::Type,
    },
    Binding {
        keys: &[Key::Escape],
        does: "all lines",
        command: Does::Clear,
    },
];

#[derive(Debug, Clone, Copy)]
enum Typed {
    Done,
    Clear,
}

/// While a text is typed.
const TYPED: &[Binding<Typed>] = &[
    Binding {
        keys: &[Key::Enter],
        does: "done",
        command: Typed::Done,
    },
    Binding {
        keys: &[Key::Escape],
        does: "all lines",
        command: Typed::Clear,
    },
];

/// The screen.
pub fn screen(base: &Base) -> Box<dyn Screen> {
    Box::new(LogScreen {
        folder: base.folder.clone(),
        reader: Arc::default(),
        reading: false,
        read: Vec::new(),
        said: Vec::new(),
        least: Weight::Note,
        text: String::new(),
        is_typed: false,
        at: 0,
    })
}

#[derive(Debug)]
struct LogScreen {
    folder: PathBuf,
    reader: Arc<Mutex<Reader>>,
    /// True if files are being read.
    reading: bool,
    /// The entries that were found in files.
    read: Vec<Entry>,
    /// The entries that this UI has made.
    said: Vec<Entry>,
    /// Lines that are less bad are left out.
    least: Weight,
    /// Lines without this text are left out.
    text: String,
    /// True if the text is being typed.
    is_typed: bool,
    /// The line that is chosen, from the latest on.
    at: usize,
}

impl LogScreen {
    /// The lines that are not left out, the latest first.
    fn shown(&self) -> Vec<&Entry> {
        let text = self.text.to_lowercase();
        let all = self.said.iter().chain(&self.read);
        let mut shown: Vec<&Entry> = all
            .filter(|entry| entry.weight >= self.least)
            .filter(|entry| {
                let line = format!("{} {}", entry.source, entry.text);
                line.to_lowercase().contains(&text)
            })
            .collect();
        shown.sort_by(|a, b| b.when.cmp(&a.when));
        shown
    }

    fn typed(&mut self, key: Key) {
        match (command(TYPED, key), key) {
            (Some(Typed::Done), _) => self.is_typed = false,
            (Some(Typed::Clear), _) => {
                self.is_typed = false;
                self.text.clear();
            }
            (None, Key::Backspace) => {
                self.text.pop();
            }
            (None, Key::Char(character)) => self.text.push(character),
            (None, _) => {}
        }
        self.at = 0;
    }
}

impl Screen for LogScreen {
    fn name(&self) -> &'static str {
        "Log"
    }

    fn hints(&self) -> Vec<Hint> {
        match self.is_typed {
            true => hints(TYPED),
            false => hints(KEYS),
        }
    }

    fn is_typed_into(&self) -> bool {
        self.is_typed
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn key(&mut self, key: Key, _measures: bool) -> Option<Action> {
        if self.is_typed {
            self.typed(key);
            return None;
        }
        match command(KEYS, key)? {
            Does::Move => {
                let lines = self.shown().len();
                self.at = moved(key, self.at, lines).unwrap_or(0);
            }
            Does::Weight => {
                self.least = match self.least {
                    Weight::Note => Weight::Error,
                    Weight::Error => Weight::Warning,
                    Weight::Warning => Weight::Note,
                };
                self.at = 0;
            }
            Does::Type => self.is_typed = true,
            Does::Clear => {
                self.text.clear();
                self.at = 0;
            }
        }
        None
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        if let Some(said) = news.downcast_ref::<Said>() {
            self.said.push(Entry {
                when: read::time(said.at),
                weight: match said.is_failure {
                    true => Weight::Error,
                    false => Weight::Note,
                },
                source: "this UI".into(),
                text: said.text.clone(),
            });
        }
        if let Some(entries) = news.downcast_ref::<Vec<Entry>>() {
            self.reading = false;
            self.read.clone_from(entries);
        }
        None
    }

    fn look(&mut self, due: bool) -> Option<Action> {
        if self.reading || !due {
            return None;
        }
        self.reading = true;
        Some(Action::work(ReadLog {
            folder: self.folder.clone(),
            reader: Arc::clone(&self.reader),
        }))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}

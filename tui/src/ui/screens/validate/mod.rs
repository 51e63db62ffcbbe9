//! Validate: all pairs of a cluster's hosts, as they are measured.

mod jobs;
pub mod read;
#[cfg(test)]
mod tests;
mod view;

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jitterlab_base::show::printable;
use jitterlab_packet::transport::Transport;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::action::{Action, Question};
use crate::ui::keys::{Binding, Hint, Key, command, hints};
use crate::ui::screen::{Base, Screen};
use crate::ui::theme::Theme;
use jobs::{Start, Stop};
use read::{Follower, HostsFile, Look, Seen, Validated};

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
enum Does {
    Move,
    File,
    Transport,
    Start,
    Stop,
}

const KEYS: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Up, Key::Down, Key::Left, Key::Right],
        does: "choose pair",
        command: Does::Move,
    },
    Binding {
        keys: &[Key::Enter],
        does: "validate",
        command: Does::Start,
    },
    Binding {
        keys: &[Key::Char('t')],
        does: "transport",
        command: Does::Transport,
    },
    Binding {
        keys: &[Key::Char('f')],
        does: "next file",
        command: Does::File,
    },
    Binding {
        keys: &[Key::Char('s')],
        does: "stop",
        command: Does::Stop,
    },
];

/// The screen.
pub fn screen(base: &Base) -> Box<dyn Screen> {
    Box::new(ValidateScreen {
        folder: base.folder.clone(),
        follower: Arc::default(),
        looks: false,
        seen: None,
        chosen: None,
        is_new: false,
        transport: Transport::Udp,
        at: [0, 1],
    })
}

#[derive(Debug)]
struct ValidateScreen {
    folder: PathBuf,
    follower: Arc<Mutex<Follower>>,
    /// True if files are being looked at.
    looks: bool,
    /// The files that there are; not looked for yet.
    seen: Option<Seen>,
    /// The hosts file that is chosen; the first one where none is.
    chosen: Option<PathBuf>,
    /// True if it was chosen after the last look.
    is_new: bool,
    transport: Transport,
    /// The pair that is chosen: the places of its hosts.
    at: [usize; 2],
}

impl ValidateScreen {
    /// The hosts file that is chosen.
    fn file(&self) -> Option<&HostsFile> {
        let files = &self.seen.as_ref()?.files;
        let chosen = files
            .iter()
            .find(|file| Some(&file.path) == self.chosen.as_ref());
        chosen.or(files.first())
    }

    /// Its validation, or why that cannot be read.
    fn read(&self) -> Option<&Result<Validated, String>> {
        let (path, validated) = self.seen.as_ref()?.validated.as_ref()?;
        (*path == self.file()?.path).then_some(validated)
    }

    fn validated(&self) -> Option<&Validated> {
        self.read()?.as_ref().ok()
    }

    fn choose(&mut self, key: Key) {
        let hosts = self
            .validated()
            .map_or(0, |validated| validated.hosts.len());
        let last = hosts.saturating_sub(1);
        let [row, column] = &mut self.at;
        match key {
            Key::Up => *row = row.saturating_sub(1),
            Key::Down => *row = (*row + 1).min(last),
            Key::Left => *column = column.saturating_sub(1),
            _ => *column = (*column + 1).min(last),
        }
    }

    fn next_file(&mut self) {
        let Some(seen) = &self.seen else {
            return;
        };
        let own = self.file().map(|file| &file.path);
        let at = seen.files.iter().position(|file| Some(&file.path) == own);
        let next = at.map_or(0, |at| (at + 1) % seen.files.len().max(1));
        self.chosen = seen.files.get(next).map(|file| file.path.clone());
        self.is_new = true;
        self.at = [0, 1];
    }

    fn start(&self) -> Option<Action> {
        let file = self.file()?;
        if file.wrong.is_some() {
            return Some(Action::Say("see what is wrong with the file".into()));
        }
        if self.validated().is_some_and(|validated| validated.running) {
            return Some(Action::Say("it is under way".into()));
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let words = format!(
            "measure all pairs of the {} hosts of {} over {}?",
            file.hosts.len(),
            printable(&name),
            self.transport
        );
        Some(ask(
            words,
            Action::work(Start {
                folder: self.folder.clone(),
                hosts: file.path.clone(),
                transport: self.transport,
            }),
        ))
    }

    fn stop(&self) -> Action {
        match self.validated().filter(|validated| validated.running) {
            Some(validated) => ask("stop it?".into(), Action::work(Stop(validated.pid))),
            None => Action::Say("nothing is under way".into()),
        }
    }
}

fn ask(words: String, action: Action) -> Action {
    Action::Ask(Question {
        words,
        action: Box::new(action),
    })
}

impl Screen for ValidateScreen {
    fn name(&self) -> &'static str {
        "Validate"
    }

    fn hints(&self) -> Vec<Hint> {
        hints(KEYS)
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn key(&mut self, key: Key, measures: bool) -> Option<Action> {
        match command(KEYS, key)? {
            Does::Move => self.choose(key),
            Does::File => self.next_file(),
            Does::Transport => {
                let all = Transport::ALL;
                let at = all.iter().position(|it| *it == self.transport);
                self.transport = all[at.map_or(0, |at| (at + 1) % all.len())];
            }
            Does::Start if measures => return Some(Action::refused_for_noise()),
            Does::Start => return self.start(),
            Does::Stop => return Some(self.stop()),
        }
        None
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        let seen: &Seen = news.downcast_ref()?;
        self.looks = false;
        self.seen = Some(seen.clone());
        None
    }

    fn look(&mut self, due: bool) -> Option<Action> {
        if self.looks || !(due || self.is_new) {
            return None;
        }
        self.looks = true;
        self.is_new = false;
        Some(Action::work(Look {
            follower: Arc::clone(&self.follower),
            folder: self.folder.clone(),
            chosen: self.chosen.clone(),
        }))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}

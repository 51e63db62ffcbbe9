//! Injector: the programs under injection, and what becomes of the delays that are asked for.

#[cfg(test)]
mod tests;
mod view;
mod watch;

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jitterlab_injector::control::{Mode, Totals};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::commands::inject::change::Change;
use crate::commands::inject::pages::Address;
use crate::ui::action::Action;
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::parts::sweep::Sweep;
use crate::ui::screen::{Base, Screen};
use crate::ui::screens::live::picture::Picture;
use crate::ui::screens::live::watch as live;
use crate::ui::theme::Theme;
use watch::{Changed, Look, Program, Seen, Set, Wanted};

#[derive(Debug, Clone, Copy)]
enum Does {
    Choose,
    All,
    Switch,
    Mode,
    Double,
    Halve,
    Tables,
    Source,
}

const KEYS: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Char('o')],
        does: "on, off",
        command: Does::Switch,
    },
    Binding {
        keys: &[Key::Char('+')],
        does: "double",
        command: Does::Double,
    },
    Binding {
        keys: &[Key::Char('-')],
        does: "halve",
        command: Does::Halve,
    },
    Binding {
        keys: &[Key::Char('m')],
        does: "mode",
        command: Does::Mode,
    },
    Binding {
        keys: &[Key::Char('t')],
        does: "table",
        command: Does::Tables,
    },
    Binding {
        keys: &[Key::Char('a')],
        does: "all, one",
        command: Does::All,
    },
    Binding {
        keys: &[Key::Char('s')],
        does: "what is measured",
        command: Does::Source,
    },
    Binding {
        keys: MOVES,
        does: "choose program",
        command: Does::Choose,
    },
];

#[derive(Debug, Clone, Copy)]
enum Picks {
    Choose,
    Take,
    Leave,
}

/// While a table is chosen.
const PICKING: &[Binding<Picks>] = &[
    Binding {
        keys: &[Key::Enter],
        does: "take this table",
        command: Picks::Take,
    },
    Binding {
        keys: &[Key::Escape],
        does: "none of them",
        command: Picks::Leave,
    },
    Binding {
        keys: MOVES,
        does: "choose",
        command: Picks::Choose,
    },
];

/// The delay asked for and achieved in a second, in nanoseconds a delay. Where nothing was delayed, the table in force is what asks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Second {
    asked: f64,
    achieved: Option<f64>,
}

/// The screen.
struct Injector {
    folder: PathBuf,
    live: Arc<Mutex<live::Watcher>>,
    /// True if somebody looks.
    looks: bool,
    /// The programs and tables that there are; not looked for yet.
    seen: Option<Seen>,
    /// The program that is chosen; the first one where none was.
    chosen: Option<Address>,
    /// True if what is pressed is for all programs.
    all: bool,
    /// The table that is chosen, by its place, while one is.
    picked: Option<usize>,
    /// The counters of the chosen program when they were last looked at; then, the seconds since it was chosen.
    before: Option<(Address, Totals)>,
    seconds: Sweep<Option<Second>>,
    /// The distribution that is measured, over the one before the last change, and the source that is shown: the first, until one is
    /// chosen.
    picture: Picture,
    source: Option<live::Source>,
}

/// The screen for the tables of a folder.
pub fn screen(base: &Base) -> Box<dyn Screen> {
    Box::new(Injector {
        folder: base.folder.clone(),
        live: Arc::new(Mutex::new(live::Watcher::new(&base.folder))),
        looks: false,
        seen: None,
        chosen: None,
        all: false,
        picked: None,
        before: None,
        seconds: Sweep::default(),
        picture: Picture::default(),
        source: None,
    })
}

impl Injector {
    fn programs(&self) -> &[Program] {
        let seen = self.seen.as_ref();
        let programs = seen.and_then(|seen| seen.programs.as_ref().ok());
        programs.map_or(&[], Vec::as_slice)
    }

    fn tables(&self) -> &[PathBuf] {
        self.seen.as_ref().map_or(&[], |seen| &seen.tables)
    }

    /// The place of the program that is chosen.
    fn at(&self) -> usize {
        let mut programs = self.programs().iter();
        let at = programs.position(|it| Some(it.address) == self.chosen);
        at.unwrap_or(0)
    }

    fn program(&self) -> Option<&Program> {
        self.programs().get(self.at())
    }

    fn take_seen(&mut self, seen: &Seen) {
        self.looks = false;
        self.picture.take(seen.live.at, seen.live.heard.clone());
        self.seen = Some(seen.clone());
        let program = self.program();
        let in_force = program.filter(|it| it.settings.enabled);
        let in_force = in_force.map(|it| it.table_mean);
        let now = program.map(|it| (it.address, it.totals));
        let before = std::mem::replace(&mut self.before, now);
        let (Some((address, now)), Some((other, before))) = (now, before) else {
            return;
        };
        if address != other {
            self.seconds = Sweep::default();
            return;
        }
        let delays = now.delays.saturating_sub(before.delays);
        let mean = |now: u64, before: u64| now.saturating_sub(before) as f64 / delays as f64;
        self.seconds.push(match delays {
            0 => in_force.map(|asked| Second {
                asked,
                achieved: None,
            }),
            _ => Some(Second {
                asked: mean(now.asked_ns, before.asked_ns),
                achieved: Some(mean(now.achieved_ns, before.achieved_ns)),
            }),
        });
    }

    /// Changes the program that is chosen, or all.
    fn set(&mut self, wanted: Wanted) -> Option<Action> {
        let chosen = self.program()?.address;
        let all = self.programs().iter().map(|it| it.address);
        let programs = all.filter(|&it| self.all || it == chosen).collect();
        Some(Action::work(Set { programs, wanted }))
    }

    /// The next of all that is being measured.
    fn next_source(&mut self) {
        let found = self.seen.iter().flat_map(|seen| &seen.live.found);
        let all: Vec<&live::Source> = found.map(|it| &it.source).collect();
        let heard = self.picture.heard.as_ref().map(|heard| &heard.source);
        let at = all.iter().position(|&it| Some(it) == heard);
        let next = at.map_or(0, |at| at + 1) % all.len().max(1);
        if let Some(&source) = all.get(next).filter(|&&next| Some(next) != heard) {
            self.source = Some(source.clone());
            self.picture = Picture::default();
        }
    }

    fn change(&mut self, change: Change) -> Option<Action> {
        self.set(Wanted::Change(change))
    }

    /// The mode after this one that the program can have.
    fn next_mode(&self) -> Option<Mode> {
        let program = self.program()?;
        let settings = &program.settings;
        let hooks = program.hooks.iter().map(|family| family.bit()).sum();
        let at = Mode::ALL.iter().position(|it| *it == settings.mode)?;
        let mut others = (1..Mode::ALL.len()).map(|n| Mode::ALL[(at + n) % Mode::ALL.len()]);
        others.find(|mode| mode.obstacle(settings.unit, hooks).is_none())
    }

    fn pick(&mut self, at: usize, key: Key) -> Option<Action> {
        match command(PICKING, key)? {
            Picks::Leave => self.picked = None,
            Picks::Choose => self.picked = moved(key, at, self.tables().len()).or(self.picked),
            Picks::Take => {
                self.picked = None;
                let table = self.tables().get(at)?.clone();
                return self.set(Wanted::Table(table));
            }
        }
        None
    }
}

impl Screen for Injector {
    fn name(&self) -> &'static str {
        "Injector"
    }

    fn hints(&self) -> Vec<Hint> {
        match self.picked {
            Some(_) => hints(PICKING),
            None => hints(KEYS),
        }
    }

    fn key(&mut self, key: Key, _measures: bool) -> Option<Action> {
        if let Some(at) = self.picked {
            return self.pick(at, key);
        }
        let scale = |factor| Change {
            scale: Some(factor),
            ..Change::default()
        };
        match command(KEYS, key)? {
            Does::Choose => {
                let at = moved(key, self.at(), self.programs().len())?;
                self.chosen = Some(self.programs()[at].address);
                None
            }
            Does::All => {
                self.all = !self.all;
                None
            }
            Does::Source => {
                self.next_source();
                None
            }
            Does::Switch => {
                let enabled = Some(!self.program()?.settings.enabled);
                self.change(Change {
                    enabled,
                    ..Change::default()
                })
            }
            Does::Mode => match self.next_mode() {
                None => Some(Action::Say("this program can have no other mode".into())),
                mode => self.change(Change {
                    mode,
                    ..Change::default()
                }),
            },
            Does::Double => self.change(scale(2.0)),
            Does::Halve => self.change(scale(0.5)),
            Does::Tables if self.tables().is_empty() => {
                let folder = self.folder.display();
                let words = format!(
                    "no table *.dist in {folder} and its results: `jitterlab dist make` makes one"
                );
                Some(Action::Say(words))
            }
            Does::Tables => {
                self.program()?;
                self.picked = Some(0);
                None
            }
        }
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        if let Some(seen) = news.downcast_ref::<Seen>() {
            self.take_seen(seen);
        }
        if let Some(Changed) = news.downcast_ref() {
            // The effect is compared with what was measured until now.
            self.picture.changed();
        }
        None
    }

    fn period(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn look(&mut self, due: bool) -> Option<Action> {
        if !due || self.looks {
            return None;
        }
        self.looks = true;
        Some(Action::work(Look {
            folder: self.folder.clone(),
            live: Arc::clone(&self.live),
            source: self.source.clone(),
        }))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}

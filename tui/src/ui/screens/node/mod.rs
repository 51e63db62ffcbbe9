//! Node: what this node is, how it came up, and how its settings stand.

mod picture;
#[cfg(test)]
mod tests;
mod tune;
mod view;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use jitterlab_appliance::report::BootReport;
use jitterlab_base::show::{counted, printable};
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::topology::Topology;
use jitterlab_node_tuning::tune::{State, Survey};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::commands::tune::looked::{Looked, look};
use crate::outcome::Failure;
use crate::ui::action::{Action, News, Question, Task};
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::screen::{Base, Screen};
use crate::ui::theme::Theme;
use tune::{Tune, Tuned, Verb};

/// The facts about the node.
#[derive(Debug)]
pub struct Facts {
    /// Its name.
    pub host: String,
    /// Its kernel's release.
    pub kernel: String,
    /// Its processors and devices.
    pub topology: Topology,
    /// Interfaces that are up, with their addresses.
    pub addresses: Vec<String>,
    /// The report of its boot, if it is an appliance.
    pub boot: Option<BootReport>,
    /// True if something was applied on it; otherwise the settings are what would be.
    pub tuned: bool,
    /// True if this process may change settings.
    pub may_change: bool,
    /// Its settings, or why no CPU could measure.
    pub settings: Result<Survey, String>,
}

impl Facts {
    /// Reads this node. Nothing is changed.
    ///
    /// # Errors
    /// Its processors or its settings cannot be read.
    pub fn read() -> Result<Self, Failure> {
        // Nothing is started, since nothing is changed.
        let facts = Facts::of(&System::at("/", ""))?;
        Ok(Facts {
            addresses: addresses(),
            boot: BootReport::load().ok(),
            may_change: nix::unistd::geteuid().is_root(),
            ..facts
        })
    }

    /// The facts that files tell of a node.
    ///
    /// # Errors
    /// Its processors or its settings cannot be read.
    fn of(system: &System) -> Result<Self, Failure> {
        let topology = Topology::read(system.root()).map_err(Failure::run)?;
        let Looked { tuned, survey } = look(system)?;
        let text = |path: &str| system.text(path).unwrap_or_default();
        Ok(Facts {
            host: text("/proc/sys/kernel/hostname"),
            kernel: text("/proc/sys/kernel/osrelease"),
            topology,
            addresses: Vec::new(),
            boot: None,
            tuned,
            may_change: false,
            settings: survey,
        })
    }
}

/// A line an address, of interfaces that lead somewhere.
fn addresses() -> Vec<String> {
    let all = getifaddrs().into_iter().flatten();
    let outside = all.filter(|at| !at.flags.contains(InterfaceFlags::IFF_LOOPBACK));
    let shown = outside.filter_map(|at| {
        let address = at.address?;
        let ip = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(four), _) => four.ip().to_string(),
            (_, Some(six)) => six.ip().to_string(),
            _ => return None,
        };
        Some(format!("{} {ip}", at.interface_name))
    });
    shown.collect()
}

/// Reads the node.
#[derive(Debug)]
struct ReadNode;

/// The facts about the node, or the reason why there are none.
pub type Read = Result<Arc<Facts>, String>;

impl Task for ReadNode {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let read = Facts::read().map(Arc::new);
        let read: Read = read.map_err(|failure| printable(&failure.to_string()));
        tell(Box::new(read));
    }
}

#[derive(Debug, Clone, Copy)]
enum Does {
    Scroll,
    Read,
    Apply,
    Revert,
}

const KEYS: &[Binding<Does>] = &[
    Binding {
        keys: MOVES,
        does: "scroll",
        command: Does::Scroll,
    },
    Binding {
        keys: &[Key::Char('r')],
        does: "read again",
        command: Does::Read,
    },
    Binding {
        keys: &[Key::Char('a')],
        does: "apply",
        command: Does::Apply,
    },
    Binding {
        keys: &[Key::Char('v')],
        does: "revert",
        command: Does::Revert,
    },
];

/// The screen; `results` of the folder gets the log of what is changed.
pub fn screen(base: &Base) -> Box<dyn Screen> {
    Box::new(NodeScreen {
        folder: base.folder.clone(),
        facts: None,
        reading: false,
        scroll: 0,
        last: 0,
        settings_at: 0,
    })
}

#[derive(Debug)]
struct NodeScreen {
    folder: PathBuf,
    /// The facts; not read yet.
    facts: Option<Read>,
    /// True if it is being read.
    reading: bool,
    /// Lines above the screen.
    scroll: usize,
    /// Lines above the screen at its end, as it was drawn last.
    last: usize,
    /// Lines above the settings, as they were drawn last.
    settings_at: usize,
}

impl NodeScreen {
    fn read(&mut self) -> Option<Action> {
        if self.reading {
            return None;
        }
        self.reading = true;
        Some(Action::work(ReadNode))
    }
}

impl NodeScreen {
    /// Asks before settings are changed; who may not change them is told what to type.
    fn ask(&self, verb: Verb) -> Option<Action> {
        let facts = self.facts.as_ref()?.as_ref().ok()?;
        let say = |what: &str| Some(Action::Say(what.into()));
        let Ok(survey) = &facts.settings else {
            return say("no CPU of this node could measure: there is nothing to set");
        };
        if !facts.may_change {
            return Some(Action::Say(format!(
                "only root may change settings; type: sudo jitterlab tune {}",
                verb.name()
            )));
        }
        let words = match (verb, facts.tuned) {
            (Verb::Apply, true) => return say("settings are applied already: revert them first"),
            (Verb::Revert, false) => return say("nothing was applied"),
            (Verb::Revert, true) => "put every setting back as it was?".into(),
            (Verb::Apply, false) => {
                let wanted = survey.settings.iter();
                let wanted = wanted.filter(|it| matches!(it.state, State::Change | State::Reboot));
                format!(
                    "apply the plan that is seen here: {}? Old values are kept",
                    counted(wanted.count(), "setting")
                )
            }
        };
        Some(Action::Ask(Question {
            words,
            action: Box::new(Action::work(Tune {
                folder: self.folder.clone(),
                verb,
            })),
        }))
    }
}

impl Screen for NodeScreen {
    fn name(&self) -> &'static str {
        "Node"
    }

    fn hints(&self) -> Vec<Hint> {
        hints(KEYS)
    }

    fn key(&mut self, key: Key, measures: bool) -> Option<Action> {
        match command(KEYS, key)? {
            Does::Scroll => {
                self.scroll = moved(key, self.scroll, self.last + 1).unwrap_or(self.scroll);
                None
            }
            Does::Read => self.read(),
            Does::Apply | Does::Revert if measures => Some(Action::refused_for_noise()),
            Does::Apply => {
                // The plan that is asked about is seen.
                self.scroll = self.settings_at;
                self.ask(Verb::Apply)
            }
            Does::Revert => self.ask(Verb::Revert),
        }
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        if news.is::<Tuned>() {
            return self.read();
        }
        let read: &Read = news.downcast_ref()?;
        self.reading = false;
        self.facts = Some(read.clone());
        None
    }

    fn look(&mut self, _due: bool) -> Option<Action> {
        match self.facts {
            None => self.read(),
            Some(_) => None,
        }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}

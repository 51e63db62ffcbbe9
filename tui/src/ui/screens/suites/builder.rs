//! A new experiment: what is chosen, and the file that it makes.

use std::path::{Path, PathBuf};

use jitterlab_base::durable::write_atomically;
use jitterlab_base::show::printable;

use super::catalogue::{self, Choice, Chosen, Group, Plan};
use crate::ui::action::{Action, News, Task, outcome};
use crate::ui::keys::{Binding, Key, MOVES, moved};

/// What keys do.
#[derive(Debug, Clone, Copy)]
pub enum Does {
    Move,
    Toggle,
    Repeat,
    Save,
    Back,
}

/// The keys.
pub const KEYS: &[Binding<Does>] = &[
    Binding {
        keys: &[Key::Char(' ')],
        does: "choose",
        command: Does::Toggle,
    },
    Binding {
        keys: &[Key::Char('+'), Key::Char('-')],
        does: "repetitions",
        command: Does::Repeat,
    },
    Binding {
        keys: &[Key::Enter],
        does: "save",
        command: Does::Save,
    },
    Binding {
        keys: &[Key::Left],
        does: "back",
        command: Does::Back,
    },
    Binding {
        keys: MOVES,
        does: "move",
        command: Does::Move,
    },
];

/// A line of the tree.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// A suite, or another group.
    Group(&'a Group),
    /// Something in it.
    Choice(&'a Choice),
}

/// The experiment that is being made.
#[derive(Debug)]
pub struct Builder {
    groups: Vec<Group>,
    /// The line where one is.
    pub at: usize,
    /// How often each run is done.
    pub repetitions: u32,
    cpu: u32,
    /// What comes of it.
    pub plan: Plan,
}

impl Builder {
    /// The first choice; both ends of a packet case are on this CPU.
    pub fn new(cpu: u32) -> Self {
        let groups = catalogue::all();
        let repetitions = 5;
        let chosen = Chosen {
            groups: &groups,
            repetitions,
            cpu,
        };
        let plan = chosen.plan();
        Builder {
            groups,
            at: 1,
            repetitions,
            cpu,
            plan,
        }
    }

    /// The lines of the tree.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.groups.iter().flat_map(|group| {
            let choices = group.options.iter().map(Row::Choice);
            [Row::Group(group)].into_iter().chain(choices)
        })
    }

    /// Does what a key says; [`Does::Back`] is done by whoever shows it. What is saved goes into `folder`.
    pub fn key(&mut self, does: Does, key: Key, folder: &Path) -> Option<Action> {
        const MOST: u32 = 1000;
        match does {
            Does::Move => {
                let rows = self.rows().count();
                self.at = moved(key, self.at, rows).unwrap_or(self.at);
                return None;
            }
            Does::Toggle => self.toggle(),
            Does::Repeat if key == Key::Char('+') => {
                self.repetitions = (self.repetitions + 1).min(MOST);
            }
            Does::Repeat => self.repetitions = (self.repetitions - 1).max(1),
            Does::Save => return Some(self.save(folder)),
            Does::Back => return None,
        }
        self.plan = Chosen {
            groups: &self.groups,
            repetitions: self.repetitions,
            cpu: self.cpu,
        }
        .plan();
        None
    }

    /// A choice, or all of a group.
    fn toggle(&mut self) {
        let mut first = 0;
        for group in &mut self.groups {
            let choices = group.options.len();
            if self.at == first {
                let is_on = !group.is_one_of() && !group.options.iter().all(|option| option.is_on);
                group
                    .options
                    .iter_mut()
                    .for_each(|option| option.is_on = is_on);
                return;
            } else if self.at <= first + choices {
                let (place, is_one_of) = (self.at - first - 1, group.is_one_of());
                for (at, option) in group.options.iter_mut().enumerate() {
                    match at == place {
                        true => option.is_on = !option.is_on,
                        false => option.is_on &= !is_one_of,
                    }
                }
                return;
            }
            first += 1 + choices;
        }
    }

    fn save(&self, folder: &Path) -> Action {
        match &self.plan.cost {
            Ok(_) => Action::work(Save {
                folder: folder.into(),
                name: self.plan.name.clone(),
                text: self.plan.text.clone(),
            }),
            Err(error) => Action::Say(format!("this is no experiment yet: {error}")),
        }
    }
}

/// Saves an experiment file under a name that is free.
#[derive(Debug)]
pub struct Save {
    folder: PathBuf,
    name: String,
    text: String,
}

/// News: the experiment file was saved.
#[derive(Debug)]
pub struct Saved(pub PathBuf);

impl Task for Save {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let mut path = self.folder.join(format!("{}.yaml", self.name));
        let mut number = 2;
        while path.exists() {
            path = self.folder.join(format!("{}-{number}.yaml", self.name));
            number += 1;
        }
        let shown = path.display();
        let said = match write_atomically(&path, self.text.as_bytes()) {
            Ok(()) => Ok(printable(&format!("saved as {shown}; Enter runs it"))),
            Err(error) => Err(printable(&format!("cannot write {shown}: {error}"))),
        };
        tell(outcome(said));
        tell(Box::new(Saved(path)));
    }
}

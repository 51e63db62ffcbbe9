//! An experiment that is made, or a file that is edited: what is chosen, and the file that it makes.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_base::durable::write_atomically;
use jitterlab_base::show::printable;

use super::catalogue::{self, Choice, Chosen, Group, Plan};
use super::edit::Choices;
use super::place::{Hosts, Place};
use super::seen::name;
use crate::ui::action::{Action, News, Said, Task};
use crate::ui::keys::{Binding, Key, MOVES, moved};

/// The effect of a key.
#[derive(Debug, Clone, Copy)]
pub enum Does {
    Move,
    Toggle,
    Repeat,
    Place,
    Ends,
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
        keys: &[Key::Char('h')],
        does: "hosts",
        command: Does::Place,
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
        keys: &[Key::Char('f'), Key::Char('t')],
        does: "from, to",
        command: Does::Ends,
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
    /// The first line that was shown when it was drawn last.
    pub first: Cell<usize>,
    /// The number of times that each run is done.
    pub repetitions: u32,
    /// The place that it measures at, and the one at first.
    pub place: Place,
    initial: Place,
    cpu: u32,
    /// The file that is edited, and what that was when it was opened; nothing where a new one is made.
    file: Option<(PathBuf, Choices)>,
    /// The plan that comes of it.
    pub plan: Plan,
    /// The file that it made at first, or when it was saved.
    saved: String,
}

impl Builder {
    /// The first choice; both ends of a packet case are on this CPU.
    pub fn new(cpu: u32) -> Self {
        Builder::with(cpu, catalogue::all(), 5, Place::Here(cpu), None)
    }

    /// An experiment file, to be edited.
    pub fn of(path: PathBuf, choices: Choices, cpu: u32) -> Self {
        let Choices {
            groups,
            repetitions,
            place,
            ..
        } = choices.clone();
        Builder::with(cpu, groups, repetitions, place, Some((path, choices)))
    }

    fn with(
        cpu: u32,
        groups: Vec<Group>,
        repetitions: u32,
        place: Place,
        file: Option<(PathBuf, Choices)>,
    ) -> Self {
        let plan = plan(&groups, repetitions, &place, file.as_ref());
        Builder {
            groups,
            at: 1,
            first: Cell::new(0),
            repetitions,
            initial: place.clone(),
            place,
            cpu,
            file,
            saved: plan.text.clone(),
            plan,
        }
    }

    /// What would go with it, in words: choices that make another file than at first, or than was saved.
    pub fn unsaved(&self) -> Option<String> {
        let of = self.file().map_or("the new experiment".into(), name);
        (self.plan.text != self.saved).then(|| format!("choices of {of} are not saved"))
    }

    /// Takes in what was saved of it.
    pub fn take_saved(&mut self, text: &str) {
        self.saved = text.into();
    }

    /// The file that is edited.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, _)| path.as_path())
    }

    /// The lines of the tree.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.groups.iter().flat_map(|group| {
            let choices = group.options.iter().map(Row::Choice);
            [Row::Group(group)].into_iter().chain(choices)
        })
    }

    /// Does what a key says; [`Does::Back`] is done by whoever shows it. What is saved goes into `folder`, in which there are these hosts
    /// files.
    pub fn key(&mut self, does: Does, key: Key, folder: &Path, hosts: &[Hosts]) -> Option<Action> {
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
            Does::Place if hosts.is_empty() && self.initial == Place::Here(self.cpu) => {
                let words = "there is no hosts file beside the experiment files";
                return Some(Action::Say(words.into()));
            }
            Does::Place => self.next_place(hosts),
            Does::Ends if matches!(self.place, Place::Here(_)) => {
                let words = "both ends are on this machine: h takes hosts of a file";
                return Some(Action::Say(words.into()));
            }
            Does::Ends => self.place.next_end(usize::from(key == Key::Char('t'))),
            Does::Save => return Some(self.save(folder)),
            Does::Back => return None,
        }
        self.plan = plan(
            &self.groups,
            self.repetitions,
            &self.place,
            self.file.as_ref(),
        );
        None
    }

    /// This machine, then where a file that is edited measured, then the hosts files, and so on.
    fn next_place(&mut self, hosts: &[Hosts]) {
        let mut all = vec![Place::Here(self.cpu)];
        let others = hosts.iter().cloned().map(Place::There);
        for place in [self.initial.clone()].into_iter().chain(others) {
            if !all.iter().any(|known| known.has_hosts_of(&place)) {
                all.push(place);
            }
        }
        let mut places = all.iter();
        let at = places.position(|place| place.has_hosts_of(&self.place));
        let next = at.map_or(0, |at| (at + 1) % all.len());
        self.place = all.swap_remove(next);
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
        let text = self.plan.text.clone();
        match (&self.plan.cost, &self.file) {
            (Ok(_), None) => Action::work(Save {
                folder: folder.into(),
                name: self.plan.name.clone(),
                text,
            }),
            (Ok(_), Some((path, choices))) => Action::work(SaveAgain {
                path: path.clone(),
                before: choices.text.clone(),
                text,
            }),
            (Err(error), _) => Action::Say(format!("this is no experiment yet: {error}")),
        }
    }
}

fn plan(
    groups: &[Group],
    repetitions: u32,
    place: &Place,
    file: Option<&(PathBuf, Choices)>,
) -> Plan {
    Chosen {
        groups,
        name: file.map(|(_, choices)| choices.name.as_str()),
        seed: file.map_or(1, |(_, choices)| choices.seed),
        repetitions,
        place,
    }
    .plan()
}

/// News: the experiment file was saved.
#[derive(Debug)]
pub struct Saved {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

/// News: choices that were not saved are forgotten.
#[derive(Debug)]
pub struct Forgotten;

/// Tells that choices are to be forgotten, after a question.
#[derive(Debug)]
pub struct Forget;

impl Task for Forget {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        tell(Box::new(Forgotten));
    }
}

/// Saves an experiment file under a name that is free.
#[derive(Debug)]
pub struct Save {
    folder: PathBuf,
    name: String,
    text: String,
}

impl Task for Save {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let mut path = self.folder.join(format!("{}.yaml", self.name));
        let mut number = 2;
        while path.exists() {
            path = self.folder.join(format!("{}-{number}.yaml", self.name));
            number += 1;
        }
        save(path, self.text, tell);
    }
}

/// Saves a file that was edited, unless somebody else has changed it meanwhile.
#[derive(Debug)]
pub struct SaveAgain {
    path: PathBuf,
    /// The text when it was opened.
    before: String,
    text: String,
}

impl Task for SaveAgain {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        match fs::read_to_string(&self.path) {
            Ok(now) if now == self.before => save(self.path, self.text, tell),
            _ => {
                let why = "was changed meanwhile, and is left as it is: go back, and open it again";
                let why = format!("{} {why}", self.path.display());
                tell(Box::new(Said::failed(printable(&why))));
            }
        }
    }
}

fn save(path: PathBuf, text: String, tell: &mut dyn FnMut(News)) {
    let shown = path.display();
    match write_atomically(&path, text.as_bytes()) {
        Ok(()) => {
            let said = format!("saved as {shown}; Enter runs it");
            tell(Box::new(Said::now(printable(&said))));
            tell(Box::new(Saved { path, text }));
        }
        Err(error) => {
            let why = format!("cannot write {shown}: {error}");
            tell(Box::new(Said::failed(printable(&why))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::app::App;
    use crate::ui::screens::suites::seen::Seen;
    use crate::ui::testing::{app_at, letters, picture, press, tell};

    /// The new experiment, with keys going to it.
    fn at_new() -> App {
        let mut app = app_at("Suites");
        tell(&mut app, (Seen::default(), true));
        press(&mut app, &[Key::Enter]);
        app
    }

    #[test]
    fn what_cannot_be_measured_is_said_in_what_can_be_chosen() {
        let mut app = at_new();
        let builder = Builder::new(1);
        let is_shm = |row: Row| matches!(row, Row::Choice(it) if it.name == "shm");
        let shm = builder.rows().position(is_shm).unwrap();
        press(&mut app, &vec![Key::Down; shm - builder.at]);
        letters(&mut app, " ");
        let shown = picture(&mut app, 80, 24);
        assert!(
            shown.contains("not yet: shm: leave it out, or rtt") && !shown.contains("--wait"),
            "{shown}"
        );
        letters(&mut app, " ");
        assert!(!picture(&mut app, 80, 24).contains("not yet"));
    }

    #[test]
    fn the_list_scrolls_only_at_its_edges() {
        let mut app = at_new();
        press(&mut app, &[Key::End]);
        let end = picture(&mut app, 80, 24);
        press(&mut app, &[Key::Up, Key::Up]);
        assert_eq!(picture(&mut app, 80, 24), end);
        press(&mut app, &[Key::Home]);
        let home = picture(&mut app, 80, 24);
        assert_ne!(home, end);
        press(&mut app, &[Key::Down, Key::Down]);
        assert_eq!(picture(&mut app, 80, 24), home);
        // A larger terminal has as many of the first ones as it has room for.
        press(&mut app, &[Key::End]);
        picture(&mut app, 80, 24);
        assert!(picture(&mut app, 80, 200).contains("[x] rtt"));
    }
}

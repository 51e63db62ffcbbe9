//! Suites: a new experiment from what can be measured, experiment files, result folders, and the one that is looked into.

mod builder;
mod catalogue;
mod edit;
mod jobs;
mod place;
mod seen;
#[cfg(test)]
mod tests;
mod view;
mod watch;

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::action::{Action, Question};
use crate::ui::keys::{Binding, Hint, Key, MOVES, command, hints, moved};
use crate::ui::screen::{Base, Screen};
use crate::ui::theme::Theme;
use builder::{Builder, Forget, Forgotten, Saved};
use jobs::{Job, Pause, Start, Starting, Stop};
use seen::{ExperimentFile, Folder, Followed, Seen, Wanted, name};
use watch::{Look, Watcher};

/// The part of the screen that the arrow keys lead through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Focus {
    /// The files and folders.
    #[default]
    List,
    /// The runs of a folder.
    Runs,
    /// The parts that an experiment can be made from.
    Tree,
}

#[derive(Debug, Clone, Copy)]
enum Does {
    Choose,
    Run,
    Stop,
    Pause,
    Into,
    Edit,
    Out,
}

const CHOOSE: Binding<Does> = Binding {
    keys: MOVES,
    does: "choose",
    command: Does::Choose,
};
const RUN: Binding<Does> = Binding {
    keys: &[Key::Enter],
    does: "run, resume",
    command: Does::Run,
};
const STOP: Binding<Does> = Binding {
    keys: &[Key::Char('s')],
    does: "stop",
    command: Does::Stop,
};
const PAUSE: Binding<Does> = Binding {
    keys: &[Key::Char('p')],
    does: "pause, go on",
    command: Does::Pause,
};
/// Keys on the new experiment.
const ON_NEW: &[Binding<Does>] = &[
    CHOOSE,
    Binding {
        keys: &[Key::Enter, Key::Right],
        does: "choose what it measures",
        command: Does::Into,
    },
    STOP,
    PAUSE,
];
/// Keys on an experiment file.
const ON_FILE: &[Binding<Does>] = &[
    CHOOSE,
    RUN,
    Binding {
        keys: &[Key::Char('e')],
        does: "edit",
        command: Does::Edit,
    },
    STOP,
    PAUSE,
];
const IN_LIST: &[Binding<Does>] = &[
    CHOOSE,
    RUN,
    STOP,
    PAUSE,
    Binding {
        keys: &[Key::Right],
        does: "into it",
        command: Does::Into,
    },
];
const IN_RUNS: &[Binding<Does>] = &[
    CHOOSE,
    RUN,
    STOP,
    PAUSE,
    Binding {
        keys: &[Key::Left],
        does: "back",
        command: Does::Out,
    },
];

/// Between two looks: it may be a measurement that is looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// The screen.
pub fn screen(base: &Base) -> Box<dyn Screen> {
    Box::new(Suites::new(base))
}

#[derive(Debug)]
struct Suites {
    base: PathBuf,
    watcher: Arc<Mutex<Watcher>>,
    /// The last thing that was looked for, while it is being looked for.
    looks: Option<Wanted>,
    /// The last thing that was looked for and found.
    found: Option<Wanted>,
    /// True if there is more to be read for that.
    is_more: bool,
    /// The experiments and results that there are; not looked for yet.
    seen: Option<Seen>,
    /// The file or folder that is chosen; the new experiment where none is.
    selected: Option<PathBuf>,
    /// The CPU that new experiments measure on.
    cpu: u32,
    /// The new experiment.
    new: Builder,
    /// The file that is edited.
    edited: Option<Builder>,
    /// The part that the arrow keys lead through.
    focus: Focus,
    /// The attempt that is chosen, by its place; the last one, whichever that is, where none is.
    run: Option<usize>,
    /// True if the next new folder is the one of an experiment that was started here.
    awaits_folder: bool,
    /// A file that was saved here and is chosen as soon as it is seen.
    awaits_file: Option<PathBuf>,
}

impl Suites {
    fn new(base: &Base) -> Self {
        Suites {
            base: base.folder.clone(),
            watcher: Arc::new(Mutex::new(Watcher::new(base.folder.clone()))),
            looks: None,
            found: None,
            is_more: false,
            seen: None,
            selected: None,
            cpu: base.cpu,
            new: Builder::new(base.cpu),
            edited: None,
            awaits_file: None,
            focus: Focus::List,
            run: None,
            awaits_folder: false,
        }
    }

    /// The things that have to be watched.
    fn wanted(&self) -> Wanted {
        Wanted {
            folder: self.folder().map(|folder| folder.path.clone()),
            run: self.run,
            hosts: self.focus == Focus::Tree,
        }
    }

    /// The result folder that is chosen.
    fn folder(&self) -> Option<&Folder> {
        let mut folders = self.seen.iter().flat_map(|seen| &seen.folders);
        folders.find(|folder| Some(&folder.path) == self.selected.as_ref())
    }

    /// The file that is chosen.
    fn file(&self) -> Option<&ExperimentFile> {
        let mut files = self.seen.iter().flat_map(|seen| &seen.files);
        files.find(|file| Some(&file.path) == self.selected.as_ref())
    }

    /// What is being made: the file that is edited, or else the new experiment.
    fn builder(&self) -> &Builder {
        self.edited.as_ref().unwrap_or(&self.new)
    }

    /// The content of the folder that is chosen.
    fn followed(&self) -> Option<&Followed> {
        let followed = self.seen.as_ref()?.followed.as_ref()?;
        (Some(&followed.path) == self.selected.as_ref()).then_some(followed)
    }

    /// The place of the attempt that is chosen.
    fn run_at(&self) -> Option<usize> {
        let last = self.followed()?.runs.len().checked_sub(1)?;
        Some(self.run.map_or(last, |run| run.min(last)))
    }

    /// Takes in what there is.
    fn take_in(&mut self, seen: Seen) {
        let is_new = |folder: &&Folder| {
            let mut before = self.seen.iter().flat_map(|seen| &seen.folders);
            !before.any(|old| old.path == folder.path)
        };
        let started = match self.awaits_folder {
            true => seen.folders.iter().find(is_new),
            false => None,
        };
        let started = started.map(|folder| folder.path.clone());
        self.awaits_folder &= started.is_none();
        let there = |path: &PathBuf| {
            let mut files = seen.files.iter().map(|file| &file.path);
            let mut folders = seen.folders.iter().map(|folder| &folder.path);
            files.any(|other| other == path) || folders.any(|other| other == path)
        };
        let saved = self.awaits_file.take_if(|file| there(file));
        let is_gone = self.selected.as_ref().is_some_and(|path| !there(path));
        if self.focus == Focus::Tree {
            // Whoever is making something is not led away from it.
        } else if let Some(path) = saved.or(started) {
            self.choose(Some(path));
        } else if is_gone || self.seen.is_none() {
            let running = seen.folders.iter().find(|folder| is_running(folder));
            let folder = running.or(seen.folders.first()).map(|folder| &folder.path);
            // Files of hosts and of appliances end as experiment files do.
            let mut files = seen.files.iter();
            let file = files.find(|file| file.about.is_ok());
            let file = file.or(seen.files.first()).map(|file| &file.path);
            self.choose(folder.or(file).cloned());
        }
        self.seen = Some(seen);
    }

    fn choose(&mut self, path: Option<PathBuf>) {
        self.selected = path;
        self.run = None;
        self.focus = Focus::List;
    }

    fn bindings(&self) -> &'static [Binding<Does>] {
        match self.focus {
            Focus::List if self.selected.is_none() => ON_NEW,
            Focus::List if self.file().is_some() => ON_FILE,
            Focus::List => IN_LIST,
            Focus::Runs | Focus::Tree => IN_RUNS,
        }
    }

    fn move_in_list(&mut self, key: Key) {
        let Some(seen) = &self.seen else {
            return;
        };
        let files = seen.files.iter().map(|file| Some(&file.path));
        let folders = seen.folders.iter().map(|folder| Some(&folder.path));
        let all: Vec<Option<&PathBuf>> = [None].into_iter().chain(files).chain(folders).collect();
        let at = all.iter().position(|&path| path == self.selected.as_ref());
        if let Some(at) = moved(key, at.unwrap_or(0), all.len()) {
            let path = all[at].cloned();
            self.choose(path);
        }
    }

    fn move_in_runs(&mut self, key: Key) {
        let (Some(at), Some(followed)) = (self.run_at(), self.followed()) else {
            return;
        };
        let runs = followed.runs.len();
        match moved(key, at, runs) {
            // It follows what ends from here on.
            Some(at) if at + 1 == runs => self.run = None,
            Some(at) => self.run = Some(at),
            None => {}
        }
    }

    /// Opens the file that is chosen, or says why not.
    fn edit(&mut self) -> Option<Action> {
        let file = self.file()?;
        match file.choices.clone() {
            Ok(choices) => {
                self.edited = Some(Builder::of(file.path.clone(), choices, self.cpu));
                self.focus = Focus::Tree;
                None
            }
            Err(why) => Some(Action::Say(format!("{}: {why}", name(&file.path)))),
        }
    }

    /// Leaves the tree; what was chosen of a file is forgotten.
    fn leave_tree(&mut self) {
        self.focus = Focus::List;
        self.edited = None;
    }

    /// Leaves the tree, after a question where choices would go.
    fn ask_to_leave_tree(&mut self) -> Option<Action> {
        let unsaved = self.edited.as_ref().and_then(Builder::unsaved);
        let words = unsaved.map(|unsaved| format!("{unsaved}: forget them?"));
        if words.is_none() {
            self.leave_tree();
        }
        words.map(|words| ask(words, Action::work(Forget)))
    }

    fn start(&self, words: String, job: Job) -> Action {
        let folder = self.base.clone();
        ask(words, Action::work(Start { folder, job }))
    }

    fn ask_for_run(&self) -> Option<Action> {
        let say = |what: &str| Some(Action::Say(what.into()));
        let folders = self.seen.iter().flat_map(|seen| &seen.folders);
        let others = folders.filter(|folder| is_running(folder)).count() > 0;
        let beside = match others {
            true => " beside the one that runs",
            false => "",
        };
        if let Some(file) = self.file() {
            return match &file.about {
                Ok(_) => {
                    let words = format!("run {}{beside}?", name(&file.path));
                    Some(self.start(words, Job::Run(file.path.clone())))
                }
                Err(_) => say("this is no experiment file: see what is wrong with it"),
            };
        }
        let folder = self.folder()?;
        match &folder.state {
            Ok(state) if state.running && state.paused => say("it is paused: p lets it go on"),
            Ok(state) if state.running => say("it is running"),
            Ok(state) if state.standing.left == 0 => say("it is done"),
            Ok(_) => {
                let words = format!("resume {}{beside}?", name(&folder.path));
                Some(self.start(words, Job::Resume(folder.path.clone())))
            }
            Err(_) => say("it cannot be read: see why"),
        }
    }

    /// The folder that is chosen if it is being filled, or else another one that is.
    fn running(&self) -> Option<&Folder> {
        let chosen = self.folder().filter(|folder| is_running(folder));
        let mut folders = self.seen.iter().flat_map(|seen| &seen.folders);
        chosen.or_else(|| folders.find(|folder| is_running(folder)))
    }

    fn ask_for_stop(&self) -> Action {
        match self.running() {
            Some(folder) => {
                let words = format!("stop {}?", name(&folder.path));
                ask(words, Action::work(Stop(folder.path.clone())))
            }
            None => Action::Say("nothing is running".into()),
        }
    }

    fn pause(&self) -> Action {
        match self.running() {
            Some(folder) => Action::work(Pause {
                folder: folder.path.clone(),
                pauses: !folder.state.as_ref().is_ok_and(|state| state.paused),
            }),
            None => Action::Say("nothing is running".into()),
        }
    }
}

impl Screen for Suites {
    fn name(&self) -> &'static str {
        "Suites"
    }

    fn hints(&self) -> Vec<Hint> {
        match self.focus {
            Focus::Tree => hints(builder::KEYS),
            _ => hints(self.bindings()),
        }
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    fn key(&mut self, key: Key, measures: bool) -> Option<Action> {
        if self.focus == Focus::Tree {
            let does = command(builder::KEYS, key)?;
            if matches!(does, builder::Does::Back) {
                return self.ask_to_leave_tree();
            }
            let hosts = self.seen.as_ref().map_or(&[][..], |seen| &seen.hosts);
            let builder = self.edited.as_mut().unwrap_or(&mut self.new);
            return builder.key(does, key, &self.base, hosts);
        }
        match command(self.bindings(), key)? {
            Does::Into if self.selected.is_none() => self.focus = Focus::Tree,
            Does::Run if measures => return Some(Action::refused_for_noise()),
            Does::Run => return self.ask_for_run(),
            Does::Stop => return Some(self.ask_for_stop()),
            Does::Pause => return Some(self.pause()),
            Does::Edit => return self.edit(),
            Does::Out => self.focus = Focus::List,
            Does::Into if self.run_at().is_some() => self.focus = Focus::Runs,
            Does::Into => {}
            Does::Choose => match self.focus {
                Focus::Runs => self.move_in_runs(key),
                _ => self.move_in_list(key),
            },
        }
        None
    }

    fn take(&mut self, news: &dyn Any) -> Option<Action> {
        if let Some((seen, is_all)) = news.downcast_ref::<(Seen, bool)>() {
            self.found = self.looks.take();
            self.is_more = !is_all;
            self.take_in(seen.clone());
        }
        if let Some(Starting(Job::Run(_))) = news.downcast_ref() {
            self.awaits_folder = true;
        }
        if let Some(Saved { path, text }) = news.downcast_ref() {
            self.awaits_file = Some(path.clone());
            if self.edited.is_none() {
                self.new.take_saved(text);
            }
            self.leave_tree();
        }
        if let Some(Forgotten) = news.downcast_ref() {
            self.leave_tree();
        }
        None
    }

    fn unsaved(&self) -> Option<String> {
        let mut all = self.edited.iter().chain([&self.new]);
        all.find_map(Builder::unsaved)
    }

    fn look(&mut self, due: bool) -> Option<Action> {
        let want = self.wanted();
        let is_new = self.found.as_ref() != Some(&want);
        if self.looks.is_some() || !(due || is_new || self.is_more) {
            return None;
        }
        self.looks = Some(want.clone());
        let watcher = Arc::clone(&self.watcher);
        Some(Action::work(Look { watcher, want }))
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        view::draw(buffer, area, self, theme);
    }
}

fn ask(words: String, action: Action) -> Action {
    Action::Ask(Question {
        words,
        action: Box::new(action),
    })
}

fn is_running(folder: &Folder) -> bool {
    folder.state.as_ref().is_ok_and(|state| state.running)
}

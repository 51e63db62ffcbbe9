//! The third screen: experiment files, result folders, and the one that is looked into.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_experiment::standing::Standing;

use crate::commands::ui::action::{Action, Job, Key};
use crate::shown::Brief;

/// What there is, as it was seen last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Experiment files, by name.
    pub files: Vec<ExperimentFile>,
    /// Result folders, the newest first.
    pub folders: Vec<Folder>,
    /// The result folder that is looked into.
    pub followed: Option<Followed>,
}

/// A file that ends as experiment files do.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it describes, line by line, or why it is no experiment.
    pub about: Result<Vec<String>, String>,
}

/// A result folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// How far it is, or why it cannot be read.
    pub state: Result<State, String>,
}

/// How far a result folder is.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// By what it holds.
    pub standing: Standing,
    /// Whether somebody fills it.
    pub running: bool,
}

impl State {
    /// In words.
    pub fn words(&self) -> String {
        let Standing { runs, failed, .. } = self.standing;
        let finished = self.standing.finished();
        let begin = match (self.running, self.standing.left) {
            (true, _) => format!("running, {finished} of {runs}"),
            (false, 0) => "done".into(),
            (false, _) => format!("stopped at {finished} of {runs}"),
        };
        match failed {
            0 => begin,
            n => format!("{begin}, {n} failed"),
        }
    }
}

/// A result folder that is looked into.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// Where it is.
    pub path: PathBuf,
    /// Attempts that have ended, in their order.
    pub runs: Vec<RunLine>,
    /// The samples of one of them.
    pub samples: Option<Samples>,
}

/// An attempt that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// The name of its run.
    pub run: String,
    /// Whether it was measured.
    pub done: bool,
    /// What is shown of it.
    pub shown: Shown,
}

/// What is shown of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Its samples.
    Brief(Box<Brief>),
    /// Words.
    Words(String),
    /// Its samples, when they are read.
    Later,
}

/// The samples of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// Its place.
    pub at: usize,
    /// In nanoseconds, ascending, none where it has none; or why they cannot be read.
    pub sorted: Result<Arc<Vec<f64>>, String>,
}

/// What has to be watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The result folder that is looked into.
    pub folder: Option<PathBuf>,
    /// The attempt whose samples are shown, by its place; the last one where it is not said.
    pub run: Option<usize>,
}

/// Where the arrow keys lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Focus {
    /// Through files and folders.
    #[default]
    List,
    /// Through the runs of a folder.
    Runs,
}

/// What is asked before something is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// In words.
    pub words: String,
    /// What is done then.
    action: Action,
}

/// The screen.
#[derive(Debug, Default)]
pub struct Experiments {
    /// What there is; not looked for yet.
    pub seen: Option<Seen>,
    /// The file or folder that is chosen.
    pub selected: Option<PathBuf>,
    /// Where the arrow keys lead.
    pub focus: Focus,
    /// The attempt that is chosen, by its place; the last one, whichever that is, where none is.
    pub run: Option<usize>,
    /// What has to be answered first.
    pub question: Option<Question>,
    /// What came of what was asked for.
    pub notice: Option<String>,
    /// Whether the next new folder is the one of an experiment that was started here.
    awaits_folder: bool,
}

/// The last part of a path, as it is shown.
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    crate::output::printable(&name.to_string_lossy())
}

impl Experiments {
    /// What has to be watched.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            folder: self.folder().map(|folder| folder.path.clone()),
            run: self.run,
        }
    }

    /// The result folder that is chosen.
    pub fn folder(&self) -> Option<&Folder> {
        let mut folders = self.seen.iter().flat_map(|seen| &seen.folders);
        folders.find(|folder| Some(&folder.path) == self.selected.as_ref())
    }

    /// The file that is chosen.
    pub fn file(&self) -> Option<&ExperimentFile> {
        let mut files = self.seen.iter().flat_map(|seen| &seen.files);
        files.find(|file| Some(&file.path) == self.selected.as_ref())
    }

    /// What was read of the folder that is chosen.
    pub fn followed(&self) -> Option<&Followed> {
        let followed = self.seen.as_ref()?.followed.as_ref()?;
        (Some(&followed.path) == self.selected.as_ref()).then_some(followed)
    }

    /// The place of the attempt that is chosen.
    pub fn run_at(&self) -> Option<usize> {
        let last = self.followed()?.runs.len().checked_sub(1)?;
        Some(self.run.map_or(last, |run| run.min(last)))
    }

    /// Whether a question has to be answered first.
    pub fn is_asked(&self) -> bool {
        self.question.is_some()
    }

    /// Tells something.
    pub fn say(&mut self, what: String) {
        self.notice = Some(what);
    }

    /// Takes in what there is.
    pub fn take(&mut self, seen: Seen) {
        let is_new = |folder: &&Folder| {
            let mut before = self.seen.iter().flat_map(|seen| &seen.folders);
            !before.any(|old| old.path == folder.path)
        };
        let started = match self.awaits_folder {
            true => seen.folders.iter().find(is_new),
            false => None,
        };
        let started = started.map(|folder| folder.path.clone());
        if started.is_some() {
            self.awaits_folder = false;
            self.choose(started);
        }
        let there = |path: &PathBuf| {
            let mut files = seen.files.iter().map(|file| &file.path);
            let mut folders = seen.folders.iter().map(|folder| &folder.path);
            files.any(|other| other == path) || folders.any(|other| other == path)
        };
        if !self.selected.as_ref().is_some_and(there) {
            let running = seen.folders.iter().find(|folder| is_running(folder));
            let folder = running.or(seen.folders.first()).map(|folder| &folder.path);
            let file = seen.files.first().map(|file| &file.path);
            self.choose(folder.or(file).cloned());
        }
        self.seen = Some(seen);
    }

    fn choose(&mut self, path: Option<PathBuf>) {
        self.selected = path;
        self.run = None;
        self.focus = Focus::List;
    }

    /// Takes in a key where no question is open. While noise is measured, no experiment is started.
    pub fn key(&mut self, key: Key, noise: bool) -> Option<Action> {
        self.notice = None;
        match (key, self.focus) {
            (Key::Left, _) => self.focus = Focus::List,
            (Key::Right, _) if self.run_at().is_some() => self.focus = Focus::Runs,
            (Key::Enter, _) if noise => {
                self.say("noise is being measured: end that first, on its screen".into());
            }
            (Key::Enter, _) => self.ask_for_run(),
            (Key::Char('s'), _) => self.ask_for_stop(),
            (key, Focus::List) => self.move_in_list(key),
            (key, Focus::Runs) => self.move_in_runs(key),
        }
        None
    }

    /// Takes in a key that may be an answer.
    pub fn answer(&mut self, key: Key) -> Option<Action> {
        match key {
            Key::Char('y') => {
                let action = self.question.take()?.action;
                self.awaits_folder = matches!(action, Action::Start(Job::Run(_)));
                Some(action)
            }
            Key::Char('n') | Key::Escape => {
                self.question = None;
                None
            }
            _ => None,
        }
    }

    fn move_in_list(&mut self, key: Key) {
        let Some(seen) = &self.seen else {
            return;
        };
        let files = seen.files.iter().map(|file| &file.path);
        let all: Vec<&PathBuf> = files
            .chain(seen.folders.iter().map(|folder| &folder.path))
            .collect();
        let at = all
            .iter()
            .position(|&path| Some(path) == self.selected.as_ref());
        let chosen = moved(key, at.unwrap_or(0), all.len());
        if let Some(path) = chosen.and_then(|at| all.get(at)) {
            let path = (*path).clone();
            self.choose(Some(path));
        }
    }

    fn move_in_runs(&mut self, key: Key) {
        let (Some(at), Some(followed)) = (self.run_at(), self.followed()) else {
            return;
        };
        let runs = followed.runs.len();
        match moved(key, at, runs) {
            // From there on it follows what ends.
            Some(at) if at + 1 == runs => self.run = None,
            Some(at) => self.run = Some(at),
            None => {}
        }
    }

    fn ask(&mut self, words: String, action: Action) {
        self.question = Some(Question { words, action });
    }

    fn ask_for_run(&mut self) {
        let folders = self.seen.iter().flat_map(|seen| &seen.folders);
        let others = folders.filter(|folder| is_running(folder)).count() > 0;
        let beside = if others {
            " beside the one that runs"
        } else {
            ""
        };
        if let Some(file) = self.file() {
            match &file.about {
                Ok(_) => {
                    let words = format!("run {}{beside}?", name(&file.path));
                    let job = Job::Run(file.path.clone());
                    self.ask(words, Action::Start(job));
                }
                Err(_) => self.say("this is no experiment file: see what is wrong with it".into()),
            }
        } else if let Some(folder) = self.folder() {
            match &folder.state {
                Ok(state) if state.running => self.say("it is running".into()),
                Ok(state) if state.standing.left == 0 => self.say("it is done".into()),
                Ok(_) => {
                    let words = format!("resume {}{beside}?", name(&folder.path));
                    let job = Job::Resume(folder.path.clone());
                    self.ask(words, Action::Start(job));
                }
                Err(_) => self.say("it cannot be read: see why".into()),
            }
        }
    }

    /// Of the folder that is chosen, or of the one that is being filled.
    fn ask_for_stop(&mut self) {
        let chosen = self.folder().filter(|folder| is_running(folder));
        let mut folders = self.seen.iter().flat_map(|seen| &seen.folders);
        match chosen.or_else(|| folders.find(|folder| is_running(folder))) {
            Some(folder) => {
                let words = format!("stop {}?", name(&folder.path));
                let action = Action::Stop(folder.path.clone());
                self.ask(words, action);
            }
            None => self.say("nothing is running".into()),
        }
    }
}

fn is_running(folder: &Folder) -> bool {
    folder.state.as_ref().is_ok_and(|state| state.running)
}

/// Where a key leads from one place of so many; nothing where it means nothing here.
fn moved(key: Key, at: usize, of: usize) -> Option<usize> {
    const PAGE: usize = 10;
    let last = of.checked_sub(1)?;
    Some(match key {
        Key::Up => at.saturating_sub(1),
        Key::Down => (at + 1).min(last),
        Key::PageUp => at.saturating_sub(PAGE),
        Key::PageDown => (at + PAGE).min(last),
        Key::Home => 0,
        Key::End => last,
        _ => return None,
    })
}

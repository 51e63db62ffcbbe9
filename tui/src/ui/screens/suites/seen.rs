//! The view of experiment files and result folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_base::show::printable;
use jitterlab_experiment::standing::Standing;

use super::edit::Choices;
use super::place::Hosts;
use crate::shown::Outline;

/// The files and folders that there are, as they were seen last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Experiment files, by name.
    pub files: Vec<ExperimentFile>,
    /// The hosts of hosts files.
    pub hosts: Vec<Hosts>,
    /// Result folders, the newest first.
    pub folders: Vec<Folder>,
    /// The result folder that is looked into.
    pub followed: Option<Followed>,
}

/// A file that ends as experiment files do.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentFile {
    /// Its path.
    pub path: PathBuf,
    /// The experiment that it describes, line by line, or the reason why it is none.
    pub about: Result<Vec<String>, String>,
    /// It as choices, or why it cannot be edited as such.
    pub choices: Result<Choices, String>,
}

/// A result folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// Its path.
    pub path: PathBuf,
    /// Its progress, or the reason why it cannot be read.
    pub state: Result<State, String>,
}

/// The progress of a result folder.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The standing, by the content of the folder.
    pub standing: Standing,
    /// True if somebody fills it.
    pub running: bool,
    /// The experiment pauses: it begins no run until it is told to go on.
    pub paused: bool,
}

impl State {
    /// The state in words.
    pub fn words(&self) -> String {
        let Standing { runs, failed, .. } = self.standing;
        let finished = self.standing.finished();
        let begin = match (self.running, self.standing.left) {
            (true, _) if self.paused => format!("paused, {finished} of {runs}"),
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
    /// Its path.
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
    /// True if it was measured.
    pub done: bool,
    /// The part of it that is shown.
    pub shown: Shown,
}

/// The part of an attempt that is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Its samples.
    Outline(Box<Outline>),
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
    /// The samples in nanoseconds, ascending, none where it has none; or the reason why they cannot be read.
    pub sorted: Result<Arc<Vec<f64>>, String>,
}

/// The things that have to be watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The result folder that is looked into.
    pub folder: Option<PathBuf>,
    /// The attempt whose samples are shown, by its place; the last one where it is not said.
    pub run: Option<usize>,
    /// True if hosts files are read.
    pub hosts: bool,
}

/// The last part of a path, as it is shown.
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    printable(&name.to_string_lossy())
}

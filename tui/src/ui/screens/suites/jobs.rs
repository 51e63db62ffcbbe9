//! Experiments that are started and stopped: as processes of their own, which outlive the UI.

use std::path::{Path, PathBuf};

use jitterlab_base::show::printable;
use jitterlab_experiment::pause;
use jitterlab_experiment::store::who_fills;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::seen::name;
use crate::ui::action::{News, Said, Task};
use crate::ui::detached::Detached;

/// An experiment that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// A new one.
    Run(PathBuf),
    /// One that was stopped.
    Resume(PathBuf),
}

impl Job {
    /// The file or folder that it is made from.
    fn path(&self) -> &Path {
        match self {
            Job::Run(path) | Job::Resume(path) => path,
        }
    }
}

/// News: an experiment is being started.
#[derive(Debug)]
pub struct Starting(pub Job);

/// Starts an experiment, and tells how it ends.
#[derive(Debug)]
pub struct Start {
    /// The folder that results go to.
    pub folder: PathBuf,
    /// The job that is started.
    pub job: Job,
}

impl Task for Start {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        // Before there is anything to be seen of it.
        tell(Box::new(Starting(self.job.clone())));
        let started = format!("{} is started: 4 Live shows it", name(self.job.path()));
        tell(Box::new(Said::now(started)));
        tell(Box::new(Said::outcome(run(&self.folder, &self.job))));
    }

    fn leaves_housekeeping(&self) -> bool {
        true
    }
}

/// Stops whoever fills a result folder.
#[derive(Debug)]
pub struct Stop(pub PathBuf);

impl Task for Stop {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        if let Err(error) = stop(&self.0) {
            tell(Box::new(Said::failed(error)));
        }
    }
}

/// Starts an experiment; says how it ends. What it says goes to a log beside the result folders.
///
/// # Errors
/// It cannot be started, or cannot do anything; in words.
fn run(base: &Path, job: &Job) -> Result<String, String> {
    let results = base.join("results");
    let stem = match job {
        Job::Run(file) => file.file_stem(),
        Job::Resume(folder) => folder.file_name(),
    };
    let mut log = stem.unwrap_or_default().to_os_string();
    log.push(".log");
    let started = Detached::start(&results.join(log), |program| {
        program.arg("run");
        match job {
            Job::Run(file) => program.arg("--results").arg(&results).arg("--").arg(file),
            Job::Resume(folder) => program.arg("--resume").arg(folder),
        };
    })?;
    let name = name(job.path());
    let how = started.wait("done, and some runs failed: 9 Log says why");
    let how = how.map_err(|why| format!("{name}: {why}"))?;
    let next = match how.as_str() {
        "done" => ": 7 Results compares what it measured",
        _ => "",
    };
    Ok(format!("{name}: {how}{next}"))
}

/// Keeps whoever fills a result folder from its next run, or lets it go on.
#[derive(Debug)]
pub struct Pause {
    /// The folder.
    pub folder: PathBuf,
    /// True if it is to pause, false if it is to go on.
    pub pauses: bool,
}

impl Task for Pause {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let name = name(&self.folder);
        let said = match (pause::set(&self.folder, self.pauses), self.pauses) {
            (Ok(()), true) => {
                let words = "pauses after the run that is under way; p lets it go on";
                Ok(format!("{name} {words}"))
            }
            (Ok(()), false) => Ok(format!("{name} goes on")),
            (Err(error), _) => Err(printable(&format!("cannot pause {name}: {error}"))),
        };
        tell(Box::new(Said::outcome(said)));
    }
}

/// Stops whoever fills a result folder, as Ctrl-C would.
///
/// # Errors
/// Nobody does, or the system refuses; in words.
fn stop(folder: &Path) -> Result<(), String> {
    let pid = who_fills(folder).ok_or("its experiment has ended")?;
    kill(Pid::from_raw(pid), Signal::SIGINT).map_err(|error| format!("cannot stop it: {error}"))
}

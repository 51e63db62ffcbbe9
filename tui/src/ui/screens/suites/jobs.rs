//! Experiments that are started and stopped: as processes of their own, which outlive the UI.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use jitterlab_experiment::pause;
use jitterlab_experiment::store::who_fills;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::seen::name;
use crate::output::printable;
use crate::ui::action::{News, Said, Task};

/// An experiment that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// A new one.
    Run(PathBuf),
    /// One that was stopped.
    Resume(PathBuf),
}

impl Job {
    /// What it is made from.
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
    /// Where results go.
    pub folder: PathBuf,
    /// What is started.
    pub job: Job,
}

impl Task for Start {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        // Before there is anything to be seen of it.
        tell(Box::new(Starting(self.job.clone())));
        let said = start(&self.folder, &self.job).map(Started::wait);
        tell(Box::new(Said(said.unwrap_or_else(|error| error))));
    }

    fn leaves_house(&self) -> bool {
        true
    }
}

/// Stops whoever fills a result folder.
#[derive(Debug)]
pub struct Stop(pub PathBuf);

impl Task for Stop {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        if let Err(error) = stop(&self.0) {
            tell(Box::new(Said(error)));
        }
    }
}

/// An experiment that was started here.
struct Started {
    child: Child,
    name: String,
    log: PathBuf,
}

/// Starts an experiment in a session of its own: what happens to this terminal is nothing to it. What it says goes to
/// a log beside the result folders.
///
/// # Errors
/// There can be no log, or no process; in words.
fn start(base: &Path, job: &Job) -> Result<Started, String> {
    let results = base.join("results");
    let cannot = |what: &Path| {
        let what = what.display().to_string();
        move |error: std::io::Error| printable(&format!("cannot start it: {what}: {error}"))
    };
    fs::create_dir_all(&results).map_err(cannot(&results))?;
    let stem = job.path().file_stem().unwrap_or_default();
    let stem = match job {
        Job::Run(_) => stem,
        Job::Resume(folder) => folder.file_name().unwrap_or_default(),
    };
    let mut log = stem.to_os_string();
    log.push(".log");
    let log = results.join(log);
    let file = OpenOptions::new().create(true).append(true).open(&log);
    let file = file.map_err(cannot(&log))?;
    let copy = file.try_clone().map_err(cannot(&log))?;
    let own = std::env::current_exe().map_err(cannot(Path::new("jitterlab")))?;
    let mut program = Command::new("setsid");
    program.arg(own).arg("run");
    match job {
        Job::Run(file) => program.arg("--results").arg(&results).arg("--").arg(file),
        Job::Resume(folder) => program.arg("--resume").arg(folder),
    };
    program.stdin(Stdio::null()).stdout(file).stderr(copy);
    let child = program.spawn().map_err(cannot(Path::new("setsid")))?;
    Ok(Started {
        child,
        name: name(job.path()),
        log,
    })
}

impl Started {
    /// Waits for its end; says how it was.
    fn wait(mut self) -> String {
        let name = &self.name;
        match self.child.wait().map(|status| ended(status, &self.log)) {
            Ok(how) => format!("{name}: {how}"),
            Err(error) => format!("{name}: {error}"),
        }
    }
}

/// Keeps whoever fills a result folder from its next run, or lets it go on.
#[derive(Debug)]
pub struct Pause {
    /// The folder.
    pub folder: PathBuf,
    /// Which of the two.
    pub pauses: bool,
}

impl Task for Pause {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let name = name(&self.folder);
        let said = match (pause::set(&self.folder, self.pauses), self.pauses) {
            (Ok(()), true) => {
                format!("{name} pauses after the run that is under way; p lets it go on")
            }
            (Ok(()), false) => format!("{name} goes on"),
            (Err(error), _) => printable(&format!("cannot pause {name}: {error}")),
        };
        tell(Box::new(Said(said)));
    }
}

fn ended(status: ExitStatus, log: &Path) -> String {
    match status.code() {
        Some(0) => "done".into(),
        Some(1) => "done, and some runs failed".into(),
        // The log says why, or how to go on.
        _ => last_line(log).unwrap_or_else(|| status.to_string()),
    }
}

fn last_line(log: &Path) -> Option<String> {
    let lines = BufReader::new(File::open(log).ok()?).split(b'\n');
    let last = lines
        .map_while(Result::ok)
        .filter(|line| !line.is_empty())
        .last()?;
    Some(printable(&String::from_utf8_lossy(&last)))
}

/// Stops whoever fills a result folder, as Ctrl-C would.
///
/// # Errors
/// Nobody does, or the system refuses; in words.
fn stop(folder: &Path) -> Result<(), String> {
    let pid = who_fills(folder).ok_or("its experiment has ended")?;
    kill(Pid::from_raw(pid), Signal::SIGINT).map_err(|error| format!("cannot stop it: {error}"))
}

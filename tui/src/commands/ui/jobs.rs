//! Experiments that are started and stopped: as processes of their own, which outlive the UI.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{major, minor};
use nix::unistd::Pid;
use procfs::{LockKind, LockType};

use crate::commands::ui::experiments::{Job, name};
use crate::output::printable;

/// An experiment that was started here.
pub struct Started {
    child: Child,
    name: String,
    log: PathBuf,
}

/// Starts an experiment in a session of its own: what happens to this terminal is nothing to it. What it says goes to
/// a log beside the result folders.
///
/// # Errors
/// There can be no log, or no process; in words.
pub fn start(base: &Path, job: &Job) -> Result<Started, String> {
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
    pub fn wait(mut self) -> String {
        let name = &self.name;
        match self.child.wait().map(|status| ended(status, &self.log)) {
            Ok(how) => format!("{name}: {how}"),
            Err(error) => format!("{name}: {error}"),
        }
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
pub fn stop(folder: &Path) -> Result<(), String> {
    let pid = who_fills(folder).ok_or("its experiment has ended")?;
    kill(Pid::from_raw(pid), Signal::SIGINT).map_err(|error| format!("cannot stop it: {error}"))
}

/// The process that fills a result folder. It has its list of runs locked; the lock itself is not tried, for who comes to
/// fill the folder at that moment would find it taken.
pub fn who_fills(folder: &Path) -> Option<i32> {
    let list = folder.join("runs.jsonl").canonicalize().ok()?;
    let file = fs::metadata(&list).ok()?;
    let device = (major(file.dev()), minor(file.dev()));
    let locks = procfs::locks().ok()?;
    let writers = locks.iter().filter(|lock| {
        lock.lock_type == LockType::FLock
            && matches!(lock.kind, LockKind::Write)
            && lock.inode == file.ino()
    });
    let is_it = |pid: &i32, lock_device: (u32, u32)| {
        let same = (device.0, device.1) == (u64::from(lock_device.0), u64::from(lock_device.1));
        // An overlay's device has another number for its files than for its locks.
        same || has_open(*pid, &list)
    };
    let mut pids = writers.filter_map(|lock| {
        let pid = lock.pid.filter(|&pid| pid > 0)?;
        is_it(&pid, (lock.devmaj, lock.devmin)).then_some(pid)
    });
    pids.next()
}

fn has_open(pid: i32, path: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    let mut files = files.into_iter().flatten().flatten();
    files.any(|file| fs::read_link(file.path()).is_ok_and(|target| target == path))
}

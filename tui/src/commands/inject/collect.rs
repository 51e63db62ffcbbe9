//! The reports of programs that end without the library: by a signal, by a system call of their own. `inject run` becomes
//! the program, so another process waits for its end.

use std::hash::BuildHasher;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jitterlab_injector::control::{self, Collector};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};

use crate::outcome::{Exit, Failure};

/// Options of `inject collect`.
#[derive(clap::Args)]
pub struct Collect {
    /// Which `inject run`: 16 hexadecimal digits
    #[arg(long, value_parser = |text: &str| u64::from_str_radix(text, 16))]
    run: u64,
    /// Its report
    #[arg(long)]
    report: PathBuf,
}

/// Has the report completed that the program will leave which this process is about to become; gives the name of the run.
pub fn start(report: &Path) -> Result<String, Failure> {
    let run = std::collections::hash_map::RandomState::new().hash_one(report);
    let run = format!("{run:016x}");
    // It is gone when this returns: the program has no child that it does not know of.
    let status = Command::new(std::env::current_exe().map_err(Failure::run)?)
        .args(["inject", "collect", "--run", &run, "--report"])
        .arg(report)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(Failure::run)?;
    match status.success() {
        true => Ok(run),
        false => Err(Failure::run("jitterlab cannot wait for the program's end")),
    }
}

impl Collect {
    /// Goes into the background, and waits until no program of the run is left.
    pub fn run(self) -> Result<Exit, Failure> {
        // Whoever waits for these to be closed does not wait for the program.
        for fd in open_descriptors().map_err(Failure::run)? {
            let _ = nix::unistd::close(fd);
        }
        let program = getppid().and_then(open);
        nix::unistd::daemon(false, false).map_err(Failure::run)?;
        let mut awaited: Vec<OwnedFd> = program.into_iter().collect();
        while !awaited.is_empty() {
            wait_for_one(&awaited);
            let collector = Collector::Run(self.run, &self.report);
            let programs = control::programs(collector).map_err(Failure::run)?;
            // Those that have no number here are collected by whoever comes by.
            let numbers = programs.iter().filter_map(|program| program.pid);
            awaited = numbers
                .filter_map(|pid| open(Pid::from_raw(pid.cast_signed())?))
                .collect();
        }
        Ok(Exit::Done)
    }
}

fn open(process: Pid) -> Option<OwnedFd> {
    pidfd_open(process, PidfdFlags::empty()).ok()
}

/// Waits until one of these processes has ended.
fn wait_for_one(processes: &[OwnedFd]) {
    let mut polled: Vec<PollFd> = processes
        .iter()
        .map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN))
        .collect();
    while poll(&mut polled, PollTimeout::NONE) == Err(nix::errno::Errno::EINTR) {}
}

/// The descriptors that this process was given, but for the three that every process has.
fn open_descriptors() -> std::io::Result<Vec<i32>> {
    let names = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.filter(|&fd: &i32| fd > 2).collect())
}

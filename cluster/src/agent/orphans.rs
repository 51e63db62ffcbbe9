//! Processes that programs have left behind outside their groups, as daemons do. They come to the
//! worker as its children, so that it can end them.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use procfs::process::all_processes;

/// Makes orphans come to this process from now on.
///
/// # Errors
/// The system refuses.
pub fn adopt() -> std::io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Kills every child of this process, and what they leave in turn.
pub fn end() {
    /// One that the kernel does not let go is not waited for.
    const PATIENCE: Duration = Duration::from_secs(2);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let orphans: Vec<Pid> = children().map(Pid::from_raw).collect();
        if orphans.is_empty() || Instant::now() >= deadline {
            return;
        }
        for &orphan in &orphans {
            let _ = kill(orphan, Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(1));
        for &orphan in &orphans {
            let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
        }
    }
}

fn children() -> impl Iterator<Item = i32> {
    let own = Pid::this().as_raw();
    let processes = all_processes().into_iter().flatten().flatten();
    processes
        .filter_map(|process| process.stat().ok())
        .filter(move |stat| stat.ppid == own)
        .map(|stat| stat.pid)
}

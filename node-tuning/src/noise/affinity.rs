//! The CPUs that a thread can run on, and keeping it on one.

use std::path::Path;

use nix::sched::{CpuSet as Mask, sched_setaffinity};
use nix::unistd::Pid;

use super::error::Error;
use crate::cpus::{Cpu, CpuSet};

/// Keeps the calling thread on a CPU.
///
/// # Errors
/// The system does not let it: the CPU is not there, is offline, or outside the cpuset.
pub fn pin(cpu: Cpu) -> Result<(), Error> {
    let wrong = |source| Error::Pin { cpu, source };
    let mut mask = Mask::new();
    mask.set(cpu as usize).map_err(wrong)?;
    // 0 is the calling thread.
    sched_setaffinity(Pid::from_raw(0), &mask).map_err(wrong)
}

/// The CPUs on which a thread of this process can be kept: those that are online and that its cpuset
/// has. Isolated CPUs, which are not in the mask that a process starts with, are among them; so
/// that mask is not asked, the system is.
///
/// # Errors
/// The list of CPUs below `root` (`/`, except in tests) cannot be read, or no thread can be started.
pub fn available(root: &Path) -> Result<CpuSet, Error> {
    let path = root.join("sys/devices/system/cpu/online");
    let online: CpuSet = match std::fs::read_to_string(&path) {
        Err(source) => return Err(Error::Read { path, source }),
        Ok(text) => text.parse().map_err(|_| Error::Content {
            path,
            line: 1,
            expected: "a list of CPUs",
        })?,
    };
    let tried = online.clone();
    // It runs in a thread of its own: the mask of the caller stays as it is.
    let thread = std::thread::Builder::new().spawn(move || {
        let can = |&cpu: &Cpu| pin(cpu).is_ok();
        tried.iter().filter(can).collect()
    });
    match thread {
        Ok(thread) => Ok(thread.join().unwrap_or(online)),
        Err(source) => Err(Error::Thread { cpu: 0, source }),
    }
}

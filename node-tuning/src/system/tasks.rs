//! Threads and the CPUs that they may run on.

use std::io;
use std::path::Path;

use nix::sched::{CpuSet as Affinity, sched_setaffinity};
use nix::unistd::Pid;
use procfs::process::{Process, StatFlags};
use procfs::{FromRead, ProcError};

use super::{Error, Place, System, Value};
use crate::cpus::CpuSet;

/// A thread of the node.
#[derive(Debug, Clone)]
pub struct Thread {
    /// Its number.
    pub id: i32,
    /// The process that it belongs to.
    pub process: i32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
    /// The name that it gives itself.
    pub name: String,
    /// True if it is the kernel's.
    pub kernel: bool,
    /// True if the kernel lets nobody move it: it is there for its one CPU.
    pub fixed: bool,
    /// The CPUs that it may run on.
    pub cpus: CpuSet,
}

impl Thread {
    /// The place of its CPUs.
    pub fn place(&self) -> Place {
        Place::Affinity {
            thread: self.id,
            started: self.started,
            name: self.name.clone(),
        }
    }
}

pub(super) fn all(system: &System) -> Result<Vec<Thread>, Error> {
    let failed = |error: ProcError| Error::Read {
        place: "/proc".into(),
        source: io::Error::other(error),
    };
    let processes =
        procfs::process::all_processes_with_root(system.path("/proc")).map_err(failed)?;
    let mut threads = Vec::new();
    // A process that ends while it is looked at has no threads to be moved.
    for process in processes.flatten() {
        let Ok(tasks) = process.tasks() else { continue };
        threads.extend(tasks.flatten().filter_map(|task| {
            let stat = task.stat().ok()?;
            let flags = StatFlags::from_bits_truncate(stat.flags);
            Some(Thread {
                id: task.tid,
                process: task.pid,
                started: stat.starttime,
                name: stat.comm,
                kernel: flags.contains(StatFlags::PF_KTHREAD),
                fixed: flags.contains(StatFlags::PF_NO_SETAFFINITY),
                cpus: task
                    .status()
                    .ok()?
                    .cpus_allowed_list?
                    .iter()
                    .flat_map(|&(first, last)| first..=last)
                    .collect(),
            })
        }));
    }
    threads.sort_by_key(|thread| thread.id);
    Ok(threads)
}

/// When the thread with a number started; `None` when there is none.
fn started(system: &System, thread: i32) -> Option<u64> {
    let path = system.path(format!("/proc/{thread}/stat"));
    stat(&path).map(|stat| stat.starttime)
}

fn stat(path: &Path) -> Option<procfs::process::Stat> {
    procfs::process::Stat::from_read(std::fs::File::open(path).ok()?).ok()
}

pub(super) fn read(system: &System, thread: i32, start: u64) -> Result<Value, Error> {
    if started(system, thread) != Some(start) {
        return Ok(None);
    }
    // sched_getaffinity will not do: it leaves out CPUs that are offline at the moment.
    let status = system.text(format!("/proc/{thread}/status"));
    let list = status.as_ref().and_then(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
    });
    Ok(list.map(|list| list.trim().into()))
}

/// The CPUs that the cpuset of a thread lets it have; those that are online where there is none.
pub(super) fn allowed(system: &System, thread: i32) -> Value {
    let group = system.text(format!("/proc/{thread}/cpuset"))?;
    let file = format!("/sys/fs/cgroup/{group}/cpuset.cpus.effective");
    system
        .text(file)
        .or_else(|| system.text("/sys/devices/system/cpu/online"))
}

pub(super) fn write(system: &System, thread: i32, start: u64, value: &Value) -> Result<(), Error> {
    let place = || format!("the CPUs of thread {thread}");
    let gone = || Error::write(place(), io::ErrorKind::NotFound.into());
    let list = value.as_deref().ok_or_else(gone)?;
    let set: CpuSet = list.parse().map_err(|_| Error::Strange {
        place: place(),
        text: list.into(),
        expected: "list of CPUs",
    })?;
    if started(system, thread) != Some(start) {
        return Err(gone());
    }
    let mut affinity = Affinity::new();
    for cpu in set.iter() {
        affinity
            .set(cpu as usize)
            .map_err(|errno| Error::write(place(), errno.into()))?;
    }
    sched_setaffinity(Pid::from_raw(thread), &affinity)
        .map_err(|errno| Error::write(place(), errno.into()))
}

/// True if a process lives that started at this moment.
pub(super) fn lives(system: &System, process: i32, start: u64) -> bool {
    stat(&system.path(format!("/proc/{process}/stat")))
        .is_some_and(|stat| stat.starttime == start && stat.state != 'Z')
}

/// When a process of this node started, and the file that it runs.
pub(super) fn identity(process: i32) -> Option<(u64, std::path::PathBuf)> {
    let process = Process::new(process).ok()?;
    Some((process.stat().ok()?.starttime, process.exe().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_thread_that_was_forgotten_has_all_cpus_of_its_cpuset_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in [
            ("proc/7/cpuset", "/jobs\n"),
            ("proc/8/cpuset", "/\n"),
            ("sys/fs/cgroup/jobs/cpuset.cpus.effective", "0-3\n"),
            ("sys/devices/system/cpu/online", "0-7\n"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let system = System::at(root.path(), "jitterlab");
        for (thread, found, is_disturbed) in [
            (7, "0-3", true),
            (7, "0-2", false),
            (7, "0-7", false),
            (8, "0-7", true),
            // CPUs that are offline make no difference.
            (8, "0-8", true),
            (9, "0-7", false),
        ] {
            let place = Place::Affinity {
                thread,
                started: 1,
                name: "a".into(),
            };
            let [old, found] = ["1", found].map(|list| Some(list.to_string()));
            assert_eq!(
                system.is_disturbed(&place, &old, &found),
                is_disturbed,
                "{thread} {found:?}"
            );
        }
    }
}

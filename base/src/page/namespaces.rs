//! Process numbers, which mean something in one pid namespace alone: containers may share /dev/shm and not these.

use std::os::unix::fs::MetadataExt;

/// The namespaces in which a process's number and its paths mean something: their inodes, 0 where /proc does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Namespaces {
    /// The namespace of process numbers.
    pub pid: u64,
    /// The namespace of mounts.
    pub mount: u64,
}

impl Namespaces {
    /// Those of the calling process.
    pub fn own() -> Self {
        Namespaces::of("self")
    }

    fn of(process: &str) -> Self {
        let inode = |kind| {
            std::fs::metadata(format!("/proc/{process}/ns/{kind}"))
                .map_or(0, |namespace| namespace.ino())
        };
        Namespaces {
            pid: inode("pid"),
            mount: inode("mnt"),
        }
    }

    /// The name of the file of the page of process `pid`, unique over all namespaces: its number, and where that is not of
    /// the namespace that the system began with, the namespace's.
    pub fn file_name(self, pid: u32) -> String {
        /// `PROC_PID_INIT_INO` of <linux/proc_ns.h>.
        const FIRST: u64 = 0xEFFF_FFFC;
        match self.pid {
            FIRST => pid.to_string(),
            namespace => format!("{pid}@{namespace}"),
        }
    }
}

/// The name of the file of the page of process `pid`; `None` if there is no such process.
pub fn file_name(pid: u32) -> Option<String> {
    let namespaces = Namespaces::of(&pid.to_string());
    Some(namespaces.file_name(innermost(&pid.to_string())?))
}

/// The number here of the process that has number `pid` in the namespace `namespace`.
pub fn number_here(pid: u32, namespace: u64) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").ok()?;
    processes
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|process| {
            innermost(process) == Some(pid) && Namespaces::of(process).pid == namespace
        })?
        .parse()
        .ok()
}

/// The number that a process has in its own namespace.
fn innermost(process: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().next_back()?.parse().ok()
}

/// When process `pid` (`self`, for the calling one) started, in ticks since boot; `None` if there is no such process.
pub fn start_time(pid: impl std::fmt::Display) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, which may hold spaces and parentheses itself.
    // What follows it begins with field 3.
    stat.rsplit_once(')')?
        .1
        .split_ascii_whitespace()
        .nth(22 - 3)?
        .parse()
        .ok()
}

//! Kernel parameters: what the kernel was started with, and what the boot loader will give it.

mod conflict;
mod grub;
mod loader;
pub(crate) mod meaning;
pub(crate) mod parameters;

use std::fmt;
use std::path::PathBuf;

pub use conflict::Conflict;
pub use loader::{BootFile, NoLoader};
pub use meaning::Verdict;
pub use parameters::{Parameter, Parameters};

use crate::cpus::{Cpu, CpuSet};
use crate::journal::Journal;
use crate::system::{Place, System};

/// The kernel parameters of a node, now and after the next boot.
#[derive(Debug)]
pub struct Boot {
    /// The parameters that the running kernel was started with.
    pub running: Parameters,
    /// The file to which ours are written for the next boot; or the reason why they cannot be.
    pub file: Result<BootFile, NoLoader>,
    /// True if this is still the boot in which they were written.
    pub is_awaited: bool,
    /// The highest CPU that the node may have.
    last: Cpu,
}

/// A command line, and where each of its parameters stands.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// The parameters.
    pub parameters: Parameters,
    /// The origin of each parameter.
    pub origins: Vec<Origin>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.path.display(), self.line)
    }
}

impl Boot {
    /// Those of a node.
    pub fn read(system: &System, journal: &Journal) -> Self {
        let running = system.text("/proc/cmdline").unwrap_or_default();
        let changes = journal.changes.iter();
        let written: Vec<_> = changes
            .filter(|change| matches!(change.place, Place::BootFile { .. }))
            .collect();
        let mut file = BootFile::find(system);
        if let (Ok(file), Some(first)) = (&mut file, written.first()) {
            file.remember(&first.place);
        }
        Boot {
            is_awaited: written
                .last()
                .is_some_and(|change| change.boot == system.this_boot()),
            running: Parameters::parse(&running),
            file,
            last: system.last_cpu(),
        }
    }

    /// The verdict of the running kernel on `wanted`.
    fn now(&self, wanted: &Parameter) -> Verdict {
        self.running.verdict(wanted, self.last)
    }

    /// True if the running kernel was started to do what `wanted` says.
    pub fn runs_with(&self, wanted: &Parameter) -> bool {
        self.now(wanted) == Verdict::Heeded
    }

    /// The parameter that the running kernel heeds in the place of `wanted`.
    pub fn instead_of(&self, wanted: &Parameter) -> Option<&Parameter> {
        match self.now(wanted) {
            Verdict::Overruled(index) => self.running.iter().nth(index),
            _ => self.running.last(&wanted.key),
        }
    }

    /// The CPUs that the running kernel takes from its parameters of this name.
    pub fn cpus(&self, name: &str) -> Option<CpuSet> {
        self.running.cpus(name, self.last)
    }

    /// True if the next kernel will be started to do what `wanted` says.
    pub fn will_run_with(&self, wanted: &Parameter) -> bool {
        self.file
            .as_ref()
            .is_ok_and(|file| file.gives(wanted, self.last))
    }

    /// True if `wanted` stands in what we have written.
    pub fn is_ours(&self, wanted: &Parameter) -> bool {
        self.file.as_ref().is_ok_and(|file| file.names(wanted))
    }

    /// True if the next kernel will be started to do what `wanted` says if nothing is written: the files of the loader say
    /// so already, or the running one was, not by us, and the next one will be as well. After a revert the running one
    /// still has what we gave it.
    pub fn is_settled(&self, wanted: &Parameter) -> bool {
        match &self.file {
            Ok(file) => match file.next(wanted, self.last) {
                Verdict::Heeded => file.is_made_with(wanted, self.last),
                Verdict::Absent => {
                    !file.names(wanted)
                        && self.runs_with(wanted)
                        && file.is_made_with(wanted, self.last)
                }
                Verdict::Overruled(_) => false,
            },
            Err(_) => self.runs_with(wanted),
        }
    }

    /// The obstacle that keeps the next kernel from doing what `wanted` says when we write all that is `planned`.
    pub fn obstacle(&self, wanted: &Parameter, planned: &[Parameter]) -> Option<Conflict> {
        let file = self.file.as_ref().ok()?;
        file.obstacle(wanted, planned, self.last)
    }

    /// The same, or what has kept the running kernel from it, although it was told by what we wrote before it started.
    pub fn conflict(&self, wanted: &Parameter, planned: &[Parameter]) -> Option<Conflict> {
        let obstacle = self.obstacle(wanted, planned);
        let obstacle = obstacle.or_else(|| match &self.file {
            Ok(file) => file.made_otherwise(wanted, self.last),
            Err(_) => None,
        });
        let told = self.file.is_err() || self.is_ours(wanted) && !self.is_awaited;
        let at_start = || Conflict::at_start(&self.running, wanted, self.last);
        obstacle.or_else(|| at_start().filter(|_| told))
    }
}

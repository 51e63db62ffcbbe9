//! Kernel parameters: what the kernel was started with, and what the boot loader will give it.

mod loader;
mod parameters;

pub use loader::{BootFile, NoLoader};
pub use parameters::{Parameter, Parameters};

use crate::journal::Journal;
use crate::system::{Place, System};

/// The kernel parameters of a node, now and after the next boot.
#[derive(Debug)]
pub struct Boot {
    /// What the running kernel was started with.
    pub running: Parameters,
    /// Where ours are written for the next boot; or why they cannot be.
    pub file: Result<BootFile, NoLoader>,
    /// Whether this is still the boot in which they were written.
    pub is_awaited: bool,
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
        }
    }

    /// Whether the running kernel was started with `wanted`.
    pub fn runs_with(&self, wanted: &Parameter) -> bool {
        self.running.last(&wanted.key) == Some(wanted)
    }

    /// Whether the next kernel will be started with `wanted`, by us.
    pub fn will_run_with(&self, wanted: &Parameter) -> bool {
        self.file.as_ref().is_ok_and(|file| file.gives(wanted))
    }

    /// Whether the next kernel will be started with `wanted` if nothing is written: we have written it
    /// already, or the running one has it, not by us, and the next one will have it as well. After a
    /// revert the running one still has what we gave it.
    pub fn is_settled(&self, wanted: &Parameter) -> bool {
        match &self.file {
            Ok(file) if file.parameters.last(&wanted.key).is_some() => file.gives(wanted),
            Ok(file) => self.runs_with(wanted) && file.is_made_with(wanted),
            Err(_) => self.runs_with(wanted),
        }
    }
}

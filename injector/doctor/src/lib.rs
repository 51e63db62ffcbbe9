//! What a program's sends would pass by under injection: what its file says before it runs ([`elf`], [`beforehand`]),
//! and what it asks of the kernel while it is watched ([`examine`]).
//!
//! `unsafe` is confined to `ptrace`: two calls that have no safe form.

#![deny(unsafe_code)]

pub mod beforehand;
mod calls;
mod conclusion;
pub mod elf;
pub mod ending;
mod finding;
mod notes;
mod program;
mod ptrace;
mod verdict;
mod watcher;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use elf::Executable;
use ending::Ending;

pub use finding::{Finding, Kind, Row, Verdict};
pub use watcher::{WatchError, stop_for_watcher};

/// The report on one run of a program.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The executable.
    pub program: PathBuf,
    /// The content of its file.
    pub file: Executable,
    /// The end of the program.
    pub ended: Ending,
    /// The hooks that its sends passed, and what bypasses them.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Runs `program` to its end, and everything that it starts, and says which hooks its sends passed.
///
/// `command` starts it: a process that calls [`stop_for_watcher`] and then becomes the program, with the preloaded library in
/// it, every hook on and every delay zero. Its control pages lie in the folder `pages`.
///
/// # Errors
/// The processor is one whose registers the watcher does not read, the system refuses, or the program does not start.
pub fn examine(program: PathBuf, command: Command, pages: &Path) -> Result<Report, WatchError> {
    let run = watcher::run(command, pages)?;
    Ok(Report {
        file: Executable::look(&program),
        program,
        ended: run.ending,
        verdict: verdict::judge(run.seen, Executable::look),
    })
}

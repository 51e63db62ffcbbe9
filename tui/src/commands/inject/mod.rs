//! `jitterlab inject`: inject latency into an unmodified program.

pub mod change;
mod collect;
mod doctor;
mod launcher;
pub mod pages;
mod run;
mod set;
mod status;
mod traffic;
mod undelayed;

pub(super) use jitterlab_doctor::elf::find;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab inject`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Run a program and delay its messages. Its pid, signals and exit status are those of this command
    Run(run::Run),
    /// Show the running programs that are delayed
    Status(status::Status),
    /// Change the delays of a running program
    Set(set::Set),
    /// Run a program once and say which of its messages can be delayed, and which cannot
    Doctor(doctor::Doctor),
    /// Run an MPI program and count the messages between its ranks
    Trace(traffic::Trace),
    /// Wait for the programs of an `inject run` and report those that end unseen (started by `jitterlab inject run`)
    #[command(hide = true)]
    Collect(collect::Collect),
    /// As `run`, for a watcher (started by `jitterlab inject doctor`)
    #[command(hide = true)]
    Watched(run::Run),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(options) => options.run(),
        Command::Status(options) => options.run(),
        Command::Set(options) => options.run(),
        Command::Doctor(options) => options.run(),
        Command::Trace(options) => options.run(),
        Command::Collect(options) => options.run(),
        Command::Watched(options) => doctor::watched(options),
    }
}

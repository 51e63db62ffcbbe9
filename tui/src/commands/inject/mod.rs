//! `jitterlab inject`: inject latency into an unmodified program.

mod collect;
mod doctor;
mod launcher;
mod pages;
mod run;
mod set;
mod status;
mod trace;
mod undelayed;

pub(super) use jitterlab_doctor::elf::find;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab inject`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Run a program under injection; its pid, signals and exit status are its own
    Run(run::Run),
    /// Show the programs under injection
    Status(status::Status),
    /// Change the injection of a running program
    Set(set::Set),
    /// Run a program and say which hooks its sends pass through, and what bypasses them
    Doctor(doctor::Doctor),
    /// Run an MPI program and count what its ranks send to each other
    Trace(trace::Trace),
    /// Wait for the programs of an `inject run` and report those that end unseen (started by `jitterlab inject run`)
    #[command(hide = true)]
    Collect(collect::Collect),
    /// As `run`, for a tracer (started by `jitterlab inject doctor`)
    #[command(hide = true)]
    Traced(run::Run),
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
        Command::Traced(options) => doctor::traced(options),
    }
}

//! `jitterlab noise`: what takes a CPU away.

mod compare;
mod run;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab noise`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Keep CPUs busy; say when something interrupted them, for how long, and what it was
    Run(run::Run),
    /// Compare two results of `noise run`
    Compare(compare::Compare),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(options) => options.run(),
        Command::Compare(options) => options.run(),
    }
}

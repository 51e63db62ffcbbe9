//! `jitterlab noise`: what takes a CPU away.

mod compare;
mod run;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab noise`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Spin on CPUs, and say when, for how long and by whom they were taken away
    Run(run::Run),
    /// Compare two runs: before and after
    Compare(compare::Compare),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(options) => options.run(),
        Command::Compare(options) => options.run(),
    }
}

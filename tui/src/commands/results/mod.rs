//! `jitterlab results`: result folders beside each other.

mod compare;
mod merge;
mod plan;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab results`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Is anything slower than in an earlier result folder, by more than a given share?
    Compare(compare::Compare),
    /// How many repetitions does `results compare` need?
    Plan(plan::Plan),
    /// Merge result folders of one experiment into a new folder
    Merge(merge::Merge),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Compare(options) => options.run(),
        Command::Plan(options) => options.run(),
        Command::Merge(options) => options.run(),
    }
}

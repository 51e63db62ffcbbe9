//! `jitterlab amvia`: active messages.

mod names;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab amvia`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Tell endpoints where others are
    #[command(subcommand)]
    Names(names::Command),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Names(command) => names::run(command),
    }
}

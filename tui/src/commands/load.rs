//! `jitterlab load`.

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab load`.
#[derive(clap::Subcommand)]
pub enum Command {}

/// Runs it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {}
}

//! `jitterlab inject`.

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab inject`.
#[derive(clap::Subcommand)]
pub enum Command {}

/// Runs it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {}
}

//! `jitterlab packet`.

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab packet`.
#[derive(clap::Subcommand)]
pub enum Command {}

/// Runs it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {}
}

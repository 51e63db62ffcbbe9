//! `jitterlab noise`: what takes a CPU away.

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab noise`.
#[derive(clap::Subcommand)]
pub enum Command {}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {}
}

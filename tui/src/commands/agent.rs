//! `jitterlab agent`.

use crate::outcome::{Exit, Failure};

/// Options of `jitterlab agent`.
#[derive(clap::Args)]
pub struct Command {}

/// Runs it.
pub fn run(_command: Command) -> Result<Exit, Failure> {
    Err(Failure::run("not built yet"))
}

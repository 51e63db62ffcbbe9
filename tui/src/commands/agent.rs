//! `jitterlab agent`.

use jitterlab_experiment::agent;

use crate::outcome::{Exit, Failure};

/// Options of `jitterlab agent`.
#[derive(clap::Args)]
pub struct Command {}

/// Runs it.
pub fn run(_command: Command) -> Result<Exit, Failure> {
    agent::serve(std::io::stdin(), std::io::stdout()).map_err(Failure::run)?;
    Ok(Exit::Done)
}

//! `jitterlab validate`: nodes and pairs that do not fit.

use crate::outcome::{Exit, Failure};

/// Options of `jitterlab validate`.
#[derive(clap::Args)]
pub struct Command {}

/// Does it.
pub fn run(_: Command) -> Result<Exit, Failure> {
    Ok(Exit::Done)
}

//! `jitterlab report`: the HTML report of a result folder.

use std::path::PathBuf;

use jitterlab_report::Analysed;
use serde::Serialize;

use super::analyze::failure;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `jitterlab report`.
#[derive(clap::Args)]
pub struct Command {
    /// The result folder
    dir: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What `report` prints.
#[derive(Serialize)]
struct Written {
    /// The page.
    report: PathBuf,
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    let analysed = Analysed::open(&command.dir).map_err(failure)?;
    let report = analysed.write_report().map_err(failure)?;
    output::print(
        command.format,
        &Written {
            report: report.clone(),
        },
        || report.display().to_string(),
    )?;
    Ok(Exit::Done)
}

//! `jitterlab report`: the HTML report of a result folder.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

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
    /// Show it in the browser of this desktop
    #[arg(long)]
    open: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The output of `report`.
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
    if command.open {
        open(&report)?;
    }
    Ok(Exit::Done)
}

/// Hands the page to the desktop's program for it.
fn open(page: &Path) -> Result<(), Failure> {
    const OPENER: &str = "xdg-open";
    let not_shown = |reason: String| {
        Failure::run(NotShown {
            page: page.into(),
            reason,
        })
    };
    // A path from the root is never taken for an option.
    let path = page
        .canonicalize()
        .map_err(|error| not_shown(error.to_string()))?;
    match std::process::Command::new(OPENER).arg(path).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(not_shown(format!("{OPENER} ended with {status}"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(not_shown(format!(
            "{OPENER} is not installed (package xdg-utils)"
        ))),
        Err(error) => Err(not_shown(format!("{OPENER}: {error}"))),
    }
}

/// The page is written and cannot be shown.
#[derive(Debug, thiserror::Error)]
#[error("cannot show the report: {reason}; open {} in a browser", page.display())]
struct NotShown {
    page: PathBuf,
    reason: String,
}

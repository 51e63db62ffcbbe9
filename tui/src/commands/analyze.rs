//! `jitterlab analyze`: the tables of a result folder.

use std::path::PathBuf;

use jitterlab_report::{Analysed, Error};

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `jitterlab analyze`.
#[derive(clap::Args)]
pub struct Command {
    /// The result folder
    dir: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    let analysed = Analysed::open(&command.dir).map_err(failure)?;
    let written = analysed.write_tables().map_err(failure)?;
    output::print(command.format, &analysed.analysis, || analysed.to_text())?;
    for path in written {
        eprintln!("wrote {}", path.display());
    }
    Ok(Exit::Done)
}

/// A folder that cannot be analysed is wrong input; a report that cannot be written in it could
/// not run.
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Write { .. } | Error::Remove { .. } | Error::Csv { .. } => Failure::run(error),
        _ => Failure::input(error),
    }
}

//! `jitterlab analyze`: the tables of a result folder.

use std::path::PathBuf;

use jitterlab_base::units::Percent;
use jitterlab_report::analysis::levels::{CaseAtLevel, Comparison, Figure};
use jitterlab_report::{Analysed, Error};

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `jitterlab analyze`.
#[derive(clap::Args)]
pub struct Command {
    /// The result folder
    dir: PathBuf,
    /// Compare these runs (a) with those of --b, and print no tables. Give the name that the runs share, for example
    /// packet-rtt-udp.none, without the number of the repetition
    #[arg(long, requires = "b")]
    a: Option<String>,
    /// The runs (b) to compare with those of --a
    #[arg(long, requires = "a")]
    b: Option<String>,
    /// The statistic of a run to compare: mean, median, p99 or p999
    #[arg(long, default_value = "median", requires = "a")]
    figure: Figure,
    /// Ask whether b is slower by more than this. Exit status 0: no; 1: yes; 4: undecided
    #[arg(long, default_value = "0%", requires = "a")]
    slower_by: Percent,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    let analysed = Analysed::open(&command.dir).map_err(failure)?;
    if let (Some(a), Some(b)) = (&command.a, &command.b) {
        let cases = analysed.cases().map_err(failure)?;
        let (a, b) = (named(&cases, a)?, named(&cases, b)?);
        let by = command.slower_by.value() / 100.0;
        let comparison = Comparison::of(a, b, command.figure, by).map_err(Failure::input)?;
        output::print(command.format, &comparison, || comparison.to_string())?;
        return Ok(comparison.slower.into());
    }
    let written = analysed.write_tables().map_err(failure)?;
    output::print(command.format, &analysed.analysis, || analysed.to_text())?;
    for path in written {
        eprintln!("wrote {}", path.display());
    }
    Ok(Exit::Done)
}

fn named<'a>(cases: &'a [CaseAtLevel], name: &str) -> Result<&'a CaseAtLevel, Failure> {
    cases.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = cases.iter().map(|it| it.name.as_str()).collect();
        Failure::input(format!(
            "no runs are called {name}; there are {}",
            names.join(", ")
        ))
    })
}

/// A folder that cannot be analysed is wrong input; a report that cannot be written in it could
/// not run.
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Write { .. } | Error::Remove { .. } | Error::Csv { .. } => Failure::run(error),
        _ => Failure::input(error),
    }
}

//! `jitterlab results plan`: how many repetitions a gate takes.

use std::path::PathBuf;

use jitterlab_base::units::Percent;
use jitterlab_report::analysis::gate::{Planned, Side};
use jitterlab_report::analysis::levels::Figure;

use crate::commands::analyze::failure;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `results plan`.
#[derive(clap::Args)]
pub struct Plan {
    /// A result folder. Its runs show how much results differ from run to run
    folder: PathBuf,
    /// The share by which something may be slower
    #[arg(long, default_value = "5%")]
    gate: Percent,
    /// The statistic of a run that will be compared: mean, median, p99 or p999
    #[arg(long, default_value = "median")]
    figure: Figure,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Plan {
    pub fn run(self) -> Result<Exit, Failure> {
        let side = Side::open(&self.folder).map_err(failure)?;
        if side.cases.is_empty() {
            return Err(Failure::input(format!(
                "{} has no run that has samples or a runtime, so that nothing can be planned by it",
                self.folder.display()
            )));
        }
        let planned =
            Planned::of(&side, self.figure, self.gate.fraction()).map_err(Failure::input)?;
        output::print(self.format, &planned, || planned.to_string())?;
        Ok(Exit::Done)
    }
}

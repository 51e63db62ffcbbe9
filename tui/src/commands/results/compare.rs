//! `jitterlab results compare`: a result folder against a kept one.

use std::path::PathBuf;

use jitterlab_base::units::Percent;
use jitterlab_report::analysis::gate::{Gated, Side};
use jitterlab_report::analysis::levels::Figure;

use crate::commands::analyze::failure;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `results compare`.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing is slower by more than the gate, 1 something is, 2 wrong input, 4 undecided. The output \
                  gives the reason."
)]
pub struct Compare {
    /// The earlier result folder (a)
    a: PathBuf,
    /// The result folder to compare with it (b)
    b: PathBuf,
    /// The share by which b may be slower than a
    #[arg(long, default_value = "5%")]
    gate: Percent,
    /// The statistic of a run to compare: mean, median, p99 or p999
    #[arg(long, default_value = "median")]
    figure: Figure,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Compare {
    pub fn run(self) -> Result<Exit, Failure> {
        let (a, b) = (Side::open(&self.a), Side::open(&self.b));
        let (a, b) = (a.map_err(failure)?, b.map_err(failure)?);
        if self.a.canonicalize().ok() == self.b.canonicalize().ok() {
            let path = self.a.display();
            return Err(Failure::input(format!(
                "{path} is the same folder as {}: give two different folders",
                self.b.display()
            )));
        }
        let gated = Gated::of(&a, &b, self.figure, self.gate.fraction()).map_err(Failure::input)?;
        let have_nothing_in_common =
            gated.quantities.is_empty() && gated.other_loop.is_empty() && gated.failing.is_empty();
        if have_nothing_in_common {
            return Err(Failure::input(format!(
                "{} and {} have no runs of the same name that have samples or a runtime",
                self.a.display(),
                self.b.display()
            )));
        }
        output::print(self.format, &gated, || gated.to_string())?;
        Ok(gated.slower.into())
    }
}

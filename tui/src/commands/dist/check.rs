//! `jitterlab dist check`: a table against its distribution, or against samples.

use std::path::{Path, PathBuf};

use jitterlab_base::show;
use jitterlab_base::show::printable;
use jitterlab_experiment::samples;
use jitterlab_injector::check::{AskedAndMade, Scaled, check};
use jitterlab_injector::table::DistributionTable;
use jitterlab_stats::imitation::{Closeness, Fault};
use serde::Serialize;

use super::TableFile;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `dist check`.
#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    table: TableFile,
    /// The samples that the table is to imitate: CSV or Parquet file with times in nanoseconds. Write FILE:COLUMN if it has
    /// several columns
    #[arg(long)]
    samples: Option<PathBuf>,
    /// Fail if the mean, the standard deviation or a quantile of the table differs from that of its distribution by more than this
    /// share; 0.05 is 5 %
    #[arg(long, default_value_t = 0.05, conflicts_with = "samples")]
    tolerance: f64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Check {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        if !(0.0..=1.0).contains(&self.tolerance) {
            return Err(Failure::input("--tolerance lies between 0 and 1"));
        }
        let table = self.table.load_times()?;
        if let Some(path) = &self.samples {
            return self.beside(&table, path);
        }
        let origin = table.origin();
        if let Some(asked) = Scaled::named_by(origin) {
            return self.scaled(asked, asked.moments(&table));
        }
        let distribution = table.distribution().ok_or_else(|| {
            let table = self.table.table.display();
            Failure::input(match origin {
                "" => format!(
                    "{table} does not name the distribution it was made from; --samples FILE checks it against samples"
                ),
                origin => format!(
                    "{table} came from `{}`, which is no distribution to check it against; --samples FILE checks it against samples",
                    printable(origin)
                ),
            })
        })?;
        let rows = check(&table, &distribution, self.tolerance);
        output::print(self.format, &rows, || {
            let mut text =
                format!("{distribution}, in ns\n        distribution         table  difference\n");
            for row in &rows {
                text.push_str(&format!(
                    "{:6} {:13.1} {:13.1} {:9.3} %{}\n",
                    row.figure,
                    row.expected_ns,
                    row.table_ns,
                    100.0 * row.relative,
                    if row.within { "" } else { "  too far" }
                ));
            }
            text
        })?;
        let all_within = rows.iter().all(|row| row.within);
        Ok(if all_within {
            Exit::Done
        } else {
            Exit::Finding
        })
    }

    /// Whether the table has the mean and the deviation that it was made for.
    fn scaled(&self, asked: Scaled, moments: AskedAndMade) -> Result<Exit, Failure> {
        let are_met = moments.are_met();
        let held = HeldAgainst { moments, are_met };
        output::print(self.format, &held, || {
            let row = |what: &str, asked: f64, table: f64| {
                format!(
                    "{what:20}{:>14}{:>14}\n",
                    show::time(asked),
                    show::time(table)
                )
            };
            format!(
                "made for {} times the standard deviation of samples, at their mean\n                           asked         table\n{}{}{}\n",
                asked.multiple,
                row("mean", moments.asked_mean_ns, moments.mean_ns),
                row("standard deviation", moments.asked_std_ns, moments.std_ns),
                match are_met {
                    true =>
                        "The table has them: the mean within 1 %, the standard deviation within 5 %.",
                    false =>
                        "The table does not have them: 1 % of the mean and 5 % of the standard deviation are allowed.",
                }
            )
        })?;
        Ok(match are_met {
            true => Exit::Done,
            false => Exit::Finding,
        })
    }

    /// Whether the table imitates samples.
    fn beside(&self, table: &DistributionTable, path: &Path) -> Result<Exit, Failure> {
        let samples = samples::read(path).map_err(Failure::input)?;
        let closeness = Closeness::between(&samples, &table.sorted()).map_err(Failure::input)?;
        let beside = Beside {
            fault: closeness.fault(),
            distance_ratio: closeness.distance_ratio(),
            std_ratio: closeness.std_ratio(),
            closeness,
        };
        output::print(self.format, &beside, || beside.text())?;
        Ok(match beside.fault {
            None => Exit::Done,
            Some(_) => Exit::Finding,
        })
    }
}

/// The output of `dist check` on a table that was made for a mean and a standard deviation.
#[derive(Serialize)]
struct HeldAgainst {
    #[serde(flatten)]
    moments: AskedAndMade,
    are_met: bool,
}

/// The output of `dist check --samples`, in nanoseconds.
#[derive(Serialize)]
struct Beside {
    #[serde(flatten)]
    closeness: Closeness,
    distance_ratio: f64,
    std_ratio: f64,
    /// Why the table does not imitate the samples.
    fault: Option<Fault>,
}

impl Beside {
    fn text(&self) -> String {
        let close = &self.closeness;
        let verdict = match self.fault {
            None => "The table imitates the samples.",
            Some(Fault::NoCloserThanConstant) => {
                "The table does not imitate the samples: a constant delay, their mean, is as close to them."
            }
            Some(Fault::Deviation) => {
                "The table does not imitate the samples: its standard deviation is off by more than a quarter."
            }
        };
        format!(
            "                             samples         table\n\
             zeros                    {:9.3} %   {:9.3} %\n\
             standard deviation    {:>14}{:>14}\n\
             distance (Wasserstein-1) {}, {:.3} times the distance of their mean\n\
             greatest difference of the distribution functions {:.4}\n{verdict}\n",
            100.0 * close.zeros_of_samples,
            100.0 * close.zeros,
            show::time(close.std_of_samples),
            show::time(close.std),
            show::time(close.distance),
            self.distance_ratio,
            close.largest_difference,
        )
    }
}

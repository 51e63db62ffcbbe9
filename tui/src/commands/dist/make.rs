//! `jitterlab dist make`: a table from a shape, or from samples.

use std::path::{Path, PathBuf};

use jitterlab_base::seed;
use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_experiment::fit::injectable_moments;
use jitterlab_experiment::samples;
use jitterlab_injector::check::Scaled;
use jitterlab_injector::generator::TABLE_ENTRIES;
use jitterlab_injector::shape::{self, Made, Shape};
use jitterlab_injector::table::DistributionTable;
use jitterlab_stats::imitation;

use crate::files;
use crate::outcome::{Exit, Failure};

/// Options of `dist make`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("delays").required(true).args(["shape", "samples"])))]
pub struct Make {
    /// constant, uniform or lognormal
    #[arg(long, requires = "mean")]
    shape: Option<Shape>,
    /// Mean of the delays, as in 50us
    #[arg(long)]
    mean: Option<Nanos>,
    /// Standard deviation of the delays
    #[arg(long, default_value = "0ns")]
    std: Nanos,
    /// Least delay of a lognormal
    #[arg(long, default_value = "0ns")]
    location: Nanos,
    /// The delays are these samples: CSV or Parquet file with times in nanoseconds. Write FILE:COLUMN if it has several
    /// columns
    #[arg(long, conflicts_with_all = ["mean", "std", "location"])]
    samples: Option<PathBuf>,
    /// Multiply the standard deviation of the samples by this number, and keep their mean. 0 makes all delays equal. 2 doubles the
    /// standard deviation
    #[arg(long, requires = "samples", value_name = "MULTIPLE")]
    scaled: Option<f64>,
    /// Seed of the random order of the delays in the table
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    /// Where to write the table
    #[arg(short, long)]
    output: PathBuf,
}

impl Make {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let table = match &self.samples {
            Some(samples) => self.of_samples(samples)?,
            None => self.of_shape()?,
        };
        files::write(&self.output, table.to_text().as_bytes())?;
        Ok(Exit::Done)
    }

    fn of_shape(&self) -> Result<DistributionTable, Failure> {
        // clap asks for both where there are no samples.
        let (Some(shape), Some(mean)) = (self.shape, self.mean) else {
            return Err(Failure::input("give --shape and --mean, or --samples"));
        };
        if self.location != Nanos(0) && shape != Shape::LogNormal {
            return Err(Failure::input("--location is only for --shape lognormal"));
        }
        let [mean, std, location] = [mean, self.std, self.location].map(|ns| ns.0 as f64);
        let distribution = shape
            .with_moments(mean, std, location)
            .map_err(Failure::input)?;
        let table = whole(shape::table(&distribution, self.seed), distribution)?;
        if (table.std() - std).abs() > NEAR * std {
            eprintln!(
                "jitterlab: the table has a standard deviation of {} instead of {}, because it holds only 4096 whole nanoseconds",
                show::time(table.std()),
                show::time(std)
            );
        }
        Ok(table)
    }

    fn of_samples(&self, path: &Path) -> Result<DistributionTable, Failure> {
        let samples = samples::read(path).map_err(Failure::input)?;
        let slices = imitation::slices(&samples, TABLE_ENTRIES).map_err(Failure::input)?;
        let (delays, origin) = match self.scaled {
            None => (slices, "empirical".to_string()),
            Some(multiple) if multiple >= 0.0 && multiple.is_finite() => {
                let delays = imitation::scaled(&slices, multiple).map_err(|reach| {
                    Failure::input(format!(
                        "the samples cannot be scaled to {multiple} times their standard deviation; possible are 0, and {:.3} to \
                         {:.1}",
                        reach.least, reach.most
                    ))
                })?;
                let (mean_ns, std) = injectable_moments(&samples).map_err(Failure::input)?;
                let asked = Scaled {
                    multiple,
                    mean_ns,
                    std_ns: multiple * std,
                };
                (delays, asked.to_string())
            }
            Some(_) => return Err(Failure::input("--scaled is a number of 0 or more")),
        };
        whole(shape::table_of(&delays, &origin, self.seed), "the samples")
    }
}

/// The greatest distance of a table's standard deviation from what was asked for before it is said.
const NEAR: f64 = 0.05;

/// The table, if it can hold all of the delays of what it was made from.
pub(super) fn whole(made: Made, of: impl std::fmt::Display) -> Result<DistributionTable, Failure> {
    made.whole(&of).map_err(Failure::input)?;
    if made.raised > 0 {
        eprintln!(
            "jitterlab: {} of the 4096 delays of {of} are negative and become 0",
            made.raised
        );
    }
    Ok(made.table)
}

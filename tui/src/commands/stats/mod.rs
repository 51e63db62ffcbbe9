//! `jitterlab stats`: compare samples with the right tests.

mod description;
mod independent;
mod recordings;

use std::path::{Path, PathBuf};

use jitterlab_base::seed;
use jitterlab_base::show;
use jitterlab_experiment::samples;
use jitterlab_report::analysis::levels::Figure;
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::sorted;
use jitterlab_stats::summary::Summary;

use crate::loops;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, time_of};

/// The verbs of `jitterlab stats`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Compare two sets of samples, or two systems with several recordings each
    Compare(Compare),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Compare(options) => options.run(),
    }
}

/// Options of `stats compare`.
#[derive(clap::Args)]
#[command(
    after_help = "Samples of one recording depend on each other. Two recordings of one system also differ. Use several recordings per system: \
                  then the command tests the difference, and each recording counts as one value. With one recording per system, it only \
                  describes the difference:\n  \
                  jitterlab stats compare a.csv b.csv\n  \
                  jitterlab stats compare --a before-*.csv --b after-*.csv"
)]
pub struct Compare {
    /// The first samples: CSV or Parquet file with times in nanoseconds. Write FILE:COLUMN if it has several columns
    #[arg(required_unless_present = "recordings_a", requires = "second")]
    first: Option<PathBuf>,
    /// The second samples
    #[arg(value_name = "SECOND", conflicts_with_all = ["recordings_a", "recordings_b"])]
    second: Option<PathBuf>,
    /// Recordings of the first system, one file each
    #[arg(long = "a", value_name = "FILE", num_args = 1.., requires = "recordings_b", conflicts_with = "first")]
    recordings_a: Vec<PathBuf>,
    /// Recordings of the second system
    #[arg(long = "b", value_name = "FILE", num_args = 1.., requires = "recordings_a")]
    recordings_b: Vec<PathBuf>,
    /// The statistic of each recording to compare: mean, median, p99 or p999
    #[arg(long, default_value_t, conflicts_with = "first")]
    figure: Figure,
    /// Compare the samples directly. This is valid only if each sample comes from its own run
    #[arg(long, conflicts_with = "recordings_a")]
    independent: bool,
    /// Level of significance; the confidence of the intervals is 1 − alpha
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    /// Seed of the bootstrap intervals
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Compare {
    fn run(self) -> Result<Exit, Failure> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Failure::input("--alpha lies between 0 and 1"));
        }
        let one_each = self.first.iter().chain(&self.second);
        let several_each = self.recordings_a.iter().chain(&self.recordings_b);
        loops::check(one_each.chain(several_each).map(PathBuf::as_path))?;
        if let (Some(first), Some(second)) = (&self.first, &self.second) {
            let (a, b) = (read(first)?, read(second)?);
            if self.independent {
                let compared = independent::Comparison::of(&a, &b, self.alpha, self.seed);
                let compared = compared.map_err(Failure::input)?;
                output::print(self.format, &compared, || compared.text())?;
            } else {
                let described = description::Description::of(&a, &b, self.alpha);
                let described = described.map_err(Failure::input)?;
                output::print(self.format, &described, || described.text())?;
            }
            return Ok(Exit::Done);
        }
        let side = |files: &[PathBuf]| -> Result<Vec<(String, Summary)>, Failure> {
            let summary =
                |file: &PathBuf| Ok((file.display().to_string(), Summary::of_sorted(&read(file)?)));
            files.iter().map(summary).collect()
        };
        let (a, b) = (side(&self.recordings_a)?, side(&self.recordings_b)?);
        let compared = recordings::Comparison::of(a, b, self.figure, self.alpha)?;
        output::print(self.format, &compared, || compared.text())?;
        Ok(Exit::Done)
    }
}

/// The samples of a file in ascending order.
fn read(path: &Path) -> Result<Vec<f64>, Failure> {
    let samples = samples::read(path).map_err(Failure::input)?;
    // One sample says nothing of how the next would differ.
    if samples.len() < 2 {
        return Err(Failure::input(format!(
            "{} holds {} sample; a comparison needs at least 2 in each file",
            path.display(),
            samples.len()
        )));
    }
    sorted(&samples).map_err(Failure::input)
}

/// A line for a set of samples.
fn line(name: &str, of: &Summary) -> String {
    format!(
        "{name}  n {}  mean {}  std {}  median {}  99 % {}  99.9 % {}\n",
        of.n,
        show::time(of.mean),
        time_of(of.std),
        show::time(of.median),
        show::time(of.p99),
        show::time(of.p999)
    )
}

fn interval(of: &Interval) -> String {
    show::with_interval([of.estimate, of.low, of.high].map(show::time))
}

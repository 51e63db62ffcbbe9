//! `jitterlab stats`: compare samples with the right tests.

use std::path::{Path, PathBuf};

use jitterlab_base::seed;
use jitterlab_base::show;
use jitterlab_experiment::samples;
use jitterlab_stats::bootstrap::{Bootstrap, Interval};
use jitterlab_stats::hodges_lehmann::{self, Shift};
use jitterlab_stats::ks::{self, KolmogorovSmirnov};
use jitterlab_stats::mann_whitney::size_of_effect;
use jitterlab_stats::mann_whitney::{self, MannWhitney};
use jitterlab_stats::summary::Summary;
use jitterlab_stats::{resolution, sorted, wasserstein, welch};
use serde::Serialize;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, time_of};
use crate::shown::p_value;

/// The verbs of `jitterlab stats`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Compare two sets of samples: tests, effect size, confidence intervals
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
pub struct Compare {
    /// The first samples, in nanoseconds: CSV or Parquet; FILE:COLUMN where there are several columns
    a: PathBuf,
    /// The second samples
    b: PathBuf,
    /// Level of significance; the confidence of the intervals is 1 − alpha
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    /// Seed of the bootstrap intervals
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What `stats compare` prints; times in nanoseconds, differences a − b.
#[derive(Serialize)]
struct Comparison {
    alpha: f64,
    a: Summary,
    b: Summary,
    mann_whitney: MannWhitney,
    kolmogorov_smirnov: KolmogorovSmirnov,
    /// Hodges-Lehmann.
    shift_ns: Shift,
    /// Percentile bootstrap, or Welch's above [`RESAMPLED`].
    mean_difference_ns: Interval,
    wasserstein_ns: f64,
    /// The step of the coarser clock; none if all samples are equal.
    resolution_ns: Option<f64>,
    conclusion: String,
}

/// Of more samples than this a bootstrap takes too long, and their mean is as good as normal.
const RESAMPLED: usize = 100_000;

impl Compare {
    fn run(self) -> Result<Exit, Failure> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Failure::input("--alpha lies between 0 and 1"));
        }
        let read = |path: &Path| {
            let samples = samples::read(path).map_err(Failure::input)?;
            // One sample says nothing of how the next would differ.
            if samples.len() < 2 {
                return Err(Failure::input(format!(
                    "{} holds {} sample; a comparison needs at least 2 of each",
                    path.display(),
                    samples.len()
                )));
            }
            sorted(&samples).map_err(Failure::input)
        };
        let (a, b) = (read(&self.a)?, read(&self.b)?);
        let comparison = self.compare(&a, &b).map_err(Failure::input)?;
        output::print(self.format, &comparison, || comparison.text())?;
        Ok(Exit::Done)
    }

    fn compare(&self, a: &[f64], b: &[f64]) -> Result<Comparison, jitterlab_stats::Error> {
        let confidence = 1.0 - self.alpha;
        let (of_a, of_b) = (Summary::of_sorted(a), Summary::of_sorted(b));
        let mean_difference_ns = if a.len().max(b.len()) > RESAMPLED {
            welch::mean_difference(&of_a, &of_b, confidence)?
        } else {
            let bootstrap = Bootstrap {
                resamples: 1_000,
                confidence,
                seed: self.seed,
            };
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            bootstrap.percentile_of_two(a, b, |a, b| mean(a) - mean(b))?
        };
        let mut comparison = Comparison {
            alpha: self.alpha,
            a: of_a,
            b: of_b,
            mann_whitney: mann_whitney::test_sorted(a, b),
            kolmogorov_smirnov: ks::two_sample_sorted(a, b),
            shift_ns: hodges_lehmann::shift_sorted(a, b, confidence),
            mean_difference_ns,
            wasserstein_ns: wasserstein::distance_sorted(a, b),
            resolution_ns: resolution::of_two_sorted(a, b),
            conclusion: String::new(),
        };
        comparison.conclusion = comparison.in_words();
        Ok(comparison)
    }
}

impl Comparison {
    fn in_words(&self) -> String {
        let test = &self.mann_whitney;
        if test.p >= self.alpha {
            return format!(
                "no significant difference at alpha = {} (Mann-Whitney {})",
                self.alpha,
                p_value(test.p)
            );
        }
        let size = size_of_effect(test.rank_biserial);
        let Interval {
            estimate,
            low,
            high,
        } = self.shift_ns.interval;
        if let Some(step) = self.resolution_ns.filter(|step| estimate.abs() < *step) {
            return format!(
                "a and b differ by less than the resolution of the samples, {}{}; the effect is {size} (rank-biserial \
                 {:.3}, Mann-Whitney {})",
                show::time(step),
                self.beyond_the_middle(step),
                test.rank_biserial,
                p_value(test.p)
            );
        }
        // In the direction that the sentence names, so that its figures agree with it.
        let (direction, by, from, to) = if test.rank_biserial > 0.0 {
            ("larger", estimate, low, high)
        } else {
            ("smaller", -estimate, -high, -low)
        };
        format!(
            "a tends to be {direction} than b, by {} (interval {} to {} at alpha = {}); \
             the effect is {size} (rank-biserial {:.3}, Mann-Whitney {})",
            show::time(by),
            show::time(from),
            show::time(to),
            self.alpha,
            test.rank_biserial,
            p_value(test.p)
        )
    }

    /// Samples that are alike in the middle may differ in their tails: so much that the clock shows it.
    fn beyond_the_middle(&self, step: f64) -> String {
        let Interval {
            estimate,
            low,
            high,
        } = self.mean_difference_ns;
        if low < step && high > -step {
            return String::new();
        }
        format!(
            ", in the middle; their means differ by {} (interval {} to {})",
            show::time(estimate),
            show::time(low),
            show::time(high)
        )
    }

    /// What is to be said of an interval that has less confidence than was asked for.
    fn too_few(&self) -> String {
        let confidence = self.shift_ns.confidence;
        if confidence >= 1.0 - self.alpha - 1e-9 {
            return String::new();
        }
        format!(
            ", with a confidence of {:.1} %: too few samples for more",
            100.0 * confidence
        )
    }

    fn text(&self) -> String {
        let line = |name: &str, s: &Summary| {
            format!(
                "{name}  n {}  mean {}  std {}  median {}  99 % {}  99.9 % {}\n",
                s.n,
                show::time(s.mean),
                time_of(s.std),
                show::time(s.median),
                show::time(s.p99),
                show::time(s.p999)
            )
        };
        let interval = |i: &Interval| {
            format!(
                "{} ({} to {})",
                show::time(i.estimate),
                show::time(i.low),
                show::time(i.high)
            )
        };
        format!(
            "{}{}\nMann-Whitney        U {}  {}  rank-biserial {:.4}\n\
             Kolmogorov-Smirnov  D {:.4}  {}\n\
             Hodges-Lehmann shift a - b      {}{}\n\
             difference of means a - b       {}\n\
             Wasserstein-1 distance          {}\n\
             resolution of the samples       {}\n\n{}\n",
            line("a", &self.a),
            line("b", &self.b),
            self.mann_whitney.u,
            p_value(self.mann_whitney.p),
            self.mann_whitney.rank_biserial,
            self.kolmogorov_smirnov.d,
            p_value(self.kolmogorov_smirnov.p),
            interval(&self.shift_ns.interval),
            self.too_few(),
            interval(&self.mean_difference_ns),
            show::time(self.wasserstein_ns),
            time_of(self.resolution_ns),
            self.conclusion
        )
    }
}

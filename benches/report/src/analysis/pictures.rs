//! The data for figures of distributions: a few hundred numbers in the place of millions of samples.

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use jitterlab_stats::histogram::Bins;
use jitterlab_stats::summary::quantile;

use crate::Error;
use crate::analysis::condition::{Condition, Link, RankReader};
use crate::analysis::load::Load;

/// The round trips of a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct RttPicture {
    /// Over which link.
    pub link: Link,
    /// The level.
    pub level: Level,
    /// The background load of these runs, at a level of load.
    pub load: Option<Load>,
    /// Number of round trips.
    pub n: usize,
    /// Number of runs.
    pub runs: usize,
    /// Share of the round trips at or below a time, and the time in nanoseconds; ascending.
    pub quantiles: Vec<(f64, f64)>,
    /// 1st, 25th, 50th, 75th and 99th percentile in nanoseconds.
    pub box_ns: [f64; 5],
    /// Where they lie.
    pub histogram: Shares,
}

/// Points of a distribution function in a figure.
const POINTS: usize = 400;

impl RttPicture {
    /// The picture of a condition.
    pub fn of(condition: &Condition) -> Self {
        RttPicture {
            link: condition.link.clone(),
            level: condition.level,
            load: condition.load.clone(),
            n: condition.rtt.sorted.len(),
            runs: condition.rtt.runs(),
            quantiles: condition.rtt.quantiles(POINTS),
            box_ns: [0.01, 0.25, 0.5, 0.75, 0.99].map(|p| quantile(&condition.rtt.sorted, p)),
            histogram: Shares::of(&condition.rtt.sorted, condition.rtt.summary.min),
        }
    }
}

/// The times of an operation of MPI at one level, rank by rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankPicture {
    /// The name of the case.
    pub case: String,
    /// The level.
    pub level: Level,
    /// Number of runs.
    pub runs: usize,
    /// The number of its samples in all runs, for each rank that times it.
    pub n: Vec<usize>,
    /// The times of each rank in nanoseconds at [`RankPicture::SHARES`].
    pub quantiles_ns: Vec<[f64; 9]>,
}

impl RankPicture {
    /// The shares of a rank's samples whose quantiles are shown, the longest time last.
    pub const SHARES: [f64; 9] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0];

    /// The picture of the runs of one case at one level.
    ///
    /// # Errors
    /// The samples of a run cannot be read, or say nothing of ranks.
    pub fn of(
        case: &str,
        level: Level,
        runs: &[&RunRecord],
        read: &RankReader,
    ) -> Result<Self, Error> {
        let mut ranks: Vec<Vec<f64>> = Vec::new();
        for run in runs {
            for (rank, samples) in read(run)?.into_iter().enumerate() {
                match ranks.get_mut(rank) {
                    Some(of_rank) => of_rank.extend(samples),
                    None => ranks.push(samples),
                }
            }
        }
        let mut picture = RankPicture {
            case: case.into(),
            level,
            runs: runs.len(),
            n: ranks.iter().map(Vec::len).collect(),
            quantiles_ns: Vec::new(),
        };
        for samples in ranks {
            let sorted = jitterlab_stats::sorted(&samples).map_err(|source| Error::Statistics {
                what: format!("{case}, {level}"),
                source,
            })?;
            picture
                .quantiles_ns
                .push(RankPicture::SHARES.map(|share| quantile(&sorted, share)));
        }
        Ok(picture)
    }
}

/// The excess under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct ExcessPicture {
    /// Over which link.
    pub link: Link,
    /// The load in percent.
    pub percent: u8,
    /// Number of samples it is drawn from.
    pub n: usize,
    /// Where they lie.
    pub histogram: Shares,
}

impl ExcessPicture {
    /// The picture of an excess in nanoseconds, in ascending order and not empty.
    pub fn of(link: &Link, percent: u8, excess: &[f64]) -> Self {
        ExcessPicture {
            link: link.clone(),
            percent,
            n: excess.len(),
            histogram: Shares::of(excess, 0.0),
        }
    }
}

/// Shares of samples in bins of equal width.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// The bins, in nanoseconds.
    pub bins: Bins,
    /// Share of all samples in each bin.
    pub shares: Vec<f64>,
    /// Share of the samples beyond the last bin.
    pub beyond: f64,
}

/// Bins of a histogram.
const BINS: usize = 60;
/// The histogram ends at this quantile: the tail would squeeze everything else to a line.
const SHOWN: f64 = 0.99;

impl Shares {
    /// The histogram of samples in nanoseconds, in ascending order, not empty and not below `start_ns`.
    fn of(sorted: &[f64], start_ns: f64) -> Self {
        let end = quantile(sorted, SHOWN).max(start_ns + 1.0);
        let bins = Bins::linear(start_ns, end, BINS);
        let (shown, beyond) = sorted.split_at(sorted.partition_point(|&x| x < end));
        let share = |count| count as f64 / sorted.len() as f64;
        Shares {
            shares: bins.of_sorted(shown).into_iter().map(share).collect(),
            beyond: share(beyond.len() as u64),
            bins,
        }
    }

    /// The beginning, in nanoseconds.
    pub fn start_ns(&self) -> f64 {
        self.bins.edges()[0]
    }

    /// The end, in nanoseconds.
    pub fn end_ns(&self) -> f64 {
        self.bins.edges()[self.bins.count()]
    }
}

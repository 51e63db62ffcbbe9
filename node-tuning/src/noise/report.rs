//! The report of a run, as it is written to files and read again.

use jitterlab_base::clock::{Clock, Source};
use jitterlab_stats::histogram::Histogram;
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::counters::Count;
use super::probe::Spun;
use super::record::Record;
use super::tracers::Tracers;
use super::who::{Who, attribute};
use crate::cpus::Cpu;

/// A run of [`super::Noise`]. Times are in nanoseconds, shares from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseReport {
    /// The node.
    pub host: String,
    /// Its kernel's release; empty if it could not be read.
    pub kernel: String,
    /// The clock that was read in the loop.
    pub clock: Source,
    /// The time of an undisturbed iteration: measured before the run.
    pub iteration_ns: f64,
    /// A longer time between two readings is a gap.
    pub threshold_ns: u64,
    /// The duration that was asked for.
    pub duration_ns: u64,
    /// The length of each interval of [`Core::intervals`].
    pub interval_ns: u64,
    /// One for each CPU, ascending.
    pub cores: Vec<Core>,
    /// Counters that could not be read, and why.
    pub not_counted: Vec<String>,
    /// The findings of the kernel's tracers, where they were asked.
    pub tracers: Option<Tracers>,
}

/// The findings on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// The CPU.
    pub cpu: Cpu,
    /// The time from the common beginning to the last reading.
    pub observed_ns: u64,
    /// Readings of the clock.
    pub iterations: u64,
    /// The mean of those iterations that were no gap.
    pub iteration_ns: f64,
    /// The number of gaps.
    pub gaps: u64,
    /// The same a second.
    pub gaps_per_s: f64,
    /// The time of all gaps. A gap is as long as the time between its two readings, so one iteration of the
    /// loop is in it.
    pub lost_ns: u64,
    /// The same in proportion to the time observed.
    pub lost_share: f64,
    /// The longest gap; 0 if there was none.
    pub longest_ns: u64,
    /// The lengths of the gaps that were kept; nothing if there was none.
    pub lengths_ns: Option<Summary>,
    /// The lengths of all gaps, in nanoseconds.
    pub histogram: Histogram,
    /// The run in equal parts.
    pub intervals: Intervals,
    /// The gaps one by one.
    pub recorded: Recorded,
    /// The sources of the noise.
    pub who: Who,
}

/// The run in equal parts, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// Gaps that began in each.
    pub gaps: Vec<u64>,
    /// The time that was lost in each.
    pub lost_ns: Vec<u64>,
}

/// The gaps one by one, as far as there was memory for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// True if these are all. Otherwise they are the first [`super::record::KEPT`].
    pub complete: bool,
    /// When each began, from the beginning of the run.
    pub starts_ns: Vec<u64>,
    /// The length of each gap.
    pub lengths_ns: Vec<u64>,
}

impl Core {
    /// The findings of a thread, with the counts on its CPU.
    pub fn of(spun: &Spun, clock: &Clock, counts: Vec<Count>) -> Self {
        let record = &spun.record;
        let recorded = Recorded::of(record, clock, spun.begin);
        let observed_ns = clock.ticks_to_ns(spun.end - spun.begin);
        let lost_ns = clock.ticks_to_ns(record.lost());
        let undisturbed = spun.iterations.saturating_sub(record.count()).max(1);
        let lengths: Vec<f64> = recorded.lengths_ns.iter().map(|&ns| ns as f64).collect();
        let all = recorded.complete.then_some(&recorded.lengths_ns[..]);
        Core {
            cpu: spun.cpu,
            observed_ns,
            iterations: spun.iterations,
            iteration_ns: (observed_ns - lost_ns) as f64 / undisturbed as f64,
            gaps: record.count(),
            gaps_per_s: record.count() as f64 * 1e9 / observed_ns as f64,
            lost_ns,
            lost_share: lost_ns as f64 / observed_ns as f64,
            longest_ns: clock.ticks_to_ns(record.longest()),
            // Nothing has no summary.
            lengths_ns: Summary::of(&lengths).ok(),
            histogram: record.lengths().clone(),
            intervals: Intervals {
                gaps: record.intervals().iter().map(|i| i.gaps).collect(),
                lost_ns: record
                    .intervals()
                    .iter()
                    .map(|i| clock.ticks_to_ns(i.lost))
                    .collect(),
            },
            who: attribute(record.count(), all, counts, spun.thread),
            recorded,
        }
    }
}

impl Recorded {
    fn of(record: &Record, clock: &Clock, begin: u64) -> Self {
        let gaps = record.gaps();
        Recorded {
            complete: record.count() == gaps.len() as u64,
            starts_ns: gaps
                .iter()
                .map(|gap| clock.ticks_to_ns(gap.start - begin))
                .collect(),
            lengths_ns: gaps
                .iter()
                .map(|gap| clock.ticks_to_ns(gap.length))
                .collect(),
        }
    }
}

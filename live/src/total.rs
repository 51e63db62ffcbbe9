//! The total of what has been published so far, from the updates that tell of it.

use std::collections::BTreeMap;

use jitterlab_stats::histogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::page::{Count, Timing};

/// The figures that a rank of a parallel program has published for the measured part; times in nanoseconds, 0 without a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    /// Samples.
    pub samples: u64,
    /// Their median.
    pub median_ns: u64,
    /// Their 99th percentile.
    pub p99_ns: u64,
    /// The highest.
    pub max_ns: u64,
    /// Iterations that are done.
    pub iterations: u64,
}

/// The changes since the update before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// The number of the part that is measured, counted from 1.
    pub part: u64,
    /// The name of the part.
    pub label: String,
    /// Samples of the parts before, all of them.
    pub before: u64,
    /// The highest sample of the part so far, in nanoseconds.
    pub max_ns: u64,
    /// The other counts so far, if there are any.
    pub counts: BTreeMap<Count, u64>,
    /// When messages are sent, where that was said.
    #[serde(deserialize_with = "Option::deserialize")]
    pub timing: Option<Timing>,
    /// The figures of each rank so far, if pages name ranks.
    pub ranks: BTreeMap<u64, Rank>,
    /// True if `more` are all samples of the part, and not only those since the update before.
    pub starts_over: bool,
    /// Samples of the part, in nanoseconds.
    pub more: Histogram,
}

/// All that has been published.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Total {
    /// The number of the part that is measured, counted from 1; 0 before the first.
    pub part: u64,
    /// The name of the part.
    pub label: String,
    /// Samples of the parts before.
    pub before: u64,
    /// The highest sample of the part, in nanoseconds.
    pub max_ns: u64,
    /// The other things that were counted.
    pub counts: BTreeMap<Count, u64>,
    /// When messages are sent, where that was said.
    #[serde(deserialize_with = "Option::deserialize")]
    pub timing: Option<Timing>,
    /// The figures of each rank, if pages name ranks.
    pub ranks: BTreeMap<u64, Rank>,
    /// Samples of the part, in nanoseconds.
    pub histogram: Histogram,
}

impl Total {
    /// Takes in the next update.
    pub fn take(&mut self, update: Update) {
        if update.starts_over {
            self.histogram = update.more;
        } else {
            self.histogram.add(&update.more);
        }
        self.part = update.part;
        self.label = update.label;
        self.before = update.before;
        self.max_ns = update.max_ns;
        self.counts = update.counts;
        self.timing = update.timing;
        self.ranks = update.ranks;
    }

    /// Several of them added up. Their part is the latest that any is at; samples of other parts are those of parts before.
    pub fn together<'a>(all: impl Iterator<Item = &'a Total> + Clone) -> Total {
        let Some(latest) = all.clone().max_by_key(|total| total.part) else {
            return Total::default();
        };
        let mut sum = Total {
            part: latest.part,
            label: latest.label.clone(),
            timing: latest.timing,
            ..Total::default()
        };
        for total in all {
            sum.before += total.before;
            sum.ranks.extend(&total.ranks);
            for (&count, n) in &total.counts {
                *sum.counts.entry(count).or_default() += n;
            }
            if total.part == sum.part {
                sum.max_ns = sum.max_ns.max(total.max_ns);
                sum.histogram.add(&total.histogram);
            } else {
                sum.before += total.histogram.count();
            }
        }
        sum
    }

    /// The number of iterations that are done, and of all; `None` for what has none.
    pub fn iterations(&self) -> Option<(u64, u64)> {
        let planned = *self.counts.get(&Count::Planned)?;
        Some((self.counted(Count::Iterations), planned))
    }

    /// The count so far; 0 of what is not counted.
    pub fn counted(&self, count: Count) -> u64 {
        self.counts.get(&count).copied().unwrap_or(0)
    }

    /// Samples of all parts.
    pub fn samples(&self) -> u64 {
        self.before + self.histogram.count()
    }
}

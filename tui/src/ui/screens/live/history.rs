//! The measurements, second by second: for pictures over time. Its memory is taken once, and work is by classes of sizes, however many
//! samples there are.

use jitterlab_live::{Count, Total};
use jitterlab_stats::histogram::{Bins, Histogram};

use crate::ui::parts::sweep::Sweep;

/// Classes of an octave, as bits: each class is wider than the one before by about a hundredth.
const FINENESS: u32 = 6;
/// Classes for all that a [`Histogram`] counts.
const CLASSES: usize = (42 << FINENESS) + (1 << FINENESS);

/// The counts beside samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Done {
    /// Iterations.
    pub iterations: u64,
    /// Messages, and their bytes.
    pub messages: u64,
    pub bytes: u64,
}

impl Done {
    /// So far.
    pub fn of(total: &Total) -> Self {
        Done {
            iterations: total.counted(Count::Iterations),
            messages: total.counted(Count::Messages),
            bytes: total.counted(Count::Bytes),
        }
    }

    /// Since it was `before`.
    pub fn since(self, before: Done) -> Self {
        Done {
            iterations: self.iterations.saturating_sub(before.iterations),
            messages: self.messages.saturating_sub(before.messages),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }
}

/// A second.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// Samples.
    pub samples: u64,
    /// Median and 99.9th percentile, in nanoseconds, of one that has samples.
    pub median: u64,
    pub tail: u64,
    /// The counts in it.
    pub done: Done,
    /// Samples by class of size.
    classes: Box<[u32]>,
}

impl Slice {
    fn new() -> Self {
        Slice {
            samples: 0,
            median: 0,
            tail: 0,
            done: Done::default(),
            classes: vec![0; CLASSES].into_boxed_slice(),
        }
    }

    /// Becomes another second, in the memory that it has.
    fn fill(&mut self, samples: &Histogram, done: Done) {
        self.samples = samples.count();
        self.median = samples.quantile(0.5).unwrap_or_default();
        self.tail = samples.quantile(0.999).unwrap_or_default();
        self.done = done;
        self.classes.fill(0);
        for (lowest, _, count) in samples.buckets() {
            let held = &mut self.classes[class(lowest)];
            *held = held.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    /// Writes the share of its samples in each bin of an axis into `shares`, one a bin. Samples beyond either end are in the bin
    /// at that end.
    pub fn shares(&self, axis: &Bins, shares: &mut [f64]) {
        shares.fill(0.0);
        let counted = self.classes.iter().enumerate().filter(|(_, n)| **n > 0);
        for (class, &count) in counted {
            if let Some(share) = shares.get_mut(axis.place(middle(class))) {
                *share += f64::from(count) / self.samples as f64;
            }
        }
    }
}

/// The class of a time in nanoseconds.
fn class(ns: u64) -> usize {
    let shift = (ns | (1 << FINENESS)).ilog2() - FINENESS;
    (((shift as usize) << FINENESS) + (ns >> shift) as usize).min(CLASSES - 1)
}

/// A time in the middle of a class.
fn middle(class: usize) -> f64 {
    let shift = (class >> FINENESS).saturating_sub(1);
    let lowest = (class - (shift << FINENESS)) << shift;
    lowest as f64 + 0.5 * ((1u64 << shift) - 1) as f64
}

/// The seconds that are kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History(Sweep<Slice>);

impl History {
    /// Adds a second: its samples, in nanoseconds, and what was done in it.
    pub fn add(&mut self, samples: &Histogram, done: Done) {
        self.0.next(Slice::new).fill(samples, done);
    }

    /// The seconds, by column.
    pub fn seconds(&self) -> &Sweep<Slice> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_narrow_and_ascend() {
        let mut before = 0;
        for ns in [
            0,
            1,
            63,
            64,
            65,
            100,
            127,
            128,
            1_000,
            10_000,
            123_456,
            1 << 41,
        ] {
            let class = class(ns);
            assert!(class >= before, "{ns}");
            before = class;
            assert!(
                (middle(class) - ns as f64).abs() <= ns as f64 / 64.0,
                "{ns}"
            );
        }
        assert!(class(u64::MAX) < CLASSES);
    }

    #[test]
    fn shares_of_a_second_are_those_of_its_samples() {
        let mut history = History::default();
        history.add(
            &Histogram::of(&[10_000.0, 10_000.0, 10_000.0, 90_000.0]),
            Done::default(),
        );
        let axis = Bins::logarithmic(1e3, 1e6, 3);
        let mut shares = [0.0; 3];
        history
            .seconds()
            .columns(9)
            .next()
            .unwrap()
            .1
            .shares(&axis, &mut shares);
        assert_eq!(shares, [0.0, 1.0, 0.0]);
    }
}

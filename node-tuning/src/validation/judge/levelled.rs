//! Measurements, with drift taken off.

use std::collections::BTreeMap;

use super::{Measurement, Pair};
use crate::validation::additive::median;

/// Measurements as logarithms, without what their repetitions have in common.
pub struct Levelled {
    /// The repetitions of each pair.
    pub of: BTreeMap<Pair, Vec<f64>>,
}

impl Levelled {
    /// Of measurements in any order.
    pub fn of(measurements: &[Measurement]) -> Self {
        let mut pairs: BTreeMap<Pair, Vec<(u32, f64)>> = BTreeMap::new();
        for m in measurements {
            let (a, b) = m.pair;
            let repetitions = pairs.entry((a.min(b), a.max(b))).or_default();
            repetitions.push((m.repetition, m.rtt_ns.ln()));
        }
        // Against the pair's own level, so that a pair that is missing in one does not move it.
        let mut levels: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for repetitions in pairs.values() {
            let own = median(repetitions.iter().map(|&(_, y)| y).collect()).unwrap_or(0.0);
            for &(repetition, y) in repetitions {
                levels.entry(repetition).or_default().push(y - own);
            }
        }
        let levels: BTreeMap<u32, f64> = levels
            .into_iter()
            .map(|(repetition, shifts)| (repetition, median(shifts).unwrap_or(0.0)))
            .collect();
        let levelled = pairs.into_iter().map(|(pair, repetitions)| {
            let values = repetitions.into_iter();
            (pair, values.map(|(r, y)| y - levels[&r]).collect())
        });
        Levelled {
            of: levelled.collect(),
        }
    }

    /// The value of each pair: the median of its repetitions.
    pub fn values(&self) -> BTreeMap<Pair, f64> {
        let value = |repetitions: &Vec<f64>| median(repetitions.clone()).unwrap_or(0.0);
        self.of.iter().map(|(&p, r)| (p, value(r))).collect()
    }

    /// Repetitions of the pair that has most.
    pub fn repetitions(&self) -> usize {
        self.of.values().map(Vec::len).max().unwrap_or(0)
    }
}

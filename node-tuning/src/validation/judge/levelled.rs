//! Measurements, with drift taken off.

use std::collections::BTreeMap;

use super::{Measurement, Pair};
use crate::validation::additive::median;

/// Measurements as logarithms, without what those of a block have in common.
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
            repetitions.push((m.block, m.rtt_ns.ln()));
        }
        // Against the pair's own level, so that it does not matter which pairs a block has.
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut shifts: BTreeMap<Pair, Vec<(u32, f64, f64)>> = BTreeMap::new();
        for (pair, repetitions) in pairs {
            let own = median(repetitions.iter().map(|&(_, y)| y).collect()).unwrap_or(0.0);
            for (block, y) in repetitions {
                blocks.entry(block).or_default().push(y - own);
                shifts.entry(pair).or_default().push((block, y, y - own));
            }
        }
        for block in blocks.values_mut() {
            block.sort_unstable_by(f64::total_cmp);
        }
        let levelled = shifts.into_iter().map(|(pair, repetitions)| {
            let values = repetitions.into_iter();
            let level = |(block, y, shift)| y - median_without(&blocks[&block], shift);
            (pair, values.map(level).collect())
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

/// The median of the others in a sorted block; 0 where there are none. With itself among them, a measurement
/// would pull its level after it, and repetitions would scatter less than they do.
fn median_without(block: &[f64], own: f64) -> f64 {
    let place = block.partition_point(|&shift| shift < own);
    let others = block.len().saturating_sub(1);
    let other = |index: usize| block[if index < place { index } else { index + 1 }];
    match others {
        0 => 0.0,
        n => f64::midpoint(other((n - 1) / 2), other(n / 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_is_left_out_of_the_median(
            mut block in proptest::collection::vec(-9i32..9, 2..9), index: prop::sample::Index
        ) {
            block.sort_unstable();
            let block: Vec<f64> = block.into_iter().map(f64::from).collect();
            let index = index.index(block.len());
            let mut others = block.clone();
            let own = others.remove(index);
            prop_assert_eq!(median_without(&block, own), median(others).unwrap());
        }
    }

    #[test]
    fn what_a_block_has_in_common_is_taken_off() {
        let measurement = |pair, block, rtt_ns| Measurement {
            pair,
            block,
            rtt_ns,
        };
        let pairs = [(0, 1), (2, 3), (0, 2), (3, 1)];
        let measured = (0..3).flat_map(|block| {
            let factor = [1.0, 1.5, 0.9][block as usize];
            pairs.map(|pair| measurement(pair, block, (10.0 + pair.0 as f64) * factor))
        });
        let levelled = Levelled::of(&measured.collect::<Vec<_>>());
        for (pair, values) in levelled.of {
            let from = if pair == (1, 3) { 3 } else { pair.0 };
            for value in values {
                assert!((value - (10.0 + from as f64).ln()).abs() < 1e-12);
            }
        }
        let alone = Levelled::of(&[measurement((0, 1), 0, 10.0)]);
        assert_eq!(alone.of[&(0, 1)], [10f64.ln()]);
    }
}

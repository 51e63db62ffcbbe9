//! Measurements, with drift taken off.

use std::collections::BTreeMap;
use std::ops::Range;

use super::measurement::{Measurement, Pair};
use crate::validation::additive::median;

/// Others that drift is estimated from, at least. Of fewer, the median would follow each of them; more are further
/// away in time.
const OTHERS: usize = 8;
/// Drift and the pairs' own levels are estimated in turn, as often as this at most: in an experiment that
/// drifts by a quarter, three times halve what is left of it, and later ones change little.
const PASSES: usize = 10;
/// Levels that change by less, as a share, are found.
const FOUND: f64 = 1e-6;

/// Measurements as logarithms, without what those that were made at about the same time have in common.
pub struct Levelled {
    /// The repetitions of each pair.
    pub of: BTreeMap<Pair, Vec<f64>>,
}

impl Levelled {
    /// The levels of measurements in any order.
    ///
    /// A measurement is taken for its pair's own level plus the drift of its moment. Drift is what the others
    /// that were measured next to it exceed their pairs' levels by, in the median: a pair's level is
    /// the median of its repetitions without their drift. Each is needed for the other, so they are
    /// found in turn.
    pub fn of(measurements: &[Measurement]) -> Self {
        let series = Series::of(measurements);
        let mut drift = vec![0.0; series.observations.len()];
        let mut levels = series.levels(&drift);
        for _ in 0..PASSES {
            drift = series.drift(&levels);
            let found = series.levels(&drift);
            let changes = levels
                .iter()
                .zip(&found)
                .map(|(a, b): (&f64, &f64)| (a - b).abs());
            let change = changes.fold(0.0, f64::max);
            levels = found;
            if change < FOUND {
                break;
            }
        }
        Levelled {
            of: series
                .pairs
                .iter()
                .copied()
                .zip(series.by_pair(&drift))
                .collect(),
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

/// Measurements in the order of their moments.
struct Series {
    pairs: Vec<Pair>,
    /// The place of the pair among `pairs`, and the logarithm of the latency.
    observations: Vec<(usize, f64)>,
    /// The observations of each moment, and those that its drift is estimated from.
    moments: Vec<(Range<usize>, Range<usize>)>,
}

impl Series {
    fn of(measurements: &[Measurement]) -> Self {
        let pair = |m: &Measurement| (m.pair.0.min(m.pair.1), m.pair.0.max(m.pair.1));
        let mut pairs: Vec<Pair> = measurements.iter().map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut sorted: Vec<&Measurement> = measurements.iter().collect();
        sorted.sort_by_key(|m| m.moment);
        let observation = |m: &&Measurement| {
            let place = pairs.partition_point(|&other| other < pair(m));
            (place, m.rtt_ns.ln())
        };
        Series {
            observations: sorted.iter().map(observation).collect(),
            moments: moments(&sorted),
            pairs,
        }
    }

    /// The repetitions of each pair, without drift.
    fn by_pair(&self, drift: &[f64]) -> Vec<Vec<f64>> {
        let mut repetitions = vec![Vec::new(); self.pairs.len()];
        for (&(pair, y), drift) in self.observations.iter().zip(drift) {
            repetitions[pair].push(y - drift);
        }
        repetitions
    }

    /// The level of each pair: the median of its repetitions, without drift.
    fn levels(&self, drift: &[f64]) -> Vec<f64> {
        let repetitions = self.by_pair(drift).into_iter();
        repetitions.map(|all| median(all).unwrap_or(0.0)).collect()
    }

    /// The drift of each observation, where pairs have these levels.
    fn drift(&self, levels: &[f64]) -> Vec<f64> {
        let observations = self.observations.iter();
        let excess: Vec<f64> = observations.map(|&(pair, y)| y - levels[pair]).collect();
        let mut drift = Vec::with_capacity(excess.len());
        for (own, near) in &self.moments {
            let mut sorted = excess[near.clone()].to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            drift.extend(own.clone().map(|one| median_without(&sorted, excess[one])));
        }
        drift
    }
}

/// The places of each moment's measurements, and of those around it that its drift is estimated from:
/// as many moments before and after it as it takes to have enough of them.
fn moments(sorted: &[&Measurement]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut own: Vec<Range<usize>> = Vec::new();
    for moment in sorted.chunk_by(|a, b| a.moment == b.moment) {
        let start = own.last().map_or(0, |last| last.end);
        own.push(start..start + moment.len());
    }
    let last = own.len().saturating_sub(1);
    let near = |middle: usize| {
        let reach = |steps: usize| {
            own[middle.saturating_sub(steps)].start..own[(middle + steps).min(last)].end
        };
        let enough = (0..=last).find(|&steps| reach(steps).len() > OTHERS);
        reach(enough.unwrap_or(last))
    };
    (0..own.len())
        .map(|moment| (own[moment].clone(), near(moment)))
        .collect()
}

/// The median of the others among sorted values; 0 where there are none. With itself among them, a measurement
/// would pull its level after it, and repetitions would scatter less than they do.
fn median_without(sorted: &[f64], own: f64) -> f64 {
    let place = sorted.partition_point(|&value| value < own);
    let others = sorted.len().saturating_sub(1);
    let other = |index: usize| sorted[if index < place { index } else { index + 1 }];
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
            mut values in proptest::collection::vec(-9i32..9, 2..9), index: prop::sample::Index
        ) {
            values.sort_unstable();
            let sorted: Vec<f64> = values.into_iter().map(f64::from).collect();
            let index = index.index(sorted.len());
            let mut others = sorted.clone();
            let own = others.remove(index);
            prop_assert_eq!(median_without(&sorted, own), median(others).unwrap());
        }
    }

    fn measurement(pair: Pair, moment: u32, rtt_ns: f64) -> Measurement {
        Measurement {
            pair,
            moment,
            rtt_ns,
        }
    }

    /// Every pair of seven once in each repetition, one at a time, while everything grows slower.
    #[test]
    fn drift_is_taken_off_whole_where_it_is_all_there_is() {
        let pairs: Vec<Pair> = (0..7).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let latency = |(a, b): Pair| 10.0 + (a * b) as f64;
        let measured = (0..40 * pairs.len()).map(|moment| {
            // No pair is always measured after the same others.
            let pair = pairs[(moment * 5 + moment / pairs.len()) % pairs.len()];
            // A step up and down again, in the middle of whatever is being measured.
            let drift = if moment % 97 < 45 { 1.3 } else { 1.0 };
            measurement(pair, moment as u32, latency(pair) * drift)
        });
        let levelled = Levelled::of(&measured.collect::<Vec<_>>());
        let values = levelled.values();
        let typical = values[&(0, 1)] - latency((0, 1)).ln();
        for (&pair, value) in &values {
            let beyond = value - latency(pair).ln() - typical;
            assert!(beyond.abs() < 0.01, "{pair:?} {beyond}");
        }
    }

    #[test]
    fn nobody_is_near_a_measurement_that_is_alone() {
        let alone = Levelled::of(&[measurement((0, 1), 0, 10.0)]);
        assert_eq!(alone.of[&(0, 1)], [10f64.ln()]);
    }

    #[test]
    fn those_near_are_of_the_same_moment_or_the_next_ones() {
        let at = |moment| measurement((0, 1), moment, 1.0);
        let near = |moments: &[u32]| {
            let series = Series::of(&moments.iter().map(|&m| at(m)).collect::<Vec<_>>());
            let near = series.moments.into_iter().map(|(_, near)| near);
            near.collect::<Vec<_>>()
        };
        assert_eq!(near(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4]), [0..9, 0..11]);
        assert_eq!(near(&[3, 1, 2]), [0..3, 0..3, 0..3]);
        assert_eq!(near(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])[5], 1..10);
    }
}

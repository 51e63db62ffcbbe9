//! The step of the clock that took samples: it limits how finely they tell one value from another.

/// Distances that are looked at, at most; more do not make the step any surer.
const MOST: usize = 100_000;
/// The share of distances, by weight, that may be shorter than the step: a second clock, or a mistake.
const STRAYS: f64 = 0.05;
/// The share of samples that have to lie at a step from others for the steps to be seen at all. Where nearly all samples
/// are equal, the distances to the few others say nothing of the clock.
const SEEN: f64 = 0.1;

/// The resolution of two sets of samples that are compared: the coarser one of the two, in the unit of the samples. A
/// difference below it is one that they cannot show. For samples in ascending order; `None` if all are equal.
///
/// The step of a set is the least distance between neighbouring values, robustly: each distance weighs as much as the
/// rarer one of its two values, and a twentieth of the weight is passed over. Samples that hardly repeat a value have a
/// step far below what a test of so many could show. Where neither set shows its step, it is the least distance between
/// any two values of both.
pub fn of_two_sorted(a: &[f64], b: &[f64]) -> Option<f64> {
    match (of_sorted(a), of_sorted(b)) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => least_distance(a, b),
    }
}

/// The step of one set of samples in ascending order; `None` if too few of them lie at a step from others.
pub fn of_sorted(sorted: &[f64]) -> Option<f64> {
    let runs = || sorted.chunk_by(|a, b| a == b);
    let stride = runs().count().div_ceil(MOST).max(1);
    // Distance and weight. The weight of all is summed before any is left out.
    let mut distances = Vec::new();
    let mut all = 0;
    for (i, (low, high)) in runs().zip(runs().skip(1)).enumerate() {
        let weight = low.len().min(high.len());
        all += weight;
        if i % stride == 0 {
            distances.push((high[0] - low[0], weight));
        }
    }
    if distances.is_empty() || (all as f64) < SEEN * sorted.len() as f64 {
        return None;
    }
    distances.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let weight: usize = distances.iter().map(|(_, weight)| weight).sum();
    let mut left = STRAYS * weight as f64;
    let step = distances.iter().find(|(_, weight)| {
        left -= *weight as f64;
        left < 0.0
    });
    step.map(|(distance, _)| *distance)
}

fn least_distance(a: &[f64], b: &[f64]) -> Option<f64> {
    let mut values: Vec<f64> = [a, b]
        .into_iter()
        .flat_map(|sorted| sorted.chunk_by(|a, b| a == b).map(|run| run[0]))
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let distances = values.windows(2).map(|pair| pair[1] - pair[0]);
    distances.min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sorted;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Exponential beyond 5 us, mean 800 ns, seen by a clock of this step.
    fn seen(seed: u64, n: usize, clock: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let draw = |_| clock(5_000.0 - 800.0 * random.random_range(1e-12f64..1.0).ln());
        sorted(&(0..n).map(draw).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_step_of_a_clock_is_found() {
        for n in [100, 1_000, 300_000] {
            let five = seen(1, n, |x| (x / 5.0).round() * 5.0);
            assert_eq!(of_sorted(&five), Some(5.0), "{n}");
            let whole = seen(2, n, f64::round);
            assert!(of_sorted(&whole).unwrap() <= 5.0, "{n}");
            // 24 MHz, in whole nanoseconds: steps of 41 and 42.
            let ticks = seen(3, n, |x| ((x / 41.666).floor() * 41.666).floor());
            assert!((41.0..=42.0).contains(&of_sorted(&ticks).unwrap()), "{n}");
            // The coarser of two counts.
            assert_eq!(of_two_sorted(&whole, &five), of_two_sorted(&five, &whole));
            assert!(of_two_sorted(&whole, &five) >= Some(5.0));
        }
        assert_eq!(of_sorted(&seen(4, 300_000, f64::round)), Some(1.0));
    }

    #[test]
    fn a_few_strays_do_not_hide_the_step() {
        let mut samples = seen(1, 10_000, |x| (x / 5.0).round() * 5.0);
        samples.extend((0..100).map(|i| 5_001.0 + f64::from(i)));
        assert_eq!(of_sorted(&sorted(&samples).unwrap()), Some(5.0));
    }

    #[test]
    fn without_a_clock_it_is_far_below_what_so_many_samples_show() {
        for n in [10, 100, 10_000, 300_000] {
            let step = of_sorted(&seen(5, n, |x| x)).unwrap();
            assert!(step < 800.0 / (n as f64).sqrt() / 2.0, "{n}: {step}");
        }
    }

    /// Nearly all equal: the distance to a few others is no step, but that between the two sets is.
    #[test]
    fn values_that_are_nearly_all_equal_show_no_step_of_their_own() {
        let around =
            |value: f64, far: f64| sorted(&[vec![value; 990], vec![far; 10]].concat()).unwrap();
        let (a, b) = (around(1_000.0, 1_500.0), around(1_005.0, 1_700.0));
        assert_eq!(of_sorted(&a), None);
        assert_eq!(of_two_sorted(&a, &b), Some(5.0));
        assert_eq!(of_two_sorted(&[7.0; 9], &[7.0; 4]), None);
        assert_eq!(of_two_sorted(&[7.0; 9], &[9.0; 4]), Some(2.0));
        assert_eq!(of_sorted(&[]), None);
    }
}

//! Confidence sequences, watched from the first observation to the last: how often the truth is outside at any time.

use jitterlab_stats::confidence_sequence::{LEAST, Sequence, shift};
use jitterlab_stats::special::{phi_inverse, two_sided_t_inverse};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const SERIES: usize = 1_000;
/// Blocks of a series; with one a second, eight minutes are watched.
const BLOCKS: usize = 480;

/// Latencies in nanoseconds: a first-order autoregression, as exponentials, so that they have a long upper tail.
struct Latencies {
    random: Xoshiro256PlusPlus,
    correlation: f64,
    state: f64,
}

impl Latencies {
    fn new(seed: u64, correlation: f64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let state = normal(&mut random);
        Latencies {
            random,
            correlation,
            state,
        }
    }

    fn next(&mut self) -> f64 {
        let fresh = (1.0 - self.correlation * self.correlation).sqrt();
        self.state = self.correlation * self.state + fresh * normal(&mut self.random);
        10_000.0 * (0.2 * self.state).exp()
    }

    /// The median of the next block.
    fn median(&mut self, samples: usize) -> f64 {
        let mut block: Vec<f64> = (0..samples).map(|_| self.next()).collect();
        *block.select_nth_unstable_by(samples / 2, f64::total_cmp).1
    }
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    phi_inverse(random.random_range(f64::MIN_POSITIVE..1.0))
}

/// Of so many series, those whose shift from a pinned one was held whenever somebody looked. Both come from the same, but
/// for a shift; so does the block statistic, whatever its expectation.
fn covered(correlation: f64, samples: usize) -> usize {
    const SHIFT: f64 = 700.0;
    let is_covered = |seed: &u64| {
        let mut pinned = Sequence::default();
        let mut before = Latencies::new(2 * seed, correlation);
        // Pinned after a while that differs.
        for _ in 0..LEAST + seed % 100 {
            pinned.add(before.median(samples));
        }
        let mut running = Sequence::default();
        let mut now = Latencies::new(2 * seed + 1, correlation);
        (0..BLOCKS).all(|_| {
            running.add(now.median(samples) + SHIFT);
            let held = shift(&pinned, &running, 0.95).unwrap();
            held.is_none_or(|it| it.low <= SHIFT && SHIFT <= it.high)
        })
    };
    (0..SERIES as u64).filter(is_covered).count()
}

#[test]
fn a_shift_is_held_as_long_as_one_watches() {
    // Correlation of neighbouring samples, and samples of a block: blocks are nearly independent, or less and less so.
    for (correlation, samples) in [(0.5, 20), (0.9, 40), (0.9, 8), (0.5, 1), (0.9, 1)] {
        let covered = covered(correlation, samples);
        println!(
            "correlation {correlation}, {samples} samples a block: {covered} of {SERIES} covered throughout"
        );
        assert!(covered * 100 >= SERIES * 94, "{covered}");
    }
}

/// What is asked above can be missed: intervals that are right for one look are not for many.
#[test]
fn an_interval_for_one_look_does_not_hold_for_many() {
    let is_covered = |seed: &u64| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(*seed);
        let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
        (0..BLOCKS).all(|_| {
            let x = normal(&mut random);
            (n, sum, squares) = (n + 1.0, sum + x, squares + x * x);
            let variance = (squares - sum * sum / n) / (n - 1.0);
            let half = two_sided_t_inverse(0.05, n - 1.0) * (variance / n).sqrt();
            n < LEAST as f64 || (sum / n).abs() <= half
        })
    };
    let covered = (0..SERIES as u64).filter(is_covered).count();
    println!("one look: {covered} of {SERIES} covered throughout");
    assert!(covered * 100 < SERIES * 85, "{covered}");
}

/// Watching for longer narrows it: it is of use.
#[test]
fn it_narrows_as_one_watches() {
    let mut series = Sequence::default();
    let mut latencies = Latencies::new(7, 0.5);
    let mut widths = Vec::new();
    for n in 1..=4_096u32 {
        series.add(latencies.median(20));
        let interval = series.interval(0.95).unwrap();
        assert!(u64::from(n) >= LEAST || interval.is_none());
        if n.is_power_of_two() && u64::from(n) > LEAST {
            widths.push(interval.map_or(f64::INFINITY, |it| it.high - it.low));
        }
    }
    assert!(widths.is_sorted_by(|a, b| a > b), "{widths:?}");
    assert!(*widths.last().unwrap() < 150.0, "{widths:?}");
}

#[test]
fn what_has_no_answer_is_told() {
    let mut equal = Sequence::default();
    assert_eq!(equal.mean(), None);
    for _ in 0..20 {
        equal.add(0.1);
        equal.add(f64::NAN);
    }
    assert_eq!(equal.count(), 20);
    let interval = equal.interval(0.95).unwrap().unwrap();
    assert_eq!((interval.low, interval.high), (0.1, 0.1));
    assert!(equal.interval(1.0).is_err());
    assert!(shift(&equal, &equal, 0.0).is_err());
    assert_eq!(shift(&equal, &Sequence::default(), 0.95), Ok(None));
}

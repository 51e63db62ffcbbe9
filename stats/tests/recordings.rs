//! Recordings as the unit of a comparison: how often two systems that are the same are said to differ.

use jitterlab_stats::sorted;
use jitterlab_stats::special::phi_inverse;
use jitterlab_stats::summary::{Summary, quantile};
use jitterlab_stats::welch;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Samples of a recording, in nanoseconds: a first-order autoregression about a mean that is the recording's own, as exponentials.
fn recording(random: &mut Xoshiro256PlusPlus) -> f64 {
    let mut normal = || phi_inverse(random.random_range(f64::MIN_POSITIVE..1.0));
    let own = 0.03 * normal();
    let mut state = normal();
    let samples: Vec<f64> = (0..200)
        .map(|_| {
            state = 0.9 * state + (1.0f64 - 0.81).sqrt() * normal();
            10_000.0 * (own + 0.1 * state).exp()
        })
        .collect();
    quantile(&sorted(&samples).unwrap(), 0.5)
}

#[test]
fn systems_that_are_the_same_differ_as_often_as_alpha_says() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(26);
    let mut side = || {
        let medians: Vec<f64> = (0..5).map(|_| recording(&mut random)).collect();
        Summary::of(&medians).unwrap()
    };
    let rejected = (0..2_000)
        .filter(|_| welch::test(&side(), &side(), 0.95).unwrap().p.unwrap() < 0.05)
        .count();
    println!("{rejected} of 2000 pairs rejected");
    assert!((70..=130).contains(&rejected), "{rejected}");
}

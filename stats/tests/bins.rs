//! Bins against counting one by one.

use jitterlab_stats::histogram::{Bins, Histogram};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn edges_are_where_they_are_said_to_be() {
    assert_eq!(Bins::linear(1.0, 3.0, 4).edges(), [1.0, 1.5, 2.0, 2.5, 3.0]);
    // Powers of two are exact: buckets lie on one side of them.
    let octaves = Bins::logarithmic(128.0, 2f64.powi(28), 21);
    let powers: Vec<f64> = (7..=28).map(|power| 2f64.powi(power)).collect();
    assert_eq!(octaves.edges(), powers);
    assert_eq!(Bins::linear(0.0, 1.0, 0).count(), 1);
}

#[test]
fn what_lies_beyond_an_end_is_counted_there() {
    let bins = Bins::logarithmic(10.0, 1000.0, 2);
    assert_eq!(bins.of_sorted(&[1.0, 99.0, 100.0, 1000.0, 1e9]), [2, 3]);
    let histogram = Histogram::of(&[1.0, 99.0, 100.0, 1000.0, 1e9]);
    assert_eq!(bins.of_histogram(&histogram), [2, 3]);
    // All samples are the same.
    assert_eq!(Bins::linear(7.0, 7.0, 3).of_sorted(&[7.0, 7.0]), [0, 0, 2]);
}

#[test]
fn a_bucket_across_an_edge_is_divided() {
    let mut histogram = Histogram::new();
    // A bucket of 4 values, from 4096 on.
    histogram.record_n(4_096, 100);
    let bins = Bins::linear(4_095.0, 4_101.0, 6);
    assert_eq!(bins.of_histogram(&histogram), [0, 25, 25, 25, 25, 0]);
}

proptest! {
    #[test]
    fn every_value_is_counted_once(
        samples in vec(0u32..5_000_000, 1..200),
        from in 1u32..1_000,
        width in 1u32..4_000_000,
        bins in 1usize..150,
    ) {
        let mut samples: Vec<f64> = samples.into_iter().map(f64::from).collect();
        samples.sort_by(f64::total_cmp);
        let (from, to) = (f64::from(from), f64::from(from + width));
        for bins in [Bins::linear(from, to, bins), Bins::logarithmic(from, to, bins)] {
            let n = samples.len() as u64;
            let counts = bins.of_sorted(&samples);
            prop_assert_eq!(counts.iter().sum::<u64>(), n);
            let spread = bins.of_histogram(&Histogram::of(&samples));
            prop_assert_eq!(spread.iter().sum::<u64>(), n);
            let mut below = 0;
            for (bin, &edge) in bins.edges()[1..bins.count()].iter().enumerate() {
                below += counts[bin];
                let true_one = samples.iter().filter(|&&sample| sample < edge).count() as u64;
                prop_assert_eq!(below, true_one);
            }
        }
    }
}

//! The histogram against the crate `hdrhistogram` and against sorted samples.

use jitterlab_stats::Error;
use jitterlab_stats::histogram::{Compact, Histogram, buckets};
use proptest::collection::vec;
use proptest::prelude::*;

fn reference() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_max(buckets::HIGHEST, buckets::DIGITS).unwrap()
}

/// Values of every magnitude, and some that have no bucket of their own.
fn values() -> impl Strategy<Value = u64> {
    (0u32..45, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1))
}

#[test]
fn every_bucket_is_the_one_that_hdrhistogram_has() {
    let reference = reference();
    assert_eq!(reference.distinct_values(), buckets::LEN);
    let mut next = 0;
    for (index, bucket) in reference.iter_all().enumerate() {
        let (lowest, highest) = buckets::range(index);
        assert_eq!((lowest, highest), (next, bucket.value_iterated_to()));
        assert_eq!(buckets::index(lowest), index);
        assert_eq!(buckets::index(highest), index);
        next = highest + 1;
    }
    assert_eq!(next, buckets::HIGHEST + 1);
    assert_eq!(buckets::index(u64::MAX), buckets::LEN - 1);
}

#[test]
fn of_nothing_there_is_nothing_to_say() {
    let empty = Histogram::new();
    assert!(empty.is_empty());
    assert_eq!(
        (empty.min(), empty.max(), empty.quantile(0.5)),
        (None, None, None)
    );
    assert_eq!(empty.buckets().count(), 0);
    assert_eq!(serde_json::to_string(&empty).unwrap(), "[]");
}

#[test]
fn a_file_says_values_and_counts() {
    let mut histogram = Histogram::of(&[-3.0, 7.4, 7.0, 5_001.0]);
    histogram.record(u64::MAX);
    let written = serde_json::to_string(&histogram).unwrap();
    assert_eq!(written, "[[0,1],[7,2],[5000,1],[4395899027456,1]]");
    let read: Histogram = serde_json::from_str(&written).unwrap();
    assert_eq!(read, histogram);
    let refused = serde_json::from_str::<Histogram>("[[5001,1]]").unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("no bucket of a histogram begins at 5001"),
        "{refused}"
    );
}

#[test]
fn a_difference_is_never_negative() {
    let earlier = Histogram::of(&[1.0, 5.0, 5.0]);
    let later = Histogram::of(&[1.0, 5.0, 9.0, 9.0]);
    assert!(matches!(
        later.since(&earlier),
        Err(Error::Parameter { .. })
    ));
}

proptest! {
    #[test]
    fn a_value_is_in_the_bucket_that_hdrhistogram_puts_it_into(value in values()) {
        let reference = reference();
        let clamped = value.min(buckets::HIGHEST);
        prop_assert_eq!(
            buckets::range(buckets::index(value)),
            (reference.lowest_equivalent(clamped), reference.highest_equivalent(clamped))
        );
    }

    #[test]
    fn counts_kept_elsewhere_are_those_recorded(values in vec(values(), 0..200)) {
        let mut counts = vec![0u64; buckets::LEN];
        let mut recorded = Histogram::new();
        for &value in &values {
            counts[buckets::index(value)] += 1;
            recorded.record(value);
        }
        prop_assert_eq!(Histogram::from_counts(counts), recorded);
    }

    #[test]
    fn quantiles_are_those_of_the_samples_to_a_thousandth(
        mut values in vec(values(), 1..200),
        share in 0.001f64..1.0,
    ) {
        let mut histogram = Histogram::new();
        for value in &mut values {
            *value = (*value).min(buckets::HIGHEST);
            histogram.record(*value);
        }
        values.sort_unstable();
        let close = |told: Option<u64>, true_one: u64| {
            let told = told.unwrap() as f64;
            (told - true_one as f64).abs() <= true_one as f64 / 1e3
        };
        let rank = (share * values.len() as f64).ceil() as usize;
        prop_assert!(close(histogram.quantile(share), values[rank - 1]));
        prop_assert!(close(histogram.min(), values[0]));
        prop_assert!(close(histogram.max(), values[values.len() - 1]));
        prop_assert_eq!(histogram.count(), values.len() as u64);
    }

    #[test]
    fn what_was_added_can_be_taken_away(
        first in vec(values(), 0..100),
        second in vec(values(), 0..100),
    ) {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            histogram
        };
        let mut both = of(&first);
        both.add(&of(&second));
        prop_assert_eq!(&both, &of(&[first.clone(), second.clone()].concat()));
        prop_assert_eq!(both.since(&of(&first)).unwrap(), of(&second));
        let written = serde_json::to_string(&both).unwrap();
        prop_assert_eq!(serde_json::from_str::<Histogram>(&written).unwrap(), both);
    }
}

proptest! {
    #[test]
    fn what_is_kept_is_what_was_counted(
        first in vec(values(), 0..50), second in vec(values(), 0..50),
    ) {
        let counted = |values: &[u64]| {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            histogram
        };
        let mut kept = Compact::of(first.iter().copied());
        prop_assert_eq!(&kept, &Compact::from(&counted(&first)));
        prop_assert_eq!(kept.is_empty(), first.is_empty());
        kept.add(&Compact::of(second.iter().copied()));
        let both = [first, second].concat();
        prop_assert_eq!(&Histogram::from(&kept), &counted(&both));
        let written = serde_json::to_string(&kept).unwrap();
        prop_assert_eq!(&written, &serde_json::to_string(&counted(&both)).unwrap());
        prop_assert_eq!(serde_json::from_str::<Compact>(&written).unwrap(), kept);
    }
}

#[test]
fn buckets_that_do_not_ascend_or_are_empty_are_refused() {
    for wrong in ["[[7,1],[7,1]]", "[[7,1],[3,1]]", "[[7,0]]", "[[5001,1]]"] {
        assert!(serde_json::from_str::<Compact>(wrong).is_err(), "{wrong}");
    }
}

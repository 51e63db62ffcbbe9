//! How early the helper of deferred sends gets up.

#[allow(dead_code)]
#[path = "../src/defer/margin.rs"]
mod margin;

use margin::{LEAST_NS, MOST_NS, Margin, SPARE_NS};

/// Long enough for every margin.
const LEFT_NS: u64 = 10 * MOST_NS;

fn margin_ns(margin: &Margin) -> u64 {
    LEFT_NS - margin.sleep_ns(LEFT_NS).unwrap()
}

fn after(sleeps: impl Iterator<Item = u64>) -> u64 {
    let margin = Margin::new();
    sleeps.for_each(|late_ns| margin.slept(late_ns));
    margin_ns(&margin)
}

#[test]
fn it_is_the_least_where_sleeps_are_hardly_late() {
    assert_eq!(margin_ns(&Margin::new()), LEAST_NS);
    assert_eq!(after((0..1000).map(|_| LEAST_NS - SPARE_NS)), LEAST_NS);
}

#[test]
fn it_follows_how_late_sleeps_are() {
    for late in [100_000, 250_000, 400_000] {
        let found = after((0..1000).map(|_| late));
        assert!(found.abs_diff(late + SPARE_NS) <= 20_000, "{late}: {found}");
    }
    // And back.
    let sleeps = (0..100).map(|_| 400_000).chain((0..1000).map(|_| 10_000));
    assert_eq!(after(sleeps), LEAST_NS);
}

#[test]
fn it_is_hardly_moved_by_a_few_that_are_very_late() {
    let sleeps = (0..1000).map(|i| if i % 50 == 49 { 5_000_000 } else { 20_000 });
    assert!(after(sleeps) <= LEAST_NS + 20_000);
    assert_eq!(after((0..1000).map(|_| u64::MAX)), MOST_NS);
}

#[test]
fn half_of_the_time_is_slept_however_late_sleeps_are() {
    let margin = Margin::new();
    (0..100).for_each(|_| margin.slept(MOST_NS));
    for left in [200_000, 500_000, 900_000] {
        assert_eq!(margin.sleep_ns(left), Some(left / 2));
    }
    assert_eq!(margin.sleep_ns(LEAST_NS), None);
    assert_eq!(margin.sleep_ns(LEAST_NS + 1), Some(1));
    assert_eq!(margin.sleep_ns(0), None);
}

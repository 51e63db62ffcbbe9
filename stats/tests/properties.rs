//! Fast algorithms against slow and obvious ones, and answers to samples that have none.

use jitterlab_stats::bootstrap::Bootstrap;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::moments::Moments;
use jitterlab_stats::repeated;
use jitterlab_stats::summary::{self, Ecdf, Summary};
use jitterlab_stats::{
    Error, correlation, fit, hodges_lehmann, imitation, ks, mann_whitney, wasserstein,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Few different values, so that ties are common.
fn tied() -> impl Strategy<Value = Vec<f64>> {
    vec((-5i32..5).prop_map(f64::from), 1..30)
}

fn spread() -> impl Strategy<Value = Vec<f64>> {
    vec(-1e6f64..1e6, 1..60)
}

fn either() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![tied(), spread()]
}

fn all_differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = a
        .iter()
        .flat_map(|x| b.iter().map(move |y| x - y))
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

proptest! {
    #[test]
    fn u_counts_pairs(a in either(), b in either()) {
        let u: f64 = all_differences(&a, &b)
            .iter()
            .map(|d| if *d > 0.0 { 1.0 } else if *d == 0.0 { 0.5 } else { 0.0 })
            .sum();
        let ours = mann_whitney::test(&a, &b).unwrap();
        prop_assert_eq!(ours.u, u);
        prop_assert!((0.0..=1.0).contains(&ours.p));
        let other = mann_whitney::test(&b, &a).unwrap();
        prop_assert!((ours.p - other.p).abs() < 1e-9);
        prop_assert!((ours.rank_biserial + other.rank_biserial).abs() < 1e-9);
    }

    #[test]
    fn the_shift_is_the_median_of_all_differences(a in either(), b in either()) {
        let all = all_differences(&a, &b);
        let median = f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2]);
        let ours = hodges_lehmann::shift(&a, &b, 0.95).unwrap();
        prop_assert_eq!(ours.interval.estimate, median);
        let test = mann_whitney::test(&a, &b).unwrap();
        let holds_none = ours.interval.low <= 0.0 && ours.interval.high >= 0.0;
        // Of one against 39 p can be 0.05, and the confidence 0.95.
        let near = 1e-9;
        prop_assert!(holds_none || test.p < 0.05 + near || ours.confidence < 0.95, "{:?}", ours);
        let rejected = test.p < 0.05 - near;
        let enough = ours.confidence > 0.95 + near;
        prop_assert!(!test.exact || !enough || holds_none != rejected, "{:?}", ours);
        prop_assert!(all.contains(&ours.interval.low) && all.contains(&ours.interval.high));
    }

    #[test]
    fn the_distance_is_the_area_between_quantile_functions(a in either(), n in 1usize..5) {
        // Against itself, repeated: nothing to move. Shifted: everything by the shift.
        let repeated: Vec<f64> = a.iter().copied().cycle().take(a.len() * n).collect();
        prop_assert!(wasserstein::distance(&a, &repeated).unwrap().abs() < 1e-6);
        let shifted: Vec<f64> = repeated.iter().map(|x| x + 3.0).collect();
        prop_assert!((wasserstein::distance(&a, &shifted).unwrap() - 3.0).abs() < 1e-6);
    }

    #[test]
    fn two_sample_tests_are_symmetric_and_see_no_difference_in_the_same(a in either(), b in either()) {
        let (one, other) = (ks::two_sample(&a, &b).unwrap(), ks::two_sample(&b, &a).unwrap());
        prop_assert!((one.d - other.d).abs() < 1e-12 && (one.p - other.p).abs() < 1e-9);
        prop_assert!((0.0..=1.0).contains(&one.p));
        let same = ks::two_sample(&a, &a).unwrap();
        prop_assert!(same.d == 0.0 && same.p == 1.0);
    }

    #[test]
    fn summaries_and_steps_are_in_order(a in either()) {
        let s = Summary::of(&a).unwrap();
        prop_assert!(s.min <= s.median && s.median <= s.p90 && s.p90 <= s.p99);
        prop_assert!(s.p99 <= s.p999 && s.p999 <= s.max && s.min <= s.mean && s.mean <= s.max);
        let ecdf = Ecdf::of(&a).unwrap();
        prop_assert_eq!(ecdf.at(s.max), 1.0);
        prop_assert_eq!(ecdf.at(s.min - 1.0), 0.0);
        prop_assert!(ecdf.at(s.median) >= 0.5);
    }

    #[test]
    fn a_fit_never_panics(a in either()) {
        if let Ok(fit) = fit::lognormal(&a) {
            prop_assert!(fit.distribution.mean().is_finite(), "{:?}", fit);
            prop_assert!(fit.log_likelihood.is_finite(), "{:?}", fit);
        }
        if let Ok(candidates) = imitation::candidates(&a) {
            for candidate in candidates {
                prop_assert!(candidate.distribution.mean().is_finite(), "{:?}", candidate);
                prop_assert!(candidate.closeness.distance.is_finite(), "{:?}", candidate);
            }
        }
    }

    #[test]
    fn cells_of_equal_chance_average_to_the_mean(
        shape in 0.01f64..2.0, location in -1e4f64..1e4, scale in 1.0f64..1e5
    ) {
        let d = Distribution::LogNormal { shape, location, scale };
        let cells = 512;
        let mean: f64 = (0..cells)
            .map(|i| d.mean_between(f64::from(i) / f64::from(cells), f64::from(i + 1) / f64::from(cells)))
            .sum::<f64>() / f64::from(cells);
        prop_assert!((mean - d.mean()).abs() < 1e-6 * (d.mean().abs() + scale), "{mean} {}", d.mean());
        prop_assert!((d.cdf(d.quantile(0.3)) - 0.3).abs() < 1e-9);
        prop_assert_eq!(d.to_string().parse(), Ok(d));
    }
}

#[test]
fn samples_without_an_answer_are_refused() {
    let nan = [1.0, f64::NAN, 2.0, 3.0, 4.0];
    assert!(matches!(
        Summary::of(&[]),
        Err(Error::TooFew { given: 0, .. })
    ));
    assert!(matches!(
        Summary::of(&nan),
        Err(Error::NotFinite { index: 1, .. })
    ));
    assert!(matches!(
        mann_whitney::test(&[], &[1.0]),
        Err(Error::TooFew { .. })
    ));
    assert!(matches!(
        mann_whitney::test(&[f64::INFINITY], &[1.0]),
        Err(Error::NotFinite { .. })
    ));
    assert!(matches!(
        hodges_lehmann::shift(&[1.0], &[2.0], 1.0),
        Err(Error::Parameter { .. })
    ));
    assert!(matches!(
        ks::lilliefors(&[2.0; 9]),
        Err(Error::NoVariation { .. })
    ));
    assert!(matches!(
        fit::lognormal(&[2.0; 9]),
        Err(Error::NoVariation { .. })
    ));
    assert!(matches!(
        correlation::pearson(&[1.0, 2.0, 3.0], &[1.0, 2.0], 0.95),
        Err(Error::Unpaired { left: 3, right: 2 })
    ));
    assert!(matches!(
        correlation::steiger(0.5, 1.0, 0.1, 10),
        Err(Error::Parameter { .. })
    ));
    let nothing = Bootstrap {
        resamples: 0,
        ..Bootstrap::default()
    };
    assert!(matches!(
        nothing.percentile(&[1.0], |x| x[0]),
        Err(Error::Parameter { .. })
    ));
    assert!(matches!(
        nothing.percentile_of_two(&[1.0], &[2.0], |a, b| a[0] - b[0]),
        Err(Error::Parameter { .. })
    ));
}

/// One sample says nothing of how the next would differ: no standard deviation, no interval of any width.
#[test]
fn too_few_samples_have_no_spread_and_no_interval() {
    let too_few = |needed: usize, given: usize| move |error: Error| matches!(error, Error::TooFew { needed: n, given: g, .. } if (n, g) == (needed, given));
    let bootstrap = Bootstrap::default();
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let many = [1.0, 2.0, 4.0, 8.0, 9.0];
    for few in [&many[..0], &many[..1]] {
        let n = few.len();
        assert!(summary::std(few).is_err_and(too_few(2, n)));
        assert!(summary::skew(few).is_err_and(too_few(3, n)));
        assert!(bootstrap.percentile(few, mean).is_err_and(too_few(2, n)));
        assert!(bootstrap.bca(few, mean).is_err_and(too_few(2, n)));
        for (a, b) in [(few, &many[..]), (&many[..], few)] {
            let found = bootstrap.percentile_of_two(a, b, |a, b| mean(a) - mean(b));
            assert!(found.is_err_and(too_few(2, n)));
            assert!(repeated::ratio(a, b, 0.95).is_err_and(too_few(2, n)));
        }
        assert!(repeated::mean(few, 0.95).is_err_and(too_few(2, n)));
        assert!(repeated::about(1.0, few, 0.95).is_err_and(too_few(2, n)));
        assert!(repeated::paired(few, 0.95).is_err_and(too_few(2, n)));
        assert!(correlation::pearson(few, few, 0.95).is_err_and(too_few(3, n)));
        assert!(ks::lilliefors(few).is_err_and(too_few(5, n)));
        assert!(fit::uniform(few).is_err_and(too_few(2, n)));
        assert!(fit::lognormal(few).is_err_and(too_few(3, n)));
        assert_eq!(Moments::of(few).std(), None);
    }
    assert_eq!(Moments::NONE.mean(), None);
    let run = |samples: &[f64]| repeated::segments(samples, 4);
    let runs = [run(&many), run(&[])];
    assert!(repeated::interval(&runs, &bootstrap, Moments::mean).is_err_and(too_few(1, 0)));
    let one = Summary::of(&many[..1]).unwrap();
    assert_eq!((one.mean, one.std, one.skew), (1.0, None, None));
    let two = Summary::of(&many[..2]).unwrap();
    assert!(two.std.is_some() && two.skew.is_none());
    assert!(Summary::of(&many[..3]).unwrap().skew.is_some());
    let single = Bootstrap {
        resamples: 1,
        ..bootstrap
    };
    assert!(matches!(
        single.percentile(&many, mean),
        Err(Error::Parameter { .. })
    ));
}

/// Of numbers that binary fractions do not hold, a mean is rounded; that is no variation.
#[test]
fn equal_samples_do_not_vary() {
    for n in [2, 3, 10, 1_000] {
        let equal = vec![0.1; n];
        assert_eq!(summary::std(&equal), Ok(0.0));
        let of = Summary::of(&equal).unwrap();
        assert_eq!((of.mean, of.std), (0.1, Some(0.0)));
        assert!(n < 3 || correlation::pearson(&equal, &equal, 0.95).is_err());
        assert!(n < 5 || matches!(ks::lilliefors(&equal), Err(Error::NoVariation { .. })));
        assert!(repeated::ratio(&equal, &equal, 0.95).is_err());
        assert!(repeated::paired(&equal, 0.95).is_err());
    }
}

/// All equal: no evidence of anything, and no division by zero.
#[test]
fn equal_samples_do_not_differ() {
    let equal = [4.0; 50];
    let ours = mann_whitney::test(&equal, &equal).unwrap();
    assert_eq!((ours.p, ours.rank_biserial), (1.0, 0.0));
    let shift = hodges_lehmann::shift(&equal, &equal, 0.95).unwrap();
    assert_eq!((shift.interval.high, shift.confidence), (0.0, 0.95));
}

/// By hand: of the 70 orders of 4 and 4, one has U = 0 and one U = 1.
#[test]
fn a_shift_that_the_test_does_not_see_may_be_none() {
    let (a, b) = ([1.0, 2.0, 3.0, 5.0], [4.0, 6.0, 7.0, 8.0]);
    let p = mann_whitney::test(&a, &b).unwrap().p;
    assert!((p - 4.0 / 70.0).abs() < 1e-12);
    let shift = hodges_lehmann::shift(&a, &b, 0.95).unwrap();
    assert_eq!((shift.interval.low, shift.interval.high), (-7.0, 1.0));
    assert!((shift.confidence - 68.0 / 70.0).abs() < 1e-12);
    // No two sets of three can be told apart at 5 %: the whole range has 90 %.
    let few = hodges_lehmann::shift(&a[..3], &b[1..], 0.95).unwrap();
    assert_eq!((few.interval.low, few.interval.high), (-7.0, -3.0));
    assert!((few.confidence - 0.9).abs() < 1e-12, "{few:?}");
}

#[test]
fn ties_at_the_least_are_named() {
    let mut coarse = vec![1_000.0; 640];
    coarse.extend((0..360).map(|i| 2_000.0 + f64::from(i % 9) * 1_000.0));
    assert!(matches!(
        fit::lognormal(&coarse),
        Err(Error::Ties {
            tied: 640,
            n: 1_000,
            ..
        })
    ));
}

#[test]
fn a_fit_comes_to_an_end_whatever_the_range() {
    for far in [1e18, 1e290, 1e306, f64::MAX] {
        if let Ok(fit) = fit::lognormal(&[1.0, 2.0, 3.0, far]) {
            assert!(fit.log_likelihood.is_finite(), "{far:e} {fit:?}");
        }
    }
    assert!(fit::lognormal(&[0.0, 0.0, 1e-300, 1e-310]).is_err());
}

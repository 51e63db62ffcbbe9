//! The tables that claimed to imitate a load before there was a gate, against an excess like the one that they were made from.

use jitterlab_injector::family::{Family, Member};
use jitterlab_injector::shape;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::imitation::Closeness;
use jitterlab_stats::{fit, sorted, summary};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Round trips of which the samples were not kept, in nanoseconds: what a load of 40 % added in the quick experiment had a mean of 16.7 us, a
/// standard deviation of 22.7 us, a distance of 15.8 us to a constant, and the lognormal of highest likelihood began at -0.18 us.
///
/// It is made again of the kinds of round trip that there are on a CPU which they share with a load: those that meet no message of it (half; the
/// shortest are shorter than the median one without load, and count as 0), and those that wait for one, for two, and for more.
fn excess() -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(40);
    let mut normal = |mean: f64, std: f64| {
        let [u, v]: [f64; 2] = [
            random.random_range(1e-12..1.0),
            random.random_range(0.0..1.0),
        ];
        mean + std * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let kinds = [
        (8_000, 750.0, 500.0),
        (2_300, 3_200.0, 1_000.0),
        (4_800, 14_000.0, 2_200.0),
        (2_400, 32_000.0, 5_000.0),
        (1_900, 57_000.0, 14_000.0),
        (600, 95_000.0, 18_000.0),
    ];
    let mut all = Vec::new();
    for (n, mean, std) in kinds {
        all.extend((0..n).map(|_| normal(mean, std).max(-150.0)));
    }
    all
}

/// What is negative cannot be injected.
fn injectable(excess: &[f64]) -> Vec<f64> {
    excess.iter().map(|x| x.max(0.0)).collect()
}

/// The five tables as they were made: the lognormal of highest likelihood, moved to the mean of the excess, whose delays below 0 were
/// raised to 0; the same with 75, 50 and 25 % of its scale; and the constant.
fn tables_of_then(excess: &[f64]) -> Vec<(&'static str, Distribution)> {
    let mean = summary::mean(&injectable(excess)).unwrap();
    let fitted = fit::lognormal(&sorted(excess).unwrap())
        .unwrap()
        .distribution;
    let Distribution::LogNormal { shape, scale, .. } = fitted else {
        panic!("{fitted}")
    };
    // Raising moves the mean: the location makes up for that.
    let moved = |share: f64| {
        let (shape, scale) = ((shape * shape - 2.0 * share.ln()).sqrt(), share * scale);
        let law = |location| Distribution::LogNormal {
            shape,
            location,
            scale,
        };
        let raised_mean = |location: f64| shape::table(&law(location), 1).table.mean();
        let (mut low, mut high) = (-1e6, mean);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            match raised_mean(middle) < mean {
                true => low = middle,
                false => high = middle,
            }
        }
        law(high)
    };
    vec![
        ("lognormal", moved(1.0)),
        ("scale75", moved(0.75)),
        ("scale50", moved(0.5)),
        ("scale25", moved(0.25)),
        ("uniform", Distribution::Constant { value: mean }),
    ]
}

#[test]
fn the_excess_is_like_the_one_that_was_measured() {
    let excess = injectable(&excess());
    let close = Closeness::between(&excess, &[summary::mean(&excess).unwrap()]).unwrap();
    let near = |what: &str, is: f64, was: f64| {
        assert!((is / was - 1.0).abs() < 0.06, "{what}: {is}, was {was}");
    };
    near("mean", summary::mean(&excess).unwrap(), 16_700.0);
    near("deviation", close.std_of_samples, 22_700.0);
    near(
        "distance of a constant",
        close.distance_of_constant,
        15_800.0,
    );
}

#[test]
fn the_gate_refuses_the_tables_of_then_and_passes_the_excess_itself() {
    let excess = excess();
    for (name, law) in tables_of_then(&excess) {
        let table = shape::table(&law, 1).table;
        let close = Closeness::between(&excess, &table.sorted()).unwrap();
        println!(
            "{name}: {law}: zeros {:.1} %, std {:.1} us, distance {:.1} us, of a constant {:.1} us: {:?}",
            100.0 * close.zeros,
            close.std / 1e3,
            close.distance / 1e3,
            close.distance_of_constant / 1e3,
            close.fault()
        );
        assert!(close.fault().is_some(), "{name}");
        if name == "lognormal" {
            assert!(close.zeros > 0.7 && close.std_ratio() > 4.0, "{close:?}");
        }
    }
    let family = Family::from_samples(&excess).unwrap();
    let empirical = family.fitted(Member::Empirical, 1).unwrap().made.table;
    let close = Closeness::between(&excess, &empirical.sorted()).unwrap();
    assert_eq!(close.fault(), None);
    assert!(close.distance < 70.0, "{close:?}");
    assert!((close.std_ratio() - 1.0).abs() < 1e-3, "{close:?}");
}

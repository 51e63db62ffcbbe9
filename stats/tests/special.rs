//! The special functions against mpmath (`reference/special.py`), over the whole range that samples can reach, and
//! what no table holds.

use std::path::Path;

use jitterlab_stats::special::{
    binomial, phi, phi_inverse, two_sided, two_sided_inverse, two_sided_t, two_sided_t_inverse,
};
use proptest::prelude::*;

/// The rows of a table of numbers. Not JSON, whose reader rounds the last digit of some.
fn table(name: &str) -> Vec<Vec<f64>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/special.csv");
    let file = std::fs::read_to_string(path).unwrap();
    let rows = file.lines().filter_map(|line| line.strip_prefix(name));
    rows.map(|row| row.split(',').skip(1).map(|x| x.parse().unwrap()).collect())
        .collect()
}

/// Prints the largest relative difference of all rows and bounds it.
#[track_caller]
fn largest(name: &str, rows: &[Vec<f64>], limit: f64, pair: impl Fn(&[f64]) -> (f64, f64)) {
    let apart = |row: &&Vec<f64>| {
        let (ours, theirs) = pair(row);
        (ours / theirs - 1.0).abs()
    };
    let worst = rows.iter().max_by(|a, b| apart(a).total_cmp(&apart(b)));
    let worst = worst.unwrap();
    let by = apart(&worst);
    println!(
        "{name}: {} values, largest relative difference {by:.1e}, at {worst:?}",
        rows.len()
    );
    assert!(by < limit, "{name}: {by:e} at {worst:?}: {:?}", pair(worst));
}

#[test]
fn students_t_is_mpmaths_from_1_to_2e9_degrees_of_freedom() {
    let rows = table("student");
    assert!(rows.iter().any(|row| row[0] == 2e9 && row[1] == 1e-300));
    largest("t, tails", &rows, 1e-12, |row| {
        (two_sided_t(row[2], row[0]), row[3])
    });
    largest("t, quantiles", &rows, 1e-13, |row| {
        (two_sided_t_inverse(row[1], row[0]), row[2])
    });
}

#[test]
fn the_normal_is_mpmaths_down_to_1e_300() {
    let rows = table("normal");
    assert!(rows.iter().any(|row| row[0] == 1e-300));
    largest("normal, tails", &rows, 1e-12, |row| {
        (two_sided(row[1]), row[2])
    });
    largest("normal, lower tail", &rows, 1e-12, |row| {
        (2.0 * phi(-row[1]), row[2])
    });
    largest("normal, quantiles", &rows, 1e-14, |row| {
        (two_sided_inverse(row[0]), row[1])
    });
    largest("normal, lower quantiles", &rows, 1e-14, |row| {
        (-phi_inverse(row[0] / 2.0), row[1])
    });
}

#[test]
fn the_binomial_is_mpmaths_for_up_to_1e9_trials() {
    let rows = table("binomial");
    largest("binomial", &rows, 1e-11, |row| {
        (binomial(row[0] as u64, row[1] as u64, row[2]), row[3])
    });
}

/// Closed forms, where the limits of the tables lie: 1 degree of freedom is Cauchy's distribution, infinitely many
/// are the normal.
#[test]
fn the_ends_have_their_values() {
    assert_eq!(two_sided_t(0.0, 5.0), 1.0);
    assert_eq!(two_sided_t(f64::INFINITY, 5.0), 0.0);
    assert_eq!(two_sided_t_inverse(0.0, 5.0), f64::INFINITY);
    assert_eq!(two_sided_t_inverse(1.0, 5.0), 0.0);
    assert_eq!(two_sided_inverse(0.0), f64::INFINITY);
    assert_eq!(two_sided_inverse(1.0), 0.0);
    assert_eq!(
        (phi_inverse(0.0), phi_inverse(1.0)),
        (f64::NEG_INFINITY, f64::INFINITY)
    );
    assert!((two_sided_t(1.0, 1.0) - 0.5).abs() < 1e-15);
    for freedom in [1e18, 1e100, 1e300, f64::INFINITY] {
        for p in [1e-300, 0.05, 0.9] {
            let (t, z) = (two_sided_t_inverse(p, freedom), two_sided_inverse(p));
            assert!((t / z - 1.0).abs() < 1e-11, "{p} {freedom}: {t} {z}");
            assert!(
                (two_sided_t(z, freedom) / p - 1.0).abs() < 1e-11,
                "{p} {freedom}"
            );
        }
    }
    for freedom in [0.0, -1.0, f64::NAN] {
        assert!(two_sided_t_inverse(0.05, freedom).is_nan());
    }
}

proptest! {
    /// Every quantile ends, and leads back to where it came from; no seam between two ways of computing shows.
    #[test]
    fn quantiles_end_and_lead_back(
        exponent in -300.0f64..-1e-6, freedom in prop_oneof![1.0f64..60.0, (0.0f64..10.0).prop_map(|e| 10f64.powf(e))]
    ) {
        let p = 10f64.powf(exponent);
        let t = two_sided_t_inverse(p, freedom);
        prop_assert!(t >= two_sided_inverse(p) * (1.0 - 1e-12), "{t}");
        let back = two_sided_t(t, freedom);
        prop_assert!((back / p - 1.0).abs() < 1e-11, "{p:e} {freedom}: {t}, {back:e}");
        let more = two_sided_t(t * (1.0 + 1e-9), freedom);
        prop_assert!(more <= back, "{p:e} {freedom}: {back:e} {more:e}");
    }
}

//! `jitterlab dist check` on tables that claimed to imitate a load before they were checked (`fixtures/tables_of_a_load`).

mod common;

use common::{Lab, text};
use serde_json::Value;

/// The tables, and what they were made of, in a folder of their own.
fn lab() -> Lab {
    let lab = Lab::new();
    let fixtures = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/tables_of_a_load"
    );
    for file in std::fs::read_dir(fixtures).unwrap() {
        let path = file.unwrap().path();
        std::fs::copy(&path, lab.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    lab
}

/// Share of zeros, distance over the constant table's, ratio of the standard deviations.
fn closeness(lab: &Lab, table: &str) -> [f64; 3] {
    let check = lab.run(&format!(
        "dist check {table}.dist --samples excess.csv --format json"
    ));
    let beside: Value = serde_json::from_slice(&check.stdout).unwrap();
    ["zeros", "distance_ratio", "std_ratio"].map(|name| beside[name].as_f64().unwrap())
}

#[test]
fn the_five_tables_that_claimed_to_imitate_are_refused() {
    let lab = lab();
    for (table, fault) in [
        (
            "uniform",
            "a constant delay, their mean, is as close to them",
        ),
        (
            "lognormal",
            "its standard deviation is off by more than a quarter",
        ),
        (
            "scale75",
            "its standard deviation is off by more than a quarter",
        ),
        (
            "scale50",
            "its standard deviation is off by more than a quarter",
        ),
        (
            "scale25",
            "a constant delay, their mean, is as close to them",
        ),
    ] {
        let check = lab.run(&format!("dist check {table}.dist --samples excess.csv"));
        let said = text(&check.stdout);
        assert_eq!(check.status.code(), Some(1), "{table}: {said}");
        assert!(
            said.contains("does not imitate the samples"),
            "{table}: {said}"
        );
        assert!(said.contains(fault), "{table}: {said}");
    }
    // What the clipping below 0 did.
    let [zeros, _, std] = closeness(&lab, "lognormal");
    assert!(zeros > 0.44 && std > 1.6, "{zeros} {std}");
    let [zeros, _, std] = closeness(&lab, "scale25");
    assert!(zeros > 0.8 && std > 5.0, "{zeros} {std}");
}

#[test]
fn the_empirical_table_of_the_same_samples_passes() {
    let lab = lab();
    lab.done("dist make --samples excess.csv -o empirical.dist");
    let said = lab.done("dist check empirical.dist --samples excess.csv");
    assert!(
        said.ends_with("The table imitates the samples.\n"),
        "{said}"
    );
    let [zeros, distance, std] = closeness(&lab, "empirical");
    assert!((zeros - 0.2239).abs() < 0.001, "{zeros}");
    assert!(distance < 0.005, "{distance}");
    assert!((std - 1.0).abs() < 0.001, "{std}");
}

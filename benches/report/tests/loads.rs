//! Background loads by what was produced: their names, those that are one, and what is compared under them.

mod synthetic;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jitterlab_report::Analysed;
use jitterlab_report::analysis::gate::{Gated, Side};
use jitterlab_report::analysis::levels::Figure;
use jitterlab_stats::gate::Slower;
use synthetic::loaded::{AskedAndProduced, loaded, loaded_beside};
use synthetic::rows;

/// The tables of every suite.
const TABLES: [&str; 4] = ["runtimes", "library", "packet", "amvia_bandwidth"];

/// The report on a folder with these loads.
fn reported(directory: &Path, loads: &[AskedAndProduced]) -> (Analysed, std::path::PathBuf) {
    let analysed = Analysed::open(&loaded(directory, loads)).unwrap();
    let page = analysed.write_report().unwrap();
    (analysed, page)
}

/// The names of the levels of load in a table.
fn called(page: &Path, table: &str) -> BTreeSet<String> {
    let rows = rows(page.parent().unwrap(), table);
    let loads = rows.iter().filter(|row| row["level_kind"] == "load");
    loads.map(|row| row["level"].clone()).collect()
}

#[test]
fn loads_that_came_to_the_same_are_one_condition_in_every_suite() {
    let directory = tempfile::tempdir().unwrap();
    let (analysed, page) = reported(directory.path(), &[(60, 48.0), (80, 48.4)]);
    let one = BTreeSet::from(["load 48 % (asked 60 and 80 %)".to_string()]);
    for table in TABLES {
        assert_eq!(called(&page, table), one, "{table}");
    }
    let runtimes = rows(page.parent().unwrap(), "runtimes");
    assert_eq!(runtimes.len(), 2, "{runtimes:?}");
    assert_eq!(runtimes[1]["runs"], "10");
    // The runs of a block are one pair with the one without load.
    let slowdown = analysed.analysis.suites.application.runtimes[1].slowdown;
    assert_eq!(slowdown.unwrap().blocks, 5);
    let answer = &analysed.analysis.answer;
    assert_eq!(answer.question, "Does background load slow redis?");
    let with = " with the packets of load 48 % (asked 60 and 80 %) than with none";
    assert!(answer.sentence.contains(with), "{answer:?}");
    let text = fs::read_to_string(&page).unwrap();
    let first = text.split("<section").next().unwrap();
    assert!(first.contains("; asked 60 and 80 %)"), "{first}");
    assert!(!text.contains("load 60 %") && !text.contains("load 80 %"));
    let gaps = analysed.analysis.summary.gaps.join(" ");
    assert!(gaps.contains("asked 60 and 80 %, produced 48 %"), "{gaps}");
    assert!(gaps.contains("This machine reaches 48 %"), "{gaps}");
}

#[test]
fn loads_that_were_produced_as_asked_are_apart_however_close() {
    let directory = tempfile::tempdir().unwrap();
    let (analysed, page) = reported(directory.path(), &[(20, 20.0), (23, 23.0)]);
    for table in TABLES {
        let names = ["load 20 %", "load 23 %"].map(String::from);
        assert_eq!(called(&page, table), BTreeSet::from(names), "{table}");
    }
    let gaps = analysed.analysis.summary.gaps.join(" ");
    assert!(
        !gaps.contains("machine reaches") && !gaps.contains("asked"),
        "{gaps}"
    );
}

#[test]
fn a_machine_reaches_a_load_only_where_more_was_asked_for() {
    for (loads, said, reaches) in [
        // Asked to be close together, and both stopped by the machine.
        (
            [(60, 47.0), (63, 47.2)],
            "asked 60 and 63 %, produced 47 %",
            true,
        ),
        // More than was asked for.
        ([(20, 30.0), (40, 40.0)], "asked 20 %, produced 30 %", false),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (analysed, _) = reported(directory.path(), &loads);
        let gaps = analysed.analysis.summary.gaps.join(" ");
        assert!(gaps.contains(said), "{gaps}");
        assert_eq!(gaps.contains("This machine reaches"), reaches, "{gaps}");
    }
}

#[test]
fn what_was_measured_under_another_load_is_not_decided_between_folders() {
    let side = |produced: f64| {
        let directory = tempfile::tempdir().unwrap();
        Side::open(&loaded(directory.path(), &[(60, produced)])).unwrap()
    };
    let [a, near, other] = [48.0, 51.0, 20.0].map(side);
    let slower = |b: &Side, name: &str| {
        let gated = Gated::of(&a, b, Figure::Median, 0.5).unwrap();
        let mut quantities = gated.quantities.iter();
        let found = quantities.find(|it| it.name == name).unwrap().slower;
        (found, gated.slower, gated.sentences().join("\n"))
    };
    let load = "application-redis.load-60";
    let (found, all, _) = slower(&near, load);
    assert_eq!((found, all), (Slower::No, Slower::No));
    let (found, all, said) = slower(&other, load);
    assert_eq!((found, all), (Slower::Undecided, Slower::Undecided));
    let words = format!("undecided: {load} had another load (20 %; in a 48 %)");
    assert!(said.contains(&words), "{said}");
    assert_eq!(slower(&other, "application-redis.none").0, Slower::No);
}

#[test]
fn a_load_that_is_another_beside_what_takes_bandwidth_is_told() {
    let gaps = |program: f64| {
        let directory = tempfile::tempdir().unwrap();
        let folder = loaded_beside(directory.path(), &[(60, 60.0)], program);
        let analysed = Analysed::open(&folder).unwrap();
        analysed.analysis.summary.gaps.join(" ")
    };
    // Three cases have 60 %, and the program 40.
    let said = gaps(40.0 / 60.0);
    let words =
        "The load that is called load 55 % (asked 60 %) was 40 % beside redis and 60 % beside ";
    assert!(said.contains(words), "{said}");
    assert!(!gaps(1.0).contains("beside"));
}

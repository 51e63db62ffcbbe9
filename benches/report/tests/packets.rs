//! Sentences about packets, for a report that has nothing else.

mod synthetic;

use std::fs;

use jitterlab_report::Analysed;
use jitterlab_report::analysis::levels::{Comparison, Figure};
use synthetic::given::{both_loops, latencies, streams};
use synthetic::rows;

#[test]
fn a_case_that_is_alone_has_the_first_screen() {
    let directory = tempfile::tempdir().unwrap();
    let analysed = Analysed::open(&latencies(directory.path(), &[9e3, 10e3, 11e3])).unwrap();
    let answer = &analysed.analysis.answer;
    assert_eq!(answer.question, "What does this network do?");
    assert!(
        answer
            .sentence
            .starts_with("latency over UDP, 64B, no load: One-way latency 10 ("),
        "{answer:?}"
    );
    let page = analysed.write_report().unwrap();
    let text = fs::read_to_string(&page).unwrap();
    let first = text.split("<section").next().unwrap();
    assert!(first.contains("packet-latency.svg") && first.contains("What was measured, in short"));
    assert_eq!(text.matches("href=\"packet-latency.svg\"").count(), 1);
    assert_eq!(rows(page.parent().unwrap(), "brief").len(), 1);
}

#[test]
fn no_interval_of_what_cannot_be_negative_reaches_below_0() {
    for (times, is_told) in [(&[9e3, 10e3, 11e3][..], true), (&[1e3, 40e3], false)] {
        let directory = tempfile::tempdir().unwrap();
        let analysed = Analysed::open(&latencies(directory.path(), times)).unwrap();
        let page = analysed.write_report().unwrap();
        let row = &rows(page.parent().unwrap(), "packet")[0];
        assert_eq!(row["mean_low"].is_empty(), !is_told, "{row:?}");
        assert_eq!(row["mean_high"].is_empty(), !is_told, "{row:?}");
    }
}

#[test]
fn round_trips_of_both_loops_are_not_compared() {
    let directory = tempfile::tempdir().unwrap();
    let analysed = Analysed::open(&both_loops(directory.path())).unwrap();
    let cases = analysed.cases().unwrap();
    let named = |name: &str| cases.iter().find(|case| case.name == name).unwrap();
    let (closed, open) = (
        named("packet-rtt-udp.none"),
        named("packet-open-loop-udp.none"),
    );
    let refused = Comparison::of(closed, open, Figure::Median, 0.0).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.starts_with(
            "packet-rtt-udp.none was measured in the closed loop and packet-open-loop-udp.none in the open loop, and the two cannot be compared: "
        ),
        "{said}"
    );
    // What is of a loop says so.
    let page = fs::read_to_string(analysed.write_report().unwrap()).unwrap();
    assert!(page.contains("in a closed loop, 64B messages"), "{page}");
    assert!(
        page.contains("in an open loop of 20k messages a second with fixed gaps, 64B messages"),
        "{page}"
    );
}

#[test]
fn cases_that_differ_in_their_window_alone_are_drawn_over_it() {
    let directory = tempfile::tempdir().unwrap();
    let analysed = Analysed::open(&streams(directory.path(), &[1, 4, 16])).unwrap();
    let page = analysed.write_report().unwrap();
    let report = page.parent().unwrap();
    let mut rows = rows(report, "packet");
    rows.retain(|row| row["case"] == "bandwidth-by-window");
    let found: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| [&row["over"], &row["at"], &row["mean"]].map(String::as_str))
        .collect();
    // The larger of the two sizes.
    assert_eq!(
        found,
        [
            ["Messages under way", "1", "1.024"],
            ["Messages under way", "4", "4.096"],
            ["Messages under way", "16", "16.384"]
        ]
    );
    let drawn = fs::read_to_string(report.join("packet-bandwidth-by-window.svg")).unwrap();
    assert!(drawn.contains("Messages under way"), "{drawn}");
    let directory = tempfile::tempdir().unwrap();
    let alone = Analysed::open(&streams(directory.path(), &[4])).unwrap();
    let page = alone.write_report().unwrap();
    assert!(
        !page
            .with_file_name("packet-bandwidth-by-window.svg")
            .exists()
    );
}

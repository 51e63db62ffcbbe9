//! The findings of `jitterlab results compare` with the repetitions that `jitterlab results plan` asks
//! for: `cargo bench -p jitterlab --bench gate [-- TRIES]`.
//!
//! Two programs sleep for a lognormal time about 50 ms, another one each run. Each try measures them three times, each time into a folder of its own: a kept release,
//! an equal one, and one in which one of them sleeps for 10 % longer.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::time::Instant;

use common::{Lab, text};
use serde_json::Value;

/// The variation of a time from run to run, as a share.
const SCATTER: f64 = 0.04;
/// Runs that the repetitions are planned from.
const PILOT: u64 = 20;

fn main() {
    // `cargo bench` adds an option of its own.
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let tries: u32 = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(20);
    let lab = Lab::new();
    measure(&lab, "pilot", PILOT, 1.0);
    let plan = lab.json("results plan pilot --gate 5% --format json");
    let planned = plan["repetitions"].as_u64().unwrap();
    println!("{planned} repetitions of each side are planned");
    let (mut equal_passed, mut slower_found) = (0, 0);
    for number in 0..tries {
        let start = Instant::now();
        for (folder, slower) in [("kept", 1.0), ("equal", 1.0), ("slower", 1.1)] {
            measure(&lab, folder, planned, slower);
        }
        let equal = compare(&lab, "equal");
        let slower = compare(&lab, "slower");
        equal_passed += u32::from(equal.0 == Some(0));
        slower_found += u32::from(slower.0 == Some(1));
        println!(
            "{number}: equal {}, slower {}, {:.0} s",
            equal.1,
            slower.1,
            start.elapsed().as_secs_f64()
        );
    }
    println!(
        "a slowdown of 10 % was found in {slower_found} of {tries}; equal releases passed in {equal_passed} of {tries}"
    );
}

/// Measures a release whose second program takes so many times as long.
fn measure(lab: &Lab, folder: &str, repetitions: u64, slower: f64) {
    let program = |name: &str, times: f64| {
        // Box and Muller (1958).
        let sleeps = format!(
            "use Time::HiRes qw(sleep time); $t = time; \
             sleep(0.05 * {times} * exp({SCATTER} * sqrt(-2 * log(1 - rand)) * cos(6.283185307179586 * rand))); \
             printf \"took %f s\", time - $t"
        );
        let command = serde_json::to_string(&["perl", "-e", &sleeps]).unwrap();
        format!(
            "    - {{ name: {name}, client: {{ on: here, command: {command} }}, \
             runtime: {{ pattern: 'took ([0-9.]+) s', unit: s }} }}\n"
        )
    };
    let programs = program("one", 1.0) + &program("two", slower);
    lab.write(
        "e.yaml",
        format!(
            "name: release\nseed: 1\nrepetitions: {repetitions}\nhosts: {{ here: {{ at: local }} }}\nsuites:\n  application:\n{programs}"
        ),
    );
    let _ = fs::remove_dir_all(lab.path(folder));
    let _ = fs::remove_dir_all(lab.path("made"));
    let output = lab.run("run e.yaml --headless --results made");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let made = fs::read_dir(lab.path("made")).unwrap().next().unwrap();
    fs::rename(made.unwrap().path(), lab.path(folder)).unwrap();
}

/// Exit status, and what is said of each program.
fn compare(lab: &Lab, folder: &str) -> (Option<i32>, String) {
    let output = lab.run(&format!(
        "results compare kept {folder} --gate 5% --format json"
    ));
    let gated: Value = serde_json::from_slice(&output.stdout).unwrap();
    let quantities = gated["quantities"].as_array().unwrap().iter();
    let said = quantities.map(|it| {
        let ratio = |end: &str| 100.0 * (it["ratio"][end].as_f64().unwrap_or(f64::NAN) - 1.0);
        format!(
            "{:+.1} % [{:+.1}, {:+.1}]",
            ratio("value"),
            ratio("low"),
            ratio("high")
        )
    });
    (output.status.code(), said.collect::<Vec<_>>().join(" and "))
}

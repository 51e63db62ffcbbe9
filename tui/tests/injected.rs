//! An experiment with every kind of delay that can be injected.

mod common;

use std::collections::BTreeMap;

use common::experiments::{folder, lab};
use common::text;
use serde_json::Value;

const EVERY: &str = r#"
name: every
seed: 7
repetitions: 2
retries: 0
hosts:
  client: { at: local }
  server: { at: local }
load: { transport: udp, from: client, to: server, message: 1400B, bandwidth: 100MiB }
levels:
  load: [20]
  injected:
    percent: [20]
    shapes: [empirical, replay]
    scaled: [0, 1]
    replay: { order: by-message, stretch: each }
    delays: [3us, 20us]
    shape: uniform
    mean: [10us]
    std: [2us]
    table: brought.dist
suites:
  packet:
    - { case: rtt, transports: [udp], from: client, to: server, warmup: 5ms, duration: 40ms, wait: block }
"#;

#[test]
fn every_kind_of_delay_is_injected_and_reported() {
    let lab = lab(EVERY);
    let missing = lab.run("run --headless e.yaml");
    assert_eq!(missing.status.code(), Some(2));
    let said = text(&missing.stderr);
    assert!(
        said.contains("cannot read distribution table brought.dist"),
        "{said}"
    );
    assert!(!lab.path("results").exists());
    lab.done("dist make --shape lognormal --mean 5us --std 2us -o brought.dist");
    let output = lab.run("run --headless e.yaml");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let folder = folder(&lab);
    // What was asked of each level: mean delay of the run.
    let runs = std::fs::read_to_string(folder.join("runs.jsonl")).unwrap();
    let mut asked: BTreeMap<String, f64> = BTreeMap::new();
    for line in runs.lines() {
        let run: Value = serde_json::from_str(line).unwrap();
        let level = run["run"].as_str().unwrap();
        let level = level.strip_prefix("packet-rtt-udp.").unwrap();
        let level = level.rsplit_once('.').unwrap().0;
        if let Some(mean) = run["injection"]["asked_mean_ns"].as_f64() {
            asked.insert(level.into(), mean);
        }
    }
    let levels: Vec<&str> = asked.keys().map(String::as_str).collect();
    assert_eq!(
        levels,
        [
            "delay-20us",
            "delay-3us",
            "injected-20-empirical",
            "injected-20-replay",
            "scaled-20-0",
            "scaled-20-1",
            "table",
            "uniform-10us-2us"
        ]
    );
    assert_eq!(
        (asked["delay-3us"], asked["delay-20us"]),
        (3_000.0, 20_000.0)
    );
    let near = |level: &str, mean: f64| (asked[level] / mean - 1.0).abs() < 0.2;
    assert!(
        near("uniform-10us-2us", 10_000.0) && near("table", 5_000.0),
        "{asked:?}"
    );
    // Tables that claim nothing are beside what they were made for.
    lab.done(&format!("report {}", folder.display()));
    let made = std::fs::read_to_string(folder.join("report/made.csv")).unwrap();
    assert_eq!(made.lines().count(), 1 + 6, "{made}");
    assert!(
        made.lines().skip(1).all(|line| line.ends_with("yes")),
        "{made}"
    );
    let emulation = std::fs::read_to_string(folder.join("report/emulation.csv")).unwrap();
    assert!(emulation.contains("replay"), "{emulation}");
}

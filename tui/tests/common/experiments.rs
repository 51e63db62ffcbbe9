//! Small experiments, and what is known of their result folders.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use jitterlab_experiment::headless::Line;
use jitterlab_experiment::record::RunRecord;
use serde_json::Value;

use super::Lab;
use jitterlab_skip::built;

/// An experiment with every kind of level and suite; a run takes some ten milliseconds.
pub const SMALL: &str = r#"
name: small
seed: 7
repetitions: 2
retries: 1
hosts:
  client: { at: local }
  server: { at: local }
load: { transport: udp, from: client, to: server, message: 1400B, bandwidth: 100MiB }
levels:
  load: [20]
  injected: { percent: [20], transport: udp, shapes: [uniform, empirical] }
suites:
  packet:
    - { case: rtt, transports: [udp, tcp], from: client, to: server, size: 64B, warmup: 5ms, duration: 20ms, wait: block }
  application:
    - name: redis
      server: { on: server, command: [redis-server, --bind, "{address}", --port, "{port}", --save, "", --appendonly, "no"] }
      client: { on: client, command: [redis-benchmark, -h, "{address}", -p, "{port}", -c, "1", -n, "200", -t, get, -q] }
      runtime: { pattern: 'GET: ([0-9.]+) requests per second', unit: per_second }
      levels: [none, injected]
"#;

pub fn lab(experiment: &str) -> Lab {
    built();
    let lab = Lab::new();
    lab.write("e.yaml", experiment);
    lab
}

/// The only result folder.
pub fn folder(lab: &Lab) -> PathBuf {
    let entries = fs::read_dir(lab.path("results")).unwrap();
    let mut folders = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let folder = folders.next().unwrap();
    assert!(folders.next().is_none());
    folder
}

/// Goes on with the only result folder.
pub fn resume(lab: &Lab) -> Output {
    lab.run(&format!(
        "run --headless --resume {}",
        folder(lab).display()
    ))
}

/// Starts an experiment that is to be stopped, and gives it when this many events are over.
pub fn started(lab: &Lab, arguments: &str, events: usize) -> Child {
    let mut command = lab.command(arguments);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines.take(events).filter(|event| event.is_ok()).count();
    assert_eq!(seen, events, "the experiment ended too early");
    child
}

pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What `jitterlab run --headless` has printed.
pub fn events(printed: &[u8]) -> Vec<Line> {
    let lines = printed.split_inclusive(|&byte| byte == b'\n');
    lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// The runs that have ended, and how many samples of each had been followed.
pub fn ended(events: &[Line]) -> Vec<(&RunRecord, u64)> {
    let events = events.iter();
    events
        .filter_map(|event| match event {
            Line::RunEnded { record, live, .. } => Some((&**record, *live)),
            _ => None,
        })
        .collect()
}

pub fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What `jitterlab-mpi` has printed in a run.
pub fn printed(record: &Value) -> &Value {
    let result = &record["result"];
    match record["suite"].as_str() {
        Some("library") => &result["library"],
        _ => &result["application"]["npb"],
    }
}

/// The runs of the schedule, as the dry run prints them.
pub fn planned(lab: &Lab) -> Vec<String> {
    let plan = lab.json("run e.yaml --dry-run --format json");
    let runs = plan["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run"].as_str().unwrap().into())
        .collect()
}

/// Every run of the schedule is done once, and has its files.
pub fn assert_whole(lab: &Lab) {
    let mut done: BTreeMap<String, u32> = BTreeMap::new();
    let folder = folder(lab);
    for record in lines(&folder.join("runs.jsonl")) {
        if record["outcome"] == "done" {
            *done
                .entry(record["run"].as_str().unwrap().into())
                .or_default() += 1;
            if let Some(samples) = record["samples"].as_str() {
                assert!(folder.join(samples).is_file());
            }
        }
    }
    let planned = planned(lab);
    assert_eq!(done.len(), planned.len());
    for run in planned {
        assert_eq!(done.get(&run), Some(&1), "{run}");
    }
}

/// Whether `sleep` runs with this argument.
pub fn is_running(marker: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        command.starts_with("sleep ") && command.contains(marker)
    })
}

/// Waits for something that happens soon, or never. It looks once a millisecond, and leaves the CPU to what it waits for.
pub fn until(happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it has not happened"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

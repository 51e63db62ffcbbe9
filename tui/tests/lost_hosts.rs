//! Experiments whose hosts are not all there: one that is killed in mid-experiment, and one that is unreachable from the start.

mod common;
mod ssh;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::experiments::{ended, folder, until};
use common::{Lab, text};
use jitterlab_experiment::headless::Line;
use jitterlab_experiment::record::Outcome;
use jitterlab_skip::is_root;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");

/// Three machines at the end of ssh: each has process numbers of its own, so that whoever kills the first of its processes kills
/// them all. A machine for which there is a file `dead-NAME` lets nobody in.
struct Machines {
    lab: Lab,
    path: String,
}

impl Machines {
    /// Nothing where a person may not make them.
    fn new() -> Option<Self> {
        if !is_root("start a server of ssh") {
            return None;
        }
        let lab = Lab::new();
        let folder = lab.path("");
        let folder = folder.display();
        lab.write(
            "enter",
            format!(
                "name=$1\nshift\n[ ! -e {folder}dead-$name ] || exit 1\necho $$ >{folder}pid-$name\n\
                 exec unshare --pid --fork --kill-child \"$@\"\n"
            ),
        );
        let path = ssh::path_to_machines(&lab, &format!("sh {folder}enter %h "), "LC_ALL=C");
        Some(Machines { lab, path })
    }

    fn kill(&self, name: &str) {
        self.lab.write(&format!("dead-{name}"), "");
        let pid = self.lab.read(&format!("pid-{name}"));
        kill(Pid::from_raw(pid.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
    }

    /// Of each pair of hosts a case, five times.
    fn write(&self, keys: &str) {
        let host = |name| {
            format!("  {name}: {{ at: ssh {name}, address: 127.0.0.1, jitterlab: {PROGRAM} }}\n")
        };
        let case = |[from, to]: [&str; 2]| {
            format!(
                "    - {{ name: {from}-{to}, case: rtt, transports: [tcp], from: {from}, to: {to}, size: 8B, \
                 warmup: 1ms, duration: 5ms, wait: block }}\n"
            )
        };
        let hosts = ["a", "b", "c"].map(host).concat();
        let cases = [["a", "b"], ["b", "c"], ["c", "a"]].map(case).concat();
        self.lab.write(
            "e.yaml",
            format!(
                "name: lost\nseed: 1\nrepetitions: 5\n{keys}hosts:\n{hosts}suites:\n  packet:\n{cases}"
            ),
        );
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.lab.command(arguments);
        command.env("PATH", &self.path);
        command
    }

    /// Runs the experiment, and kills a host when its first run has ended. Gives what it printed, and how it ended.
    fn run_and_kill(&self, name: &str) -> (Vec<Line>, Output) {
        let mut child = self
            .command("run e.yaml --headless")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut events = Vec::new();
        for line in lines {
            let event: Line = serde_json::from_str(&line.unwrap()).unwrap();
            if matches!(event, Line::RunEnded { .. })
                && !self.lab.path(&format!("dead-{name}")).exists()
            {
                self.kill(name);
            }
            events.push(event);
        }
        (events, child.wait_with_output().unwrap())
    }
}

/// The hosts that were lost, and why.
fn lost(events: &[Line]) -> Vec<(&str, &str)> {
    let events = events.iter();
    events
        .filter_map(|event| match event {
            Line::HostLost { host, reason } => Some((host.as_str(), reason.as_str())),
            _ => None,
        })
        .collect()
}

/// The runs of a result folder with their outcomes and reasons, those that were tried last.
fn runs(folder: &Path) -> Vec<(String, bool, String)> {
    let lines = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
    let mut runs = std::collections::BTreeMap::new();
    for line in lines.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let reason = record["reason"].as_str().unwrap_or_default().to_string();
        let run = record["run"].as_str().unwrap().to_string();
        runs.insert(run, (record["outcome"] == "done", reason));
    }
    let runs = runs.into_iter();
    runs.map(|(run, (done, reason))| (run, done, reason))
        .collect()
}

/// The hosts of a run are a part of the name of its case.
fn needs(run: &str, host: &str) -> bool {
    let pair = run.split('.').next().unwrap();
    pair.split('-').any(|word| word == host)
}

#[test]
fn an_experiment_goes_on_without_a_host_that_is_killed() {
    let Some(machines) = Machines::new() else {
        return;
    };
    machines.write("lost_host: go-on\n");
    let (events, output) = machines.run_and_kill("c");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let [("c", reason)] = lost(&events)[..] else {
        panic!("{events:?}");
    };
    assert!(reason.starts_with("host c does not come up: "), "{reason}");
    let runs = runs(&folder(&machines.lab));
    assert_eq!(runs.len(), 15);
    for (run, done, reason) in &runs {
        if !needs(run, "c") {
            assert!(done, "{run}: {reason}");
        } else if !done {
            assert!(reason.contains("host c "), "{run}: {reason}");
        }
    }
    assert!(
        runs.iter()
            .any(|(_, done, reason)| !done && reason.starts_with("host c is not there"))
    );
}

#[test]
fn an_experiment_stops_when_a_host_is_killed_and_is_resumed_when_it_is_back() {
    let Some(machines) = Machines::new() else {
        return;
    };
    machines.write("");
    let (events, output) = machines.run_and_kill("c");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(lost(&events)[0].0, "c");
    let folder = folder(&machines.lab);
    let Some(Line::Fails { error: end, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert!(
        end.starts_with("host c is lost: host c does not come up: "),
        "{end}"
    );
    assert!(
        end.ends_with(&format!(
            "jitterlab run --resume results/{}",
            folder.file_name().unwrap().to_str().unwrap()
        )),
        "{end}"
    );
    let failed = ended(&events).into_iter();
    let failed: Vec<_> = failed
        .filter(|(record, _)| record.outcome == Outcome::Failed)
        .collect();
    // The other end of the run may fail first, and does so once.
    assert!((1..=2).contains(&failed.len()), "{failed:?}");
    assert_eq!(failed[0].0.run, failed.last().unwrap().0.run);
    assert!(runs(&folder).len() < 15);
    fs::remove_file(machines.lab.path("dead-c")).unwrap();
    let resumed = format!("run --headless --resume {}", folder.display());
    let output = machines.command(&resumed).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let runs = runs(&folder);
    assert!(
        runs.len() == 15 && runs.iter().all(|(_, done, _)| *done),
        "{runs:?}"
    );
}

#[test]
fn a_host_that_is_unreachable_from_the_start_is_said_in_one_line() {
    let Some(machines) = Machines::new() else {
        return;
    };
    machines.lab.write("dead-b", "");
    machines.write("");
    let output = machines.command("run e.yaml").output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("jitterlab: host b does not come up: "),
        "{said}"
    );
    assert!(!machines.lab.path("results").exists());
    machines.write("lost_host: go-on\n");
    let output = machines.command("run e.yaml").output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let lines = said
        .lines()
        .filter(|line| line.contains("does not come up"));
    let lost: Vec<_> = lines
        .filter(|line| line.starts_with("host b is lost: "))
        .collect();
    assert_eq!(lost.len(), 1, "{said}");
    for (run, done, reason) in runs(&folder(&machines.lab)) {
        assert_eq!(done, !needs(&run, "b"), "{run}: {reason}");
    }
}

#[test]
fn a_worker_that_is_killed_is_no_host_that_is_lost() {
    let Some(machines) = Machines::new() else {
        return;
    };
    machines.write("lost_host: stop\n");
    let mut child = machines
        .command("run e.yaml --headless")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events = Vec::new();
    for line in lines {
        let event: Line = serde_json::from_str(&line.unwrap()).unwrap();
        if matches!(event, Line::Begins { .. }) {
            // All that the host runs ends, and the next connection is let in.
            let pid = machines.lab.read("pid-c");
            kill(Pid::from_raw(pid.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
        }
        events.push(event);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{events:?}");
    assert!(lost(&events).is_empty(), "{events:?}");
    until(|| {
        runs(&folder(&machines.lab))
            .iter()
            .all(|(_, done, _)| *done)
    });
}

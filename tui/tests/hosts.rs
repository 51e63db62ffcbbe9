//! `jitterlab run` with hosts in network namespaces and at the end of ssh.

mod common;
mod ssh;

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use common::experiments::{is_running, until};
use common::{Lab, text};
use jitterlab_base::units::Nanos;
use jitterlab_cluster::protocol::{self, Program, Request};
use jitterlab_skip::built;
use serde_json::Value;

/// A command that has to succeed.
fn done(command: &str) {
    let mut words = command.split_whitespace();
    let status = Command::new(words.next().unwrap()).args(words).status();
    assert!(status.unwrap().success(), "{command}");
}

fn packet_experiment(hosts: &str) -> String {
    format!(
        "name: hosts\nseed: 1\nrepetitions: 1\nretries: 0\nhosts:\n{hosts}\
         load: {{ transport: udp, from: a, to: b, message: 1400B }}\n\
         levels:\n  load: [10]\n  injected: {{ percent: [10], transport: udp, shapes: [empirical] }}\n\
         suites:\n  packet:\n    - {{ case: rtt, transports: [udp, tcp], from: a, to: b, size: 64B, \
         warmup: 5ms, duration: 30ms, wait: block }}\n"
    )
}

fn assert_runs(lab: &Lab) {
    let output = lab.run("run e.yaml --headless");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let results = fs::read_dir(lab.path("results")).unwrap();
    let folder = results.flatten().next().unwrap().path();
    let runs = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
    assert_eq!(runs.lines().count(), 6);
    for line in runs.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["outcome"], "done", "{line}");
    }
}

/// Two network namespaces with a cable between them; they go with this value.
struct Namespaces {
    names: [String; 2],
}

impl Namespaces {
    fn new() -> Self {
        let names = ["a", "b"].map(|end| format!("jl-{}-{end}", std::process::id()));
        let [a, b] = &names;
        for name in &names {
            done(&format!("ip netns add {name}"));
        }
        done(&format!(
            "ip -n {a} link add veth0 type veth peer name veth0 netns {b}"
        ));
        for (name, address) in [(a, "10.71.0.1/24"), (b, "10.71.0.2/24")] {
            done(&format!("ip -n {name} address add {address} dev veth0"));
            done(&format!("ip -n {name} link set veth0 up"));
            done(&format!("ip -n {name} link set lo up"));
        }
        Namespaces { names }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}

/// Namespaces and a daemon of ssh need root, which a person may not be.
fn is_root() -> bool {
    jitterlab_skip::is_root("make network namespaces")
}

#[test]
fn hosts_are_network_namespaces() {
    if !is_root() {
        return;
    }
    built();
    let namespaces = Namespaces::new();
    let [a, b] = &namespaces.names;
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        packet_experiment(&format!(
            "  a: {{ at: netns {a}, address: 10.71.0.1 }}\n  b: {{ at: netns {b}, address: 10.71.0.2 }}\n"
        )),
    );
    assert_runs(&lab);
}

#[test]
fn hosts_are_at_the_end_of_ssh() {
    if !is_root() {
        return;
    }
    built();
    let lab = Lab::new();
    let path = ssh::path_to_sshd(&lab);
    let program = env!("CARGO_BIN_EXE_jitterlab");
    lab.write(
        "e.yaml",
        packet_experiment(&format!(
            "  a: {{ at: local }}\n  b: {{ at: ssh lab, address: 127.0.0.1, jitterlab: {program} }}\n"
        )),
    );
    let output = lab
        .command("run e.yaml --headless")
        .env("PATH", path)
        .output()
        .unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn a_host_that_is_not_there_ends_the_experiment_before_it_begins() {
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        packet_experiment(
            "  a: { at: local }\n  b: { at: netns jl-nowhere, address: 10.71.0.2 }\n",
        ),
    );
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("the worker of host b is gone"), "{said}");
    assert!(!lab.path("results").exists());
}

#[test]
fn what_is_no_worker_is_not_waited_for() {
    let lab = Lab::new();
    fs::create_dir(lab.path("bin")).unwrap();
    lab.write("bin/ssh", "#!/bin/sh\nexec yes\n");
    done(&format!("chmod +x {}", lab.path("bin/ssh").display()));
    lab.write(
        "e.yaml",
        packet_experiment("  a: { at: local }\n  b: { at: ssh lab, address: 127.0.0.1 }\n"),
    );
    let mut command = lab.command("run e.yaml --headless");
    let output = command.env("PATH", lab.path_with_bin()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("the other end does not speak jitterlab's protocol"),
        "{said}"
    );
}

/// A worker that the test talks to, with nothing of its own in the lab yet.
fn worker(lab: &Lab) -> Child {
    let mut command = lab.command("agent");
    command
        .env("TMPDIR", lab.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_worker_that_is_asked_by_somebody_else_says_so_and_leaves_nothing() {
    let lab = Lab::new();
    let mut worker = worker(&lab);
    let mut stdin = worker.stdin.take().unwrap();
    stdin.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let output = worker.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "jitterlab agent: the other end does not speak jitterlab's protocol\n"
    );
    assert_eq!(fs::read_dir(lab.path("")).unwrap().count(), 0);
}

#[test]
fn a_worker_that_hears_nothing_any_more_ends_with_what_it_has_started() {
    let marker = format!("{}", 2_900_000 + std::process::id());
    let lab = Lab::new();
    let mut worker = worker(&lab);
    let program = Program {
        command: vec!["sleep".into(), marker.clone()],
        cpu: None,
    };
    let timeout = Nanos(600_000_000_000);
    let run = Request::Run {
        program,
        live: "live-0".into(),
        timeout,
    };
    // It stays open: the controller has not ended, its link has.
    let mut stdin = worker.stdin.take().unwrap();
    protocol::write(&mut stdin, &run, &[]).unwrap();
    until(|| is_running(&marker));
    let output = worker.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        text(&output.stderr),
        "jitterlab agent: nothing was heard of the controller for 15 s\n"
    );
    assert!(!is_running(&marker));
    assert_eq!(fs::read_dir(lab.path("")).unwrap().count(), 0);
    drop(stdin);
}

#[test]
fn workers_stay_while_nobody_has_anything_to_ask() {
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        "name: quiet\nseed: 1\nrepetitions: 1\nretries: 0\n\
         hosts: { a: { at: local }, b: { at: local } }\n\
         suites:\n  application:\n    - name: long\n      \
         server: { on: b, command: [sh, -c, \"echo up; exec sleep 600\"], ready: up }\n      \
         client: { on: a, command: [sleep, \"16\"] }\n",
    );
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

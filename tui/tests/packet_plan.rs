//! What measures goes to a CPU that the node's plan keeps for measuring, and load does not.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::{Lab, text};
use jitterlab_skip::{is_root, skip};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// The CPUs that this process may run on.
fn cpus() -> Vec<usize> {
    let own = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count())
        .filter(|&cpu| own.is_set(cpu).unwrap())
        .collect()
}

/// `jitterlab` on a node that `tune apply` has divided, as far as its journal says. The journal, and what says which CPUs are taken, are
/// those of a namespace of mounts.
fn divided(lab: &Lab, plan: &Value) -> Command {
    let applied = json!({ "record": "applied", "version": "0.1.0", "plan": plan, "settings": {} });
    lab.write("tuning.journal", format!("{applied}\n"));
    let divide = "mount -t tmpfs none /dev/shm && mount -t tmpfs none /var/lib && mkdir /var/lib/jitterlab && \
                  cp \"$0\" /var/lib/jitterlab/ && exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", divide])
        .arg(lab.path("tuning.journal"))
        .arg(env!("CARGO_BIN_EXE_jitterlab"));
    command
}

/// A plan of two CPUs that this process may run on: one that does the housekeeping, and one that measures. None where only one is there, or no
/// journal can be put in place.
fn plan() -> Option<(usize, usize, Value)> {
    if !is_root("make a namespace of mounts") {
        return None;
    }
    let [house, .., measuring] = cpus()[..] else {
        skip("a plan takes two CPUs");
        return None;
    };
    let plan = json!({
        "device": null, "package": 0, "housekeeping": house.to_string(), "measuring": measuring.to_string(),
        "idle": "", "reasons": [],
    });
    Some((house, measuring, plan))
}

/// The CPUs on which `packet run OPTIONS` has measured.
fn measured_on(plan: &Value, options: &[&str]) -> Value {
    let output = divided(&Lab::new(), plan)
        .args(["packet", "run", "--case", "rtt", "--transport", "udp"])
        .args(["--iterations", "10", "--format", "json"])
        .args(options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["cpus"].clone()
}

#[test]
fn the_cpu_that_is_kept_for_measuring_is_picked() {
    let Some((house, measuring, plan)) = plan() else {
        return;
    };
    assert_eq!(measured_on(&plan, &[]), json!([measuring]));
    // Who names a CPU gets that one.
    let named = ["--cpu", &house.to_string()];
    assert_eq!(measured_on(&plan, &named), json!([house]));
}

/// The CPUs that `load serve OPTIONS` may run on when it takes load.
fn load_on(plan: &Value, options: &[&str]) -> String {
    let lab = Lab::new();
    let mut sink = divided(&lab, plan)
        .args([
            "load",
            "serve",
            "--bind",
            "127.0.0.1:0",
            "--until-stdin-closes",
        ])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut listening = String::new();
    let mut out = BufReader::new(sink.stdout.take().unwrap());
    out.read_line(&mut listening).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", sink.id())).unwrap();
    drop(sink.stdin.take());
    sink.wait().unwrap();
    let cpus = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cpus.unwrap().trim().into()
}

#[test]
fn load_leaves_the_cpus_that_measure_to_others() {
    let Some((house, measuring, plan)) = plan() else {
        return;
    };
    let [house, measuring] = [house, measuring].map(|cpu| cpu.to_string());
    assert_eq!(load_on(&plan, &[]), house);
    assert_eq!(load_on(&plan, &["--cpu", &measuring]), measuring);
}

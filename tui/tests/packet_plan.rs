//! What measures goes to a CPU that the node's plan keeps for measuring.

mod common;

use std::process::Command;

use common::{Lab, text};
use jitterlab_skip::skip;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, geteuid};
use serde_json::{Value, json};

/// The CPUs that this process may run on.
fn cpus() -> Vec<usize> {
    let own = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count())
        .filter(|&cpu| own.is_set(cpu).unwrap())
        .collect()
}

/// The CPUs on which `packet run OPTIONS` has measured on a node that `tune apply` has divided, as far as its journal says.
/// The journal, and what says which CPUs are taken, are those of a namespace of mounts.
fn measured_on(plan: Value, options: &[&str]) -> Value {
    let lab = Lab::new();
    let applied = json!({ "record": "applied", "version": "0.1.0", "plan": plan, "settings": {} });
    lab.write("tuning.journal", format!("{applied}\n"));
    let divide = "mount -t tmpfs none /dev/shm && mount -t tmpfs none /var/lib && mkdir /var/lib/jitterlab && \
                  cp \"$0\" /var/lib/jitterlab/ && exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", divide])
        .arg(lab.path("tuning.journal"))
        .arg(env!("CARGO_BIN_EXE_jitterlab"))
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
    if !geteuid().is_root() {
        return skip("only root may make a namespace of mounts");
    }
    let cpus = cpus();
    let [house, .., measuring] = cpus[..] else {
        return skip("a plan takes two CPUs");
    };
    let plan = json!({
        "device": null, "package": 0, "housekeeping": house.to_string(), "measuring": measuring.to_string(),
        "idle": "", "reasons": [],
    });
    assert_eq!(measured_on(plan.clone(), &[]), json!([measuring]));
    // Who names a CPU gets that one.
    let named = ["--cpu", &house.to_string()];
    assert_eq!(measured_on(plan, &named), json!([house]));
}

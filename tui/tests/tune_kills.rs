//! `jitterlab tune` killed at each of its writes in turn: all of it can be undone.

mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod trees;
mod tuning;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use common::text;
use tuning::{node, picture, tune, unchanged};

/// `tune` killed at the entry of its `nth` call of `system_call`; whether it came to that.
fn killed(root: &Path, arguments: &str, system_call: &str, nth: usize) -> bool {
    let output = Command::new("strace")
        .args([
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &format!("trace={system_call}"),
        ])
        .args([
            "-e",
            &format!("inject={system_call}:signal=SIGKILL:when={nth}"),
        ])
        .arg(env!("CARGO_BIN_EXE_jitterlab"))
        .arg("tune")
        .args(arguments.split_whitespace())
        .arg("--root")
        .arg(root)
        .output()
        .unwrap();
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => false,
        (_, Some(9)) | (Some(137), _) => true,
        other => panic!("{other:?} {}", text(&output.stderr)),
    }
}

/// One value of each kind of place, and more than one of most.
const KINDS: &str = "apply --ranks 1 --only smt-control,cpuidle-states,irq-default-affinity,irq-affinity,cpuset-partition,rps,memlock,transparent-hugepage,isolcpus,nosmt";

/// Kills `apply` at each call of these in turn, and reverts.
fn revert_after_every_kill(apply: &str, system_calls: &[&str]) {
    let root = node();
    let before = picture(root.path());
    for system_call in system_calls {
        let mut kills = 0;
        while killed(root.path(), apply, system_call, kills + 1) {
            kills += 1;
            let output = tune(root.path(), "revert");
            let said = text(&output.stdout);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{system_call} {kills}: {said}"
            );
            unchanged(root.path(), &before, &format!("{system_call} {kills}"));
        }
        assert!(kills > 0, "{system_call}");
        println!("{kills} kills at {system_call}");
        tune(root.path(), "revert");
    }
}

// A file that was just made is found by the kill at the next call.
#[test]
fn after_a_kill_at_every_write_of_all_settings_revert_restores_every_byte() {
    revert_after_every_kill("apply --ranks 1", &["write", "mkdir", "rename"]);
}

#[test]
fn after_a_kill_at_every_step_of_writing_a_file_revert_restores_every_byte() {
    revert_after_every_kill(
        KINDS,
        &["ftruncate", "fdatasync", "fchown", "fchmod", "fsync"],
    );
}

#[test]
fn a_revert_that_is_killed_can_be_made_again() {
    let root = node();
    let before = picture(root.path());
    let some = "apply --ranks 1 --only smt-control,irq-affinity,cpuset-partition,memlock,nosmt";
    for system_call in ["write", "rename", "unlink", "rmdir", "fsync"] {
        for nth in 1.. {
            tune(root.path(), some);
            let was_killed = killed(root.path(), "revert", system_call, nth);
            assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
            unchanged(root.path(), &before, &format!("{system_call} {nth}"));
            if !was_killed {
                assert!(nth > 1, "{system_call}");
                break;
            }
        }
    }
}

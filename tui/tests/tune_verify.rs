//! `jitterlab tune verify` on copied trees, where what was applied cannot be looked at any more.

mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod trees;
mod tuning;

use std::fs;
use std::path::Path;

use serde_json::Value;

use common::Lab;
use tuning::{json, node, tune};

fn next_boot(root: &Path) {
    fs::write(root.join("proc/sys/kernel/random/boot_id"), "another\n").unwrap();
}

/// The state of the only setting that was applied, and what is said of it.
fn verified(root: &Path) -> (String, String) {
    let survey = json(root, "verify");
    let finding = &survey["settings"][0];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    (word(&finding["state"]), word(&finding["notes"][0]))
}

#[test]
fn a_device_that_is_gone_does_not_hold() {
    let root = node();
    tune(root.path(), "apply --device eno1 --ranks 2 --only xps");
    assert_eq!(tune(root.path(), "verify").status.code(), Some(0));
    fs::remove_file(root.path().join("sys/class/net/eno1")).unwrap();
    assert_eq!(
        verified(root.path()),
        ("drifted".into(), "eno1 is gone".into())
    );
    assert_eq!(tune(root.path(), "verify").status.code(), Some(1));
    // What was set is gone with the boot, and what is not there cannot be set again.
    next_boot(root.path());
    assert_eq!(
        verified(root.path()),
        ("unsupported".into(), "eno1 is gone".into())
    );
}

#[test]
fn a_value_that_cannot_be_read_any_more_does_not_hold() {
    let root = node();
    tune(root.path(), "apply --only vm.stat_interval");
    let file = root.path().join("proc/sys/vm/stat_interval");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let (state, note) = verified(root.path());
    assert_eq!(state, "drifted");
    assert!(note.contains("cannot read"), "{note}");
}

#[test]
fn what_an_earlier_boot_refused_hides_nothing() {
    let root = node();
    let drop_in = root.path().join("etc/default/grub.d/95-jitterlab.cfg");
    fs::create_dir(&drop_in).unwrap();
    tune(root.path(), "apply --only nosmt");
    fs::remove_dir(&drop_in).unwrap();
    assert_eq!(verified(root.path()).0, "unsupported");
    next_boot(root.path());
    assert_eq!(verified(root.path()).0, "drifted");
}

#[test]
fn a_node_that_is_too_small_is_not_fit_and_says_why() {
    let root = trees::tree("one-cpu");
    let check = |arguments: &[&str]| {
        let lab = Lab::new();
        let mut command = lab.command("check");
        command.arg("--root").arg(root.path()).args(arguments);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        output.stdout
    };
    let said = String::from_utf8(check(&[])).unwrap();
    assert!(said.starts_with("the node has only one core"), "{said}");
    assert!(said.ends_with("\nnot fit: see above\n"), "{said}");
    let verdict: Value = serde_json::from_slice(&check(&["--format", "json"])).unwrap();
    assert_eq!(verdict["fit"], false);
    let refused = verdict["refused"].as_str().unwrap();
    assert!(
        refused.starts_with("the node has only one core"),
        "{verdict}"
    );
}

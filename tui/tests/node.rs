//! `jitterlab node`, from outside.

mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod nodes;

use common::{Lab, text};
use insta::assert_snapshot;

/// Every node in `node-tuning/tests/trees` has its picture.
#[test]
fn show_draws_the_node() {
    let lab = Lab::new();
    for name in nodes::names() {
        let tree = nodes::tree(&name);
        let picture = lab.done(&format!("node show --root {}", tree.path().display()));
        assert_snapshot!(name, picture);
    }
}

#[test]
fn show_says_the_same_to_programs() {
    let tree = nodes::tree("two-socket");
    let before = nodes::files(tree.path());
    let shown = Lab::new().json(&format!(
        "node show --root {} --format json",
        tree.path().display()
    ));
    assert_eq!(shown["online"], "0-15");
    assert_eq!(shown["cores"].as_array().unwrap().len(), 8);
    assert_eq!(shown["packages"][1]["cpus"], "4-7,12-15");
    let adapter = &shown["devices"][0];
    assert_eq!(
        (&adapter["name"], &adapter["kind"], &adapter["numa_node"]),
        (&"mlx5_0".into(), &"rdma".into(), &1.into())
    );
    assert_eq!(
        adapter["distances"],
        serde_json::json!([
            { "package": 0, "distance": 21, "local": false },
            { "package": 1, "distance": 10, "local": true },
        ])
    );
    assert!(nodes::files(tree.path()) == before, "the tree was changed");
}

#[test]
fn show_knows_this_machine() {
    let shown = Lab::new().json("node show --format json");
    let threads: u64 = shown["cores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|core| cpus(core["cpus"].as_str().unwrap()))
        .sum();
    assert_eq!(threads, cpus(shown["online"].as_str().unwrap()));
    assert!(threads >= std::thread::available_parallelism().unwrap().get() as u64);
}

/// How many CPUs a list names.
fn cpus(list: &str) -> u64 {
    let set: jitterlab_node_tuning::cpus::CpuSet = list.parse().unwrap();
    set.len() as u64
}

#[test]
fn what_is_no_node_is_refused() {
    let lab = Lab::new();
    lab.refuses(
        "node show --root none",
        "cannot read none: No such file or directory (os error 2)",
    );
    let empty = tempfile::tempdir().unwrap();
    let at = empty.path().canonicalize().unwrap();
    lab.refuses(
        &format!("node show --root {}", at.display()),
        &format!(
            "{}/sys/devices/system/cpu/online is missing or names no CPU; give the root of a node, or of \
             a copy of its /sys and /proc",
            at.display()
        ),
    );
    nodes::grow(&at, "sys/devices/system/cpu/online: 0-x");
    lab.refuses(
        &format!("node show --root {}", at.display()),
        &format!(
            "{}/sys/devices/system/cpu/online says `0-x`, which is not a list of CPUs",
            at.display()
        ),
    );
    let output = lab.run("node");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("show"));
}

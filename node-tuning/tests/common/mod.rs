//! Nodes described by small text files (`trees/NAME.tree`), made into copies of a /sys and a /proc.
//!
//! ```text
//! # a comment
//! sys/devices/system/cpu/online: 0-15          a file; a newline is added
//! proc/interrupts:                             a file of several lines, each indented by four spaces
//!            CPU0       CPU1
//! sys/class/net/eth0 -> ../../devices/…        a link
//! sys/kernel/debug/                            an empty directory
//! sys/…/cpu{0-3,8}/topology/core_id: {}        once for each number, which is also the content
//! ```

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use jitterlab_node_tuning::cpus::CpuSet;
use tempfile::TempDir;

const TREES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../node-tuning/tests/trees");

/// The copied tree of this name, in a folder of its own.
pub fn tree(name: &str) -> TempDir {
    let description = fs::read_to_string(format!("{TREES}/{name}.tree")).unwrap();
    let root = tempfile::tempdir().unwrap();
    grow(root.path(), &description);
    root
}

/// The names of all trees, sorted.
pub fn names() -> Vec<String> {
    let paths = fs::read_dir(TREES).unwrap();
    let mut names: Vec<String> = paths
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "tree")
        })
        .map(|path| path.file_stem().unwrap().to_str().unwrap().into())
        .collect();
    names.sort();
    names
}

/// Adds what a description says to a tree; what is there already is replaced.
pub fn grow(root: &Path, description: &str) {
    let mut lines = description.lines().peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut block = String::new();
        while let Some(content) = lines.next_if(|line| line.starts_with("    ")) {
            block.push_str(&content[4..]);
            block.push('\n');
        }
        for line in expanded(line) {
            plant(root, &line, &block);
        }
    }
}

/// Every file (its bytes) and link (`-> TARGET`) below a tree.
pub fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if let Ok(target) = fs::read_link(&path) {
            found.insert(path, format!("-> {}", target.display()).into_bytes());
        } else if path.is_dir() {
            found.extend(files(&path));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, content);
        }
    }
    found
}

/// The line once for each number in its braces.
fn expanded(line: &str) -> Vec<String> {
    let Some((before, after)) = line.split_once('{') else {
        return vec![line.into()];
    };
    let (numbers, after) = after.split_once('}').unwrap();
    let numbers: CpuSet = numbers.parse().unwrap_or_else(|_| panic!("{line}"));
    let each = numbers
        .iter()
        .map(|n| format!("{before}{n}{after}").replace("{}", &n.to_string()));
    each.collect()
}

fn plant(root: &Path, line: &str, block: &str) {
    let at = |path: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    if let Some((path, target)) = line.split_once(" -> ") {
        symlink(target, at(path)).unwrap_or_else(|error| panic!("{line}: {error}"));
    } else if line.ends_with('/') {
        fs::create_dir_all(at(line)).unwrap();
    } else if let Some(path) = line.strip_suffix(':') {
        fs::write(at(path), if block.is_empty() { "\n" } else { block }).unwrap();
    } else {
        let (path, content) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        fs::write(at(path), format!("{content}\n")).unwrap();
    }
}

//! Copied trees that are tuned.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Lab, text};
use crate::trees;

/// The node of two packages, with all that tuning touches.
pub fn node() -> TempDir {
    let root = trees::tree("two-socket");
    let settings = include_str!("../../../node-tuning/tests/settings.tree");
    trees::grow(root.path(), settings);
    root
}

pub fn tune(root: &Path, arguments: &str) -> Output {
    let lab = Lab::new();
    let mut command = lab.command("tune");
    command
        .args(arguments.split_whitespace())
        .arg("--root")
        .arg(root);
    command.output().unwrap()
}

pub fn json(root: &Path, arguments: &str) -> Value {
    let output = tune(root, &format!("{arguments} --format json"));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// Everything below a tree: files with their bytes, directories, permissions.
pub fn picture(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt;
    fn add(directory: &Path, picture: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_dir() {
                add(&path, picture);
                Vec::new()
            } else if metadata.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            picture.insert(path, (metadata.permissions().mode(), content));
        }
    }
    let mut all = BTreeMap::new();
    add(root, &mut all);
    all
}

/// Expects a tree to be as it was.
pub fn unchanged(root: &Path, before: &BTreeMap<PathBuf, (u32, Vec<u8>)>, when: &str) {
    let after = picture(root);
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let differing = paths
        .iter()
        .filter(|&&path| before.get(path) != after.get(path));
    let differing: Vec<_> = differing.collect();
    assert!(differing.is_empty(), "{when}: {differing:?}");
}

pub fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

/// The states of settings by their names.
pub fn states(survey: &Value) -> BTreeMap<String, String> {
    let settings = survey["settings"].as_array().unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_string();
    settings
        .iter()
        .map(|one| (word(&one["name"]), word(&one["state"])))
        .collect()
}

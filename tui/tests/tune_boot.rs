//! `jitterlab tune` and boot loaders, on copied trees: what waits for the next boot, and its way back.

mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod trees;
mod tuning;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use tuning::{node, picture, read, tune, unchanged};

/// Where kernel-install finds the command line.
const COMMAND_LINE: &str = "etc/kernel/cmdline";

/// The node with systemd-boot, which has made its entries of the running kernel's command line.
fn with_systemd_boot() -> TempDir {
    let root = node();
    trees::grow(
        root.path(),
        "boot/loader/loader.conf: timeout 3\netc/kernel/\nproc/cmdline: root=UUID=1 quiet\n",
    );
    root
}

fn write(root: &Path, path: &str, content: &str) {
    fs::write(root.join(path), content).unwrap();
}

#[test]
fn a_command_line_that_was_not_there_is_removed_after_a_kill_in_between() {
    let root = with_systemd_boot();
    let before = picture(root.path());
    tune(root.path(), "apply --only nosmt");
    assert_eq!(read(root.path(), COMMAND_LINE), "root=UUID=1 quiet nosmt\n");
    // What a revert writes, for kernel-install to make the old entries of, and removes after that.
    write(root.path(), COMMAND_LINE, "root=UUID=1 quiet\n");
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    unchanged(root.path(), &before, "revert");

    tune(root.path(), "apply --only nosmt");
    write(root.path(), COMMAND_LINE, "root=UUID=1 quiet debug\n");
    assert_eq!(tune(root.path(), "revert").status.code(), Some(1));
    assert_eq!(read(root.path(), COMMAND_LINE), "root=UUID=1 quiet debug\n");
}

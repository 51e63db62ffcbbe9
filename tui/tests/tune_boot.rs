//! `jitterlab tune` and boot loaders, on copied trees: what waits for the next boot, and its way back.

mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod trees;
mod tuning;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use common::text;
use tuning::{json, node, picture, read, states, tune, unchanged};

/// Where kernel-install finds the command line.
const COMMAND_LINE: &str = "etc/kernel/cmdline";

/// The entry of systemd-boot for the running kernel.
const ENTRY: &str = "boot/loader/entries/2-debian.conf";
const MENU: &str = "boot/grub/grub.cfg";

/// The node with systemd-boot, and a kernel of another system beside its own.
fn with_systemd_boot() -> TempDir {
    let root = node();
    trees::grow(
        root.path(),
        "\
efi/loader/loader.conf: timeout 3
boot/loader/entries/1-other.conf:
    version 6.1.0-28-amd64
    options root=UUID=2 splash
etc/kernel/
proc/cmdline: initrd=\\initrd root=UUID=1 quiet
",
    );
    make_entry(root.path(), "root=UUID=1 quiet");
    root
}

/// What kernel-install does, which copied trees do not have.
fn make_entry(root: &Path, options: &str) {
    write(
        root,
        ENTRY,
        &format!("title Debian\nversion    6.1.0-28-amd64\noptions    {options}\nlinux /vmlinuz\n"),
    );
}

/// Starts the kernel again with these parameters.
fn boot(root: &Path, number: u32, parameters: &str) {
    write(root, "proc/cmdline", &format!("{parameters}\n"));
    write(
        root,
        "proc/sys/kernel/random/boot_id",
        &format!("{number}\n"),
    );
}

fn state_of_nosmt(root: &Path) -> String {
    states(&json(root, "verify"))["nosmt"].clone()
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

#[test]
fn a_second_apply_does_not_forget_what_the_command_line_was() {
    let root = with_systemd_boot();
    let before = picture(root.path());
    tune(root.path(), "apply --only nosmt");
    make_entry(root.path(), "root=UUID=1 quiet nosmt");
    tune(root.path(), "apply --only skew_tick");
    assert_eq!(
        read(root.path(), COMMAND_LINE),
        "root=UUID=1 quiet nosmt skew_tick=1\n"
    );
    let journal = read(root.path(), "var/lib/jitterlab/tuning.journal");
    assert_eq!(
        journal
            .matches(r#""instead":"root=UUID=1 quiet\n""#)
            .count(),
        2,
        "{journal}"
    );
    // One history of two changes: what the first of them wrote is ours.
    write(root.path(), COMMAND_LINE, "root=UUID=1 quiet nosmt\n");
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    make_entry(root.path(), "root=UUID=1 quiet");
    unchanged(root.path(), &before, "revert");
}

#[test]
fn parameters_taken_back_and_wanted_again_are_written_again_for_systemd_boot() {
    let root = with_systemd_boot();
    tune(root.path(), "apply --only nosmt");
    make_entry(root.path(), "root=UUID=1 quiet nosmt");
    assert_eq!(state_of_nosmt(root.path()), "reboot");
    boot(root.path(), 2, "root=UUID=1 quiet nosmt");
    assert_eq!(state_of_nosmt(root.path()), "held");

    tune(root.path(), "revert");
    make_entry(root.path(), "root=UUID=1 quiet");
    // The running kernel has it still; what the next one is to have without us has not.
    let applied = json(root.path(), "apply --only nosmt");
    assert_eq!(
        applied["changes"][0]["place"]["instead"],
        "root=UUID=1 quiet\n"
    );
    assert_eq!(read(root.path(), COMMAND_LINE), "root=UUID=1 quiet nosmt\n");
    make_entry(root.path(), "root=UUID=1 quiet nosmt");
    assert_eq!(state_of_nosmt(root.path()), "held");
}

#[test]
fn parameters_taken_back_and_wanted_again_are_written_again_for_grub() {
    let root = node();
    trees::grow(root.path(), &format!("{MENU}: linux /vmlinuz quiet\n"));
    tune(root.path(), "apply --only nosmt");
    write(root.path(), MENU, "linux /vmlinuz quiet nosmt\n");
    boot(root.path(), 2, "quiet nosmt");
    assert_eq!(state_of_nosmt(root.path()), "held");

    tune(root.path(), "revert");
    write(root.path(), MENU, "linux /vmlinuz quiet\n");
    let plan = json(root.path(), "plan --only nosmt");
    assert_eq!(
        plan["settings"][0]["notes"][0],
        "the kernel was started with nosmt, and will not be the next time"
    );
    tune(root.path(), "apply --only nosmt");
    assert!(read(root.path(), "etc/default/grub.d/95-jitterlab.cfg").contains(" nosmt\""));
    write(root.path(), MENU, "linux /vmlinuz quiet nosmt\n");
    assert_eq!(state_of_nosmt(root.path()), "held");
}

#[test]
fn what_the_menu_has_by_itself_is_not_written() {
    let root = node();
    trees::grow(root.path(), &format!("{MENU}: linux /vmlinuz nosmt\n"));
    boot(root.path(), 2, "nosmt");
    let applied = json(root.path(), "apply --only nosmt");
    assert_eq!(applied["changes"].as_array().unwrap().len(), 0);
}

#[test]
fn a_parameter_in_the_menu_is_a_whole_word() {
    let root = node();
    trees::grow(root.path(), &format!("{MENU}: linux /vmlinuz\n"));
    tune(root.path(), "apply --only nosmt");
    for (line, state) in [
        ("nosmt=force", "drifted"),
        ("nosmt nosmt=force", "drifted"),
        ("x=nosmt", "drifted"),
        ("quiet nosmt debug", "reboot"),
    ] {
        write(root.path(), MENU, &format!("linux /vmlinuz {line}\n"));
        assert_eq!(state_of_nosmt(root.path()), state, "{line}");
    }
}

#[test]
fn a_menu_that_was_not_made_is_made() {
    let root = node();
    trees::grow(root.path(), "boot/grub/grub.cfg: linux /vmlinuz quiet\n");
    tune(root.path(), "apply --only nosmt");
    // A copied tree has nobody who makes it: the file says so, the menu does not.
    let survey = json(root.path(), "verify");
    assert_eq!(states(&survey)["nosmt"], "drifted");
    assert_eq!(
        json(root.path(), "apply --only nosmt")["changes"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    fs::write(
        root.path().join("boot/grub/grub.cfg"),
        "linux /vmlinuz quiet nosmt\n",
    )
    .unwrap();
    assert_eq!(states(&json(root.path(), "verify"))["nosmt"], "reboot");
    fs::write(
        root.path().join("proc/sys/kernel/random/boot_id"),
        "another\n",
    )
    .unwrap();
    let survey = json(root.path(), "verify");
    assert_eq!(states(&survey)["nosmt"], "drifted");
    let note = survey["settings"][0]["notes"][0].as_str().unwrap();
    assert!(
        note.contains("the boot loader has not given it to the kernel"),
        "{note}"
    );
}

/// The appliance, whose root is in memory: nothing is left of the first kernel's plan.
#[test]
fn siblings_that_the_parameters_took_away_are_no_reason_to_start_again() {
    let root = node();
    trees::grow(
        root.path(),
        "etc/jitterlab/appliance:\nsys/devices/system/cpu/online: 0-7\n",
    );
    let given = "isolcpus=managed_irq,domain,4-5,12-13 nohz_full=4-5,12-13 irqaffinity=0-3,6-11,14-15 nosmt";
    boot(root.path(), 2, &format!("quiet {given}"));
    for file in ["isolated", "nohz_full"] {
        let path = format!("sys/devices/system/cpu/{file}");
        write(root.path(), &path, "4-5,12-13\n");
    }
    let only = "--only isolcpus,nohz_full,irqaffinity";
    tune(root.path(), &format!("apply --ranks 2 {only}"));
    for setting in states(&json(root.path(), "verify")) {
        assert_eq!(setting.1, "held", "{setting:?}");
    }
    // Another division is not the same.
    tune(root.path(), "revert");
    tune(root.path(), &format!("apply --ranks 1 {only}"));
    assert_eq!(states(&json(root.path(), "verify"))["isolcpus"], "drifted");
}

#[test]
fn the_appliance_says_who_gives_it_parameters_and_keeps_none() {
    let root = node();
    trees::grow(root.path(), "etc/jitterlab/appliance: here\n");
    let applied = tune(root.path(), "apply --only nosmt");
    assert_eq!(applied.status.code(), Some(1));
    let said = text(&applied.stdout);
    assert!(said.contains("put `tuning:` into node.yaml"), "{said}");
    assert!(!said.contains("A reboot brings"), "{said}");
    assert!(!root.path().join("etc/jitterlab/kernel-parameters").exists());
    assert_eq!(state_of_nosmt(root.path()), "drifted");
    boot(root.path(), 2, "quiet nosmt");
    assert_eq!(state_of_nosmt(root.path()), "held");
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    let again = tune(root.path(), "apply --only nosmt");
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(tune(root.path(), "verify").status.code(), Some(0));
}

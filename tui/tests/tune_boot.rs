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
        ("nosmtx", "drifted"),
        ("x.nosmt=force", "drifted"),
        ("x=nosmt", "drifted"),
        ("quiet -- nosmt", "drifted"),
        // This turns it off as well.
        ("nosmt=force", "reboot"),
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
    assert_eq!(states(&json(root.path(), "verify"))["isolcpus"], "change");
}

#[test]
fn the_appliance_says_who_gives_it_parameters_and_keeps_none() {
    let root = node();
    trees::grow(root.path(), "etc/jitterlab/appliance: here\n");
    let applied = tune(root.path(), "apply --only nosmt");
    assert_eq!(applied.status.code(), Some(1));
    let said = text(&applied.stdout);
    assert!(
        said.contains("put `tuning: measure` or `tuning: paper` into node.yaml"),
        "{said}"
    );
    assert!(!said.contains("A reboot brings"), "{said}");
    assert!(!root.path().join("etc/jitterlab/kernel-parameters").exists());
    assert_eq!(state_of_nosmt(root.path()), "change");
    boot(root.path(), 2, "quiet nosmt");
    assert_eq!(state_of_nosmt(root.path()), "held");
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    let again = tune(root.path(), "apply --only nosmt");
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(tune(root.path(), "verify").status.code(), Some(0));
}

const GRUB: &str = "etc/default/grub";
const DROP_IN: &str = "etc/default/grub.d/95-jitterlab.cfg";

/// The states of the settings and what is said of them, on one line each.
fn said(root: &Path, arguments: &str) -> Vec<String> {
    let survey = json(root, arguments);
    let settings = survey["settings"].as_array().unwrap().clone();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    settings
        .iter()
        .map(|one| {
            let (name, state) = (word(&one["name"]), word(&one["state"]));
            format!("{name} {state}: {}", word(&one["notes"][0]))
                .trim_end_matches(": ")
                .to_string()
        })
        .collect()
}

const ISOLATING: &str = "--ranks 2 --only isolcpus,nohz_full,irqaffinity,skew_tick";

/// The kernel keeps the first `isolcpus=`, and with other CPUs it drops ours, `nohz_full=` with it.
#[test]
fn what_the_kernel_would_not_heed_is_refused_and_its_file_named() {
    let root = node();
    write(
        root.path(),
        GRUB,
        "# site\nGRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"isolcpus=1-3 skew_tick=0\"\n",
    );
    let before = picture(root.path());
    let expected = [
        "isolcpus conflict: /etc/default/grub, line 3, has isolcpus=1-3, and of several isolcpus= the kernel heeds the first: take it out of /etc/default/grub, then `jitterlab tune apply` writes isolcpus=managed_irq,domain,4-5,12-13",
        "nohz_full conflict: /etc/default/grub, line 3, has isolcpus=1-3, and nohz_full= must name the same CPUs as isolcpus=, or the kernel drops it: take it out of /etc/default/grub, then `jitterlab tune apply` writes nohz_full=4-5,12-13",
        "irqaffinity change",
        // Of these the last counts, which is ours.
        "skew_tick change",
    ];
    assert_eq!(said(root.path(), &format!("plan {ISOLATING}")), expected);
    let dry = tune(root.path(), &format!("apply {ISOLATING} --dry-run"));
    assert!(!text(&dry.stdout).contains("isolcpus"));
    unchanged(root.path(), &before, "");

    let output = tune(root.path(), &format!("apply {ISOLATING}"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let drop_in = read(root.path(), DROP_IN);
    let ours = "irqaffinity=0-3,6-11,14-15 skew_tick=1";
    assert!(
        drop_in.ends_with(&format!("DEFAULT {ours}\"\n")),
        "{drop_in}"
    );
    assert_eq!(
        said(root.path(), "verify"),
        [
            expected[0],
            expected[1],
            "irqaffinity reboot",
            "skew_tick reboot"
        ]
    );
    assert_eq!(tune(root.path(), "verify").status.code(), Some(1));

    // Taken out, they are written.
    write(root.path(), GRUB, "GRUB_CMDLINE_LINUX=quiet\n");
    let output = tune(root.path(), &format!("apply {ISOLATING}"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    for one in said(root.path(), "verify") {
        assert!(one.ends_with(" reboot"), "{one}");
    }
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    assert!(!root.path().join(DROP_IN).exists());
}

#[test]
fn whatever_file_of_the_loader_has_another_one_is_named() {
    let lines = |path: &str, line: usize, has: &str| {
        format!("/etc/default/{path}, line {line}, has {has}, and ")
    };
    for (path, content, only, expected) in [
        (
            "grub",
            "GRUB_CMDLINE_LINUX_DEFAULT='quiet \\\n nohz-full=\"1\"'\n",
            "isolcpus",
            lines("grub", 2, "nohz-full=\"1\""),
        ),
        (
            "grub.d/50-site.cfg",
            "CPUS=1-3\nexport GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=nohz,${CPUS}\"\n",
            "nohz_full",
            lines("grub.d/50-site.cfg", 2, "isolcpus=nohz,1-3"),
        ),
        (
            "grub.d/99-last.cfg",
            "GRUB_CMDLINE_LINUX_DEFAULT+=\" skew-tick=0\"\n",
            "skew_tick",
            lines("grub.d/99-last.cfg", 1, "skew-tick=0"),
        ),
        (
            "grub.d/99-last.cfg",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT irqaffinity=4-5\"\n",
            "irqaffinity",
            lines("grub.d/99-last.cfg", 1, "irqaffinity=4-5"),
        ),
        (
            "grub.d/99-last.cfg",
            "\nGRUB_CMDLINE_LINUX_DEFAULT=splash\n",
            "nosmt",
            "/etc/default/grub.d/99-last.cfg, line 2, gives GRUB_CMDLINE_LINUX_DEFAULT a new value, without what /etc/default/grub.d/95-jitterlab.cfg adds".into(),
        ),
        // In ours the first counts, and theirs is behind it; or they name what is ours.
        (
            "grub.d/99-last.cfg",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT isolcpus=1\"\n",
            "isolcpus",
            String::new(),
        ),
        (
            "grub",
            "GRUB_CMDLINE_LINUX=\"isolcpus=1\"\nGRUB_CMDLINE_LINUX=\"\"\n",
            "isolcpus",
            String::new(),
        ),
        ("grub", "GRUB_CMDLINE_LINUX=isolcpus=5,4,12-13\n", "isolcpus", String::new()),
    ] {
        let root = node();
        write(root.path(), &format!("etc/default/{path}"), content);
        let found = said(root.path(), &format!("plan --ranks 2 --only {only}"));
        let expected = match expected.as_str() {
            "" => format!("{only} change"),
            note => format!("{only} conflict: {note}"),
        };
        assert!(found[0].starts_with(&expected), "{content}: {found:?}");
    }
}

/// Quotes, lists in other words, flags in another order, dashes: in force is what means the same.
#[test]
fn what_means_the_same_is_in_force() {
    let wanted =
        "isolcpus,nohz_full,irqaffinity,nosmt,skew_tick,processor.max_cstate,numa-balancing";
    let only = format!("--ranks 2 --only {wanted}");
    let same = "isolcpus=\"domain,managed_irq,12,13,4-5\" nohz-full=4,5,12-13 irqaffinity=1-3,6-11,15,14 nosmt=force skew_tick=0x1 processor.max-cstate=01 \"numa_balancing=disable\"";
    let root = node();
    write(root.path(), "proc/sys/kernel/numa_balancing", "0\n");
    write(root.path(), GRUB, &format!("GRUB_CMDLINE_LINUX='{same}'\n"));
    // It is the site's, and the kernel is not started with it yet.
    let plan = json(root.path(), &format!("plan {only}"));
    for (name, state) in states(&plan) {
        assert_eq!(state, "reboot", "{name}");
    }
    boot(root.path(), 2, same);
    for file in ["isolated", "nohz_full"] {
        let path = format!("sys/devices/system/cpu/{file}");
        write(root.path(), &path, "4,5,12,13\n");
    }
    for (name, state) in states(&json(root.path(), &format!("plan {only}"))) {
        assert_eq!(state, "held", "{name}");
    }
    let applied = json(root.path(), &format!("apply {only}"));
    assert_eq!(applied["changes"].as_array().unwrap().len(), 0);
    assert_eq!(tune(root.path(), "verify").status.code(), Some(0));
    assert!(!root.path().join(DROP_IN).exists());

    // What only looks alike is not.
    boot(root.path(), 3, &same.replace("domain,", ""));
    assert_eq!(states(&json(root.path(), "verify"))["isolcpus"], "reboot");
}

/// Written before it was known, or by what starts the node: of what was dropped it is said why.
#[test]
fn what_the_kernel_has_dropped_is_said_to_be() {
    let root = node();
    let only = "--ranks 2 --only isolcpus";
    assert_eq!(
        tune(root.path(), &format!("apply {only}")).status.code(),
        Some(0)
    );
    let ours = "isolcpus=managed_irq,domain,4-5,12-13";
    boot(root.path(), 2, &format!("quiet isolcpus=1-3 {ours}"));
    write(root.path(), "sys/devices/system/cpu/isolated", "1-3\n");
    let survey = json(root.path(), "verify");
    let setting = &survey["settings"][0];
    assert_eq!(setting["differences"][0]["current"], "isolcpus=1-3");
    assert_eq!(setting["state"], "conflict");
    assert_eq!(
        setting["notes"][0],
        "the kernel was started with isolcpus=1-3 as well, and of several isolcpus= the kernel heeds the first: no file of the boot loader has it now, so restart; if it is there again, it comes from what starts this node (a line that is edited in the boot menu, a network boot)"
    );
    // Applied again, or without ours, the next boot is waited for.
    let applied = tune(root.path(), "apply --only skew_tick");
    assert_eq!(applied.status.code(), Some(0));
    assert_eq!(states(&json(root.path(), "verify"))["isolcpus"], "reboot");
    tune(root.path(), "revert --force");
    assert_eq!(
        said(root.path(), &format!("plan {only}")),
        ["isolcpus change"]
    );
    tune(root.path(), &format!("apply {only}"));
    // A script of GRUB's own may add it to the menu.
    trees::grow(
        root.path(),
        &format!("{MENU}:\n    # made\n    linux /vmlinuz quiet isolcpus=1-3 {ours}\n"),
    );
    let note = said(root.path(), "verify").remove(0);
    assert!(
        note.starts_with("isolcpus conflict: /boot/grub/grub.cfg, line 2, has isolcpus=1-3, and"),
        "{note}"
    );
    let shown = text(&tune(root.path(), "verify").stdout);
    assert!(
        shown.contains("conflict") && shown.contains("settings: 1 conflict"),
        "{shown}"
    );
}

/// With systemd-boot the file is all that counts, and what it has of another one gives way until `revert`.
#[test]
fn another_one_in_the_only_file_gives_way() {
    let root = with_systemd_boot();
    let theirs = "root=UUID=1 isolcpus=1-3 nohz-full=1-3 quiet -- single\n";
    write(root.path(), COMMAND_LINE, theirs);
    make_entry(root.path(), theirs.trim());
    let only = "--ranks 2 --only isolcpus,nohz_full";
    for one in said(root.path(), &format!("plan {only}")) {
        assert!(one.ends_with(" change"), "{one}");
    }
    assert_eq!(
        tune(root.path(), &format!("apply {only}")).status.code(),
        Some(1)
    );
    let ours =
        "root=UUID=1 quiet isolcpus=managed_irq,domain,4-5,12-13 nohz_full=4-5,12-13 -- single";
    assert_eq!(read(root.path(), COMMAND_LINE), format!("{ours}\n"));
    make_entry(root.path(), ours);
    for one in said(root.path(), "verify") {
        assert!(one.ends_with(" reboot"), "{one}");
    }
    // `nohz_full=` alone would have to agree with the other one.
    tune(root.path(), "revert");
    assert_eq!(read(root.path(), COMMAND_LINE), theirs);
    let alone = said(root.path(), "plan --ranks 2 --only nohz_full").remove(0);
    assert!(
        alone.starts_with("nohz_full conflict: /etc/kernel/cmdline, line 1, has isolcpus=1-3, and"),
        "{alone}"
    );
}

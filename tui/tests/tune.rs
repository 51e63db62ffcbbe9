//! `jitterlab tune` on copied trees: what it says, what it writes, and that all of it can be undone.

mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod trees;
mod tuning;

use std::fs;
use std::path::Path;

use serde_json::Value;

use common::{Lab, text};
use tuning::{json, node, picture, read, states, tune, unchanged};

#[test]
fn a_plan_changes_nothing_and_explains_itself() {
    let root = node();
    let before = picture(root.path());
    let plan = json(root.path(), "plan --ranks 2");
    assert_eq!(plan["plan"]["measuring"], "4-5");
    assert_eq!(plan["plan"]["idle"], "12-13");
    let states = states(&plan);
    for (name, state) in [
        ("smt-control", "change"),
        ("cpuset-partition", "change"),
        ("nohz_full", "change"),
        ("rcu_nocbs", "unsupported"),
        ("mitigations", "reported"),
        ("kernel-threads", "unsupported"),
        ("swap", "held"),
    ] {
        assert_eq!(states[name], state, "{name}");
    }
    for setting in plan["settings"].as_array().unwrap() {
        assert!(setting["why"].as_str().unwrap().ends_with('.'), "{setting}");
    }
    let shown = text(&tune(root.path(), "plan --ranks 2").stdout);
    assert!(
        shown.contains("this kernel is built without CONFIG_RCU_NOCB_CPU"),
        "{shown}"
    );
    assert!(shown.contains("meltdown: Mitigation: PTI"), "{shown}");
    unchanged(root.path(), &before, "");
}

/// The settings, places and new values of what `apply` writes or would write.
fn writes(applied: &Value) -> Vec<[Value; 3]> {
    let changes = applied["changes"].as_array().unwrap();
    let write = |change: &Value| ["setting", "place", "new"].map(|key| change[key].clone());
    changes.iter().map(write).collect()
}

#[test]
fn a_dry_run_lists_exactly_what_is_then_changed() {
    let root = node();
    let before = picture(root.path());
    let output = tune(root.path(), "apply --ranks 2 --dry-run");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let dry = json(root.path(), "apply --ranks 2 --dry-run");
    unchanged(root.path(), &before, "");

    let applied = json(root.path(), "apply --ranks 2");
    let (would, did) = (writes(&dry), writes(&applied));
    assert_eq!(would, did);
    assert_eq!(dry["writes"], applied["writes"]);
    assert_eq!(applied["writes"], did.len());
    assert_eq!(shown.lines().count(), did.len() + 1, "{shown}");
    let last = format!("{} changes listed, nothing changed", did.len());
    assert_eq!(shown.lines().last(), Some(last.as_str()));
    assert!(
        shown.contains("skew_tick=1\", then grub-mkconfig\n"),
        "{shown}"
    );
}

#[test]
fn what_was_refused_is_not_counted_as_changed() {
    let root = node();
    // Its directory leads out of the copied tree, where nothing is written.
    let outside = tempfile::tempdir().unwrap();
    let directory = root.path().join("proc/sys/vm");
    fs::rename(&directory, outside.path().join("vm")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("vm"), &directory).unwrap();
    let applied = json(root.path(), "apply --only vm.stat_interval,timer-migration");
    assert_eq!(applied["changes"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&applied["writes"], &applied["wanting"]),
        (&1.into(), &false.into())
    );
}

#[test]
fn what_is_applied_stands_in_the_files() {
    let root = node();
    let outcome = tune(root.path(), "apply --ranks 2");
    assert_eq!(outcome.status.code(), Some(0), "{}", text(&outcome.stderr));
    for (path, content) in [
        ("sys/devices/system/cpu/smt/control", "off\n"),
        ("sys/devices/system/cpu/cpu4/cpuidle/state1/disable", "0\n"),
        ("sys/devices/system/cpu/cpu4/cpuidle/state2/disable", "1\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state2/disable", "0\n"),
        (
            "sys/devices/system/cpu/cpu5/cpufreq/scaling_governor",
            "performance\n",
        ),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        ),
        ("sys/devices/virtual/workqueue/cpumask", "cfcf\n"),
        (
            "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
            "128\n",
        ),
        (
            "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
            "0\n",
        ),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always madvise [never]\n",
        ),
        (
            "sys/fs/cgroup/cgroup.subtree_control",
            "memory pids cpuset\n",
        ),
        ("sys/fs/cgroup/jitterlab/cpuset.cpus", "4-5,12-13\n"),
        (
            "sys/fs/cgroup/jitterlab/cpuset.cpus.partition",
            "isolated\n",
        ),
        ("sys/class/net/ib0/queues/rx-3/rps_cpus", "cfcf\n"),
        ("sys/class/net/ib0/queues/tx-0/xps_cpus", "cfcf\n"),
        ("sys/class/net/ib0/queues/tx-1/xps_cpus", "0010\n"),
        ("sys/class/net/ib0/queues/tx-3/xps_cpus", "0000\n"),
        ("sys/class/net/eno1/queues/tx-0/xps_cpus", "0000\n"),
        ("proc/irq/default_smp_affinity", "cfcf\n"),
        ("proc/irq/24/smp_affinity_list", "0-3,6-11,14-15\n"),
        ("proc/irq/28/smp_affinity_list", "0-3\n"),
        ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
        ("proc/sys/kernel/watchdog_cpumask", "0-3,6-11,14-15\n"),
    ] {
        assert_eq!(read(root.path(), path), content, "{path}");
    }
    let drop_in = read(root.path(), "etc/default/grub.d/95-jitterlab.cfg");
    let parameters = "transparent_hugepage=never numa_balancing=disable nmi_watchdog=0 nosoftlockup isolcpus=managed_irq,domain,4-5,12-13 nohz_full=4-5,12-13 irqaffinity=0-3,6-11,14-15 processor.max_cstate=1 intel_idle.max_cstate=0 nosmt skew_tick=1";
    assert_eq!(
        drop_in.lines().last().unwrap(),
        format!("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {parameters}\"")
    );
    assert!(
        read(root.path(), "etc/security/limits.d/95-jitterlab.conf")
            .contains("* - memlock unlimited")
    );
    let again = json(root.path(), "apply");
    assert_eq!(again["changes"], Value::Array(Vec::new()));
}

/// What the next boot does to a copied tree: run-time values are the kernel's own again, and its
/// parameters are the drop-in's.
fn reboot(root: &Path, keep: &Path) {
    let drop_in = read(root, "etc/default/grub.d/95-jitterlab.cfg");
    let parameters = drop_in
        .split_once("$GRUB_CMDLINE_LINUX_DEFAULT ")
        .unwrap()
        .1
        .trim_end_matches("\"\n");
    let settings = include_str!("../../node-tuning/tests/settings.tree");
    let fresh = settings
        .lines()
        .filter(|line| line.starts_with("sys/") || line.starts_with("proc/"));
    trees::grow(root, &(fresh.collect::<Vec<_>>().join("\n") + "\n"));
    fs::remove_dir_all(root.join("sys/fs/cgroup/jitterlab")).unwrap();
    let line = fs::read_to_string(keep.join("proc/cmdline")).unwrap();
    fs::write(
        root.join("proc/cmdline"),
        format!("{} {parameters}\n", line.trim()),
    )
    .unwrap();
    fs::write(root.join("proc/sys/kernel/random/boot_id"), "another\n").unwrap();
    for file in ["isolated", "nohz_full"] {
        fs::write(
            root.join("sys/devices/system/cpu").join(file),
            "4-5,12-13\n",
        )
        .unwrap();
    }
}

#[test]
fn verify_follows_the_settings_over_a_reboot() {
    let (root, untouched) = (node(), node());
    assert_eq!(tune(root.path(), "verify").status.code(), Some(2));
    tune(root.path(), "apply --ranks 2");
    let survey = json(root.path(), "verify");
    assert_eq!(states(&survey)["isolcpus"], "reboot");
    assert_eq!(states(&survey)["governor"], "held");
    assert_eq!(tune(root.path(), "verify").status.code(), Some(1));

    reboot(root.path(), untouched.path());
    let survey = states(&json(root.path(), "verify"));
    assert_eq!(survey["isolcpus"], "held");
    assert_eq!(survey["governor"], "drifted");
    assert_eq!(survey["nosmt"], "held");
    // isolcpus isolates them now.
    assert_eq!(survey["cpuset-partition"], "held");

    tune(root.path(), "apply");
    assert_eq!(tune(root.path(), "verify").status.code(), Some(0));

    // A kernel that was told, and does not heed it.
    fs::write(
        root.path().join("sys/devices/system/cpu/nohz_full"),
        "(null)\n",
    )
    .unwrap();
    let survey = json(root.path(), "verify");
    assert_eq!(states(&survey)["nohz_full"], "unsupported");

    // What the first boot changed is gone with it; what the second did is put back, and the file.
    let reverted = json(root.path(), "revert");
    assert_eq!(reverted["left"], Value::Array(Vec::new()), "{reverted}");
    // The partition of the first boot at least, which the second did not want.
    assert!(reverted["gone"].as_u64().unwrap() >= 4, "{reverted}");
    assert_eq!(reverted["reboot"], true);
    assert!(
        !root
            .path()
            .join("etc/default/grub.d/95-jitterlab.cfg")
            .exists()
    );
    assert_eq!(
        read(
            root.path(),
            "sys/devices/system/cpu/cpu4/cpufreq/scaling_governor"
        ),
        "powersave\n"
    );
}

#[test]
fn revert_restores_every_byte_and_says_so() {
    let root = node();
    let before = picture(root.path());
    for profile in ["measure", "reversible", "paper"] {
        let applied = json(root.path(), &format!("apply --profile {profile}"));
        assert!(!applied["changes"].as_array().unwrap().is_empty());
        assert!(picture(root.path()) != before);
        let output = tune(root.path(), "revert");
        assert_eq!(output.status.code(), Some(0));
        unchanged(root.path(), &before, profile);
    }
    assert_eq!(
        text(&tune(root.path(), "revert").stdout),
        "values put back: 0\n"
    );
    unchanged(root.path(), &before, "");
}

#[test]
fn profiles_are_what_they_say() {
    let root = node();
    let before = picture(root.path());
    tune(root.path(), "apply --profile reversible");
    let after = picture(root.path());
    let persistent = |path: &Path| path.starts_with(root.path().join("etc"));
    assert!(
        before
            .iter()
            .filter(|(path, _)| persistent(path))
            .all(|(path, file)| after[path] == *file)
    );
    assert_eq!(
        after.keys().filter(|path| persistent(path)).count(),
        before.keys().filter(|path| persistent(path)).count()
    );
    tune(root.path(), "revert");

    tune(root.path(), "apply --profile paper --ranks 2");
    let drop_in = read(root.path(), "etc/default/grub.d/95-jitterlab.cfg");
    assert!(drop_in.ends_with("$GRUB_CMDLINE_LINUX_DEFAULT isolcpus=4-5,12-13 processor.max_cstate=1 intel_idle.max_cstate=0 nosmt\"\n"), "{drop_in}");
    assert_eq!(read(root.path(), "proc/sys/vm/stat_interval"), "1\n");
}

#[test]
fn named_settings_only_and_mitigations_when_they_are_named() {
    let root = node();
    tune(root.path(), "apply --only vm.stat_interval");
    assert_eq!(read(root.path(), "proc/sys/vm/stat_interval"), "120\n");
    assert_eq!(read(root.path(), "proc/sys/kernel/timer_migration"), "1\n");
    tune(root.path(), "apply --only mitigations,timer-migration");
    assert!(
        read(root.path(), "etc/default/grub.d/95-jitterlab.cfg").contains(" mitigations=off\"")
    );
    let survey = states(&json(root.path(), "verify"));
    let names: Vec<&str> = survey.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["mitigations", "timer-migration", "vm.stat_interval"]
    );
}

#[test]
fn what_is_in_force_is_not_mixed_with_anything_else() {
    let root = node();
    let start = picture(root.path());
    tune(root.path(), "apply --ranks 2");
    let before = picture(root.path());
    for arguments in [
        "apply --only governor --ranks 1",
        "apply --device eno1",
        "apply --profile paper",
        "apply --profile reversible --ranks 2",
        "apply --profile paper --only nosmt --dry-run",
    ] {
        let output = tune(root.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let said = text(&output.stderr);
        for part in [
            "profile measure",
            "CPUs 4-5",
            "`jitterlab tune revert` first",
        ] {
            assert!(said.contains(part), "{arguments}: {said}");
        }
        unchanged(root.path(), &before, arguments);
    }
    // A plan is made of anything.
    let plan = json(root.path(), "plan --ranks 1");
    assert_eq!(plan["plan"]["measuring"], "4");

    // The siblings are offline now, and still those that are to stay empty.
    let online = root.path().join("sys/devices/system/cpu/online");
    fs::write(&online, "0-7\n").unwrap();
    for arguments in [
        "apply --ranks 2",
        "apply",
        "apply --ranks 2 --only mitigations",
    ] {
        let output = tune(root.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}");
    }
    assert_eq!(json(root.path(), "verify")["plan"]["idle"], "12-13");
    fs::write(&online, "0-15\n").unwrap();
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    unchanged(root.path(), &start, "revert");
    let output = tune(root.path(), "apply --profile paper");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_somebody_else_changed_is_left_alone_unless_forced() {
    let root = node();
    let before = picture(root.path());
    tune(root.path(), "apply");
    let limits = "etc/security/limits.d/95-jitterlab.conf";
    for (path, content) in [
        ("proc/sys/vm/stat_interval", "7\n"),
        ("proc/irq/default_smp_affinity", "0003\n"),
        (limits, "* - memlock 64\n"),
    ] {
        fs::write(root.path().join(path), content).unwrap();
    }
    let output = tune(root.path(), "revert");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("left alone, changed by somebody else since: vm.stat_interval: /proc/sys/vm/stat_interval says 7, before it was 1"), "{said}");
    assert_eq!(read(root.path(), "proc/sys/vm/stat_interval"), "7\n");
    assert_eq!(read(root.path(), "proc/sys/kernel/timer_migration"), "1\n");
    let forced = tune(root.path(), "revert --force");
    assert_eq!(forced.status.code(), Some(0));
    // What stood there, and not what `apply` had put there.
    let said = text(&forced.stderr);
    for line in [
        "vm.stat_interval: /proc/sys/vm/stat_interval: 7 -> 1",
        "memlock: /etc/security/limits.d/95-jitterlab.conf: * - memlock 64 -> nothing",
        "irq-default-affinity: /proc/irq/default_smp_affinity: 0-1 -> 0-15",
    ] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
    unchanged(root.path(), &before, "");
}

#[test]
fn what_is_refused_is_a_finding_and_the_rest_is_done() {
    let root = node();
    let file = root.path().join("proc/sys/vm/stat_interval");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let output = tune(root.path(), "apply");
    let survey = json(root.path(), "verify");
    assert_eq!(states(&survey)["vm.stat_interval"], "unsupported");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(read(root.path(), "proc/sys/kernel/timer_migration"), "0\n");
}

#[test]
fn wrong_input_is_told_and_changes_nothing() {
    let root = node();
    let before = picture(root.path());
    for (arguments, says) in [
        (
            "apply --only nosm",
            "there is no setting `nosm` (do you mean nosmt?)",
        ),
        (
            "apply --ranks 9",
            "there are not enough cores for 9 ranks on package 1",
        ),
        ("plan --ranks 0", "at least 1 rank"),
        ("plan --device eth7", "there is no device eth7"),
        ("apply --profile fast", "invalid value 'fast'"),
        (
            "apply --profile reversible --only vm.stat_interval,isolcpus",
            "the profile reversible does not contain the setting isolcpus",
        ),
        (
            "plan --profile reversible --only memlock",
            "the profile reversible does not contain the setting memlock",
        ),
        (
            "apply --profile paper --only vm.stat_interval --dry-run",
            "the profile paper does not contain the setting vm.stat_interval",
        ),
        ("verify", "nothing was applied on this node"),
    ] {
        let output = tune(root.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let said = text(&output.stderr);
        assert!(said.contains(says), "{arguments}: {said}");
    }
    let output = tune(Path::new("/nowhere"), "plan");
    assert_eq!(output.status.code(), Some(2));
    unchanged(root.path(), &before, "");
}

#[test]
fn a_damaged_journal_is_told_and_nothing_is_changed() {
    let root = node();
    tune(root.path(), "apply --only vm.stat_interval");
    let journal = root.path().join("var/lib/jitterlab/tuning.journal");
    let whole = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{{}}\n{whole}")).unwrap();
    let before = picture(root.path());
    for verb in ["verify", "revert", "apply", "plan"] {
        let output = tune(root.path(), verb);
        assert_eq!(output.status.code(), Some(3), "{verb}");
        assert!(
            text(&output.stderr).contains("tuning.journal, line 1,"),
            "{verb}"
        );
        unchanged(root.path(), &before, verb);
    }
}

#[test]
fn links_of_a_copied_tree_do_not_lead_out_of_it() {
    let (root, outside) = (node(), tempfile::tempdir().unwrap());
    let victim = outside.path().join("victim");
    fs::write(&victim, "1\n").unwrap();
    let file = root.path().join("proc/sys/vm/stat_interval");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&victim, &file).unwrap();
    tune(root.path(), "apply --only vm.stat_interval");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "1\n");
}

#[test]
fn a_journal_cut_off_at_any_byte_still_serves() {
    let root = node();
    let before = picture(root.path());
    tune(root.path(), "apply --only vm.stat_interval");
    let file = root.path().join("var/lib/jitterlab/tuning.journal");
    let journal = fs::read(&file).unwrap();
    tune(root.path(), "revert");
    let last = journal[..journal.len() - 1]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .unwrap()
        + 1;
    for length in last..journal.len() {
        // What a power cut leaves of a line that was not on the disk: its change was not begun.
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &journal[..length]).unwrap();
        assert_eq!(
            tune(root.path(), "revert").status.code(),
            Some(0),
            "{length}"
        );
        unchanged(root.path(), &before, &format!("{length}"));
    }
}

#[test]
fn a_check_of_a_copied_tree_is_of_its_settings() {
    let root = node();
    let check = |arguments: &str| {
        let lab = Lab::new();
        lab.command("check")
            .args(arguments.split_whitespace())
            .arg("--root")
            .arg(root.path())
            .output()
            .unwrap()
    };
    let before = picture(root.path());
    let output = check("");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(
        said.contains("Nothing has been applied on this node")
            && said.ends_with("not fit: see above\n"),
        "{said}"
    );
    unchanged(root.path(), &before, "");

    tune(root.path(), "apply --profile reversible");
    let output = check("--format json");
    assert_eq!(output.status.code(), Some(0));
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&verdict["fit"], &verdict["tuned"], &verdict["noise"]),
        (&true.into(), &true.into(), &Value::Null)
    );
    fs::write(root.path().join("proc/sys/kernel/timer_migration"), "1\n").unwrap();
    assert_eq!(check("").status.code(), Some(1));
}

#[test]
fn a_number_that_the_kernel_did_not_reach_is_ours() {
    let root = node();
    let before = picture(root.path());
    let pool = root
        .path()
        .join("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
    tune(
        root.path(),
        "apply --only huge-pages,vm.stat_interval --ranks 1",
    );
    fs::write(&pool, "37\n").unwrap();
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    unchanged(root.path(), &before, "revert");
}

#[test]
fn two_applies_are_reverted_to_what_was_before_the_first() {
    let root = node();
    let before = picture(root.path());
    tune(root.path(), "apply --ranks 1 --only irq-affinity,isolcpus");
    assert_eq!(
        read(root.path(), "proc/irq/24/smp_affinity_list"),
        "0-3,5-11,13-15\n"
    );
    tune(root.path(), "apply --ranks 1 --only nosmt,huge-pages");
    let drop_in = read(root.path(), "etc/default/grub.d/95-jitterlab.cfg");
    assert!(
        drop_in.ends_with(" isolcpus=managed_irq,domain,4,12 nosmt\"\n"),
        "{drop_in}"
    );
    // A revert that was interrupted there.
    fs::write(root.path().join("proc/irq/25/smp_affinity_list"), "0-15\n").unwrap();
    assert_eq!(tune(root.path(), "revert").status.code(), Some(0));
    unchanged(root.path(), &before, "revert");

    // Between the two somebody else has had his say, and that stands.
    tune(root.path(), "apply --ranks 1 --only irq-affinity");
    fs::write(root.path().join("proc/irq/24/smp_affinity_list"), "4\n").unwrap();
    tune(root.path(), "apply --ranks 1 --only irq-affinity");
    assert_eq!(
        read(root.path(), "proc/irq/24/smp_affinity_list"),
        "0-3,5-11,13-15\n"
    );
    tune(root.path(), "revert");
    assert_eq!(read(root.path(), "proc/irq/24/smp_affinity_list"), "4\n");
}

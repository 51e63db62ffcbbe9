//! `jitterlab check --health` as the health check of a real Slurm, on a copied tree that was tuned.

mod allocation;
mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod trees;
mod tuning;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use allocation::{Slurm, has_slurm};
use common::experiments::until;
use common::text;
use tempfile::TempDir;

const SETTING: &str = "proc/sys/vm/stat_interval";

/// A Slurm, and a tuned tree that its health check looks at.
struct Node {
    slurm: Slurm,
    root: TempDir,
}

impl Node {
    /// `extra` are lines of slurm.conf; `{folder}` stands for the folder of the lab.
    fn start(extra: &str) -> Self {
        let slurm = Slurm::with(extra);
        let root = tuning::node();
        let applied = tuning::tune(root.path(), "apply --only vm.stat_interval");
        assert_eq!(applied.status.code(), Some(0), "{}", text(&applied.stdout));
        Node { slurm, root }
    }

    fn drifts(&self) {
        fs::write(self.root.path().join(SETTING), "1\n").unwrap();
    }

    /// What was applied is in force again.
    fn fits(&self, applied: &str) {
        fs::write(self.root.path().join(SETTING), applied).unwrap();
    }

    /// The one line that a check prints.
    fn checked(&self) -> String {
        let mut check = self.slurm.command(env!("CARGO_BIN_EXE_jitterlab"));
        check
            .args(["check", "--health", "--root"])
            .arg(self.root.path());
        let output = check.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert_eq!(said.lines().count(), 1, "{said}");
        said.trim_end().into()
    }

    /// State and reason, as Slurm has them.
    fn standing(&self) -> (String, String) {
        let node = self.name();
        let shown = self
            .slurm
            .command("scontrol")
            .args(["show", "node", &node])
            .output();
        let shown = text(&shown.unwrap().stdout);
        let value = |key: &str| {
            let line = shown.lines().find_map(|line| line.trim().strip_prefix(key));
            line.unwrap_or_default().to_string()
        };
        // A node that was resumed does not respond, in the eyes of Slurm, until it has registered again.
        let state = value("State=").replace("+NOT_RESPONDING", "");
        let state = state.split(' ').next().unwrap().to_string();
        let reason = value("Reason=");
        let reason = reason.split(" [").next().unwrap().to_string();
        (state, reason)
    }

    fn name(&self) -> String {
        let said = self
            .slurm
            .command("sinfo")
            .args(["-h", "-o", "%n"])
            .output();
        text(&said.unwrap().stdout).trim().into()
    }

    fn update(&self, what: &[&str]) {
        let mut scontrol = self.slurm.command("scontrol");
        let node = format!("NodeName={}", self.name());
        let status = scontrol.args(["update", &node]).args(what).status();
        assert!(status.unwrap().success(), "{what:?}");
    }
}

fn is(state: &str, reason: &str) -> (String, String) {
    (state.into(), reason.into())
}

const REASON: &str = "jitterlab: vm.stat_interval (drifted)";

#[test]
fn a_node_that_drifted_is_drained_and_resumed_when_it_fits_again() {
    if !has_slurm() {
        return;
    }
    let node = Node::start("");
    let applied = tuning::read(node.root.path(), SETTING);
    assert_eq!(node.checked(), "fit");
    assert_eq!(node.standing(), is("IDLE", ""));
    node.drifts();
    assert_eq!(
        node.checked(),
        "not fit: vm.stat_interval (drifted); drained"
    );
    assert_eq!(node.standing(), is("IDLE+DRAIN", REASON));
    assert_eq!(node.checked(), "not fit: vm.stat_interval (drifted)");
    node.fits(&applied);
    assert_eq!(node.checked(), "fit; resumed");
    assert_eq!(node.standing(), is("IDLE", ""));
}

#[test]
fn what_somebody_else_has_drained_stays_as_it_is() {
    if !has_slurm() {
        return;
    }
    let node = Node::start("");
    let applied = tuning::read(node.root.path(), SETTING);
    let theirs = is("IDLE+DRAIN", "bad DIMM");
    node.update(&["State=DRAIN", "Reason=bad DIMM"]);
    assert_eq!(
        node.checked(),
        "fit; left as it is: IDLE+DRAIN, reason: bad DIMM"
    );
    assert_eq!(node.standing(), theirs);
    node.drifts();
    assert_eq!(
        node.checked(),
        "not fit: vm.stat_interval (drifted); left as it is: IDLE+DRAIN, reason: bad DIMM"
    );
    assert_eq!(node.standing(), theirs);
    // One that we have drained is theirs as soon as the reason is.
    node.update(&["State=RESUME"]);
    assert_eq!(
        node.checked(),
        "not fit: vm.stat_interval (drifted); drained"
    );
    node.update(&["Reason=bad DIMM"]);
    node.fits(&applied);
    node.checked();
    assert_eq!(node.standing(), theirs);
}

#[test]
fn slurm_starts_the_check_itself() {
    if !has_slurm() {
        return;
    }
    let node = Node::start(
        "HealthCheckProgram={folder}health\nHealthCheckInterval=1\nHealthCheckNodeState=ANY\n",
    );
    let applied = tuning::read(node.root.path(), SETTING);
    let program = node.slurm.lab.path("health.new");
    let script = format!(
        "#!/bin/sh\nSLURM_CONF={} exec {} check --health --root {}\n",
        node.slurm.lab.path("slurm.conf").display(),
        env!("CARGO_BIN_EXE_jitterlab"),
        node.root.path().display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&program, node.slurm.lab.path("health")).unwrap();
    node.drifts();
    until(|| node.standing() == is("IDLE+DRAIN", REASON));
    node.fits(&applied);
    until(|| node.standing() == is("IDLE", ""));
}

#[test]
fn a_check_without_slurm_says_so_in_its_line() {
    let root = tuning::node();
    let lab = common::Lab::new();
    let check = |path: &str| {
        let mut check = lab.command("check --health --root");
        check.arg(root.path()).env("PATH", path);
        let output = check.output().unwrap();
        (output.status.code(), text(&output.stdout))
    };
    fs::create_dir(lab.path("bin")).unwrap();
    let bin = lab.path("bin").display().to_string();
    let (status, said) = check(&bin);
    assert_eq!(status, Some(0));
    assert_eq!(
        said,
        "fit: nothing was applied that could have changed; nothing is done about it: cannot start scontrol: No such \
         file or directory (os error 2)\n"
    );
    // A controller that does not answer is not waited for: the check ends before Slurm would kill it.
    for (name, script) in [
        ("scontrol", "#!/bin/sh\nexec sleep 3000\n"),
        (
            "timeout",
            "#!/bin/sh\nexec /usr/bin/timeout 0.1 sleep 3000\n",
        ),
    ] {
        let program = lab.path(&format!("bin/{name}"));
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (status, said) = check(&lab.path_with_bin());
    assert_eq!(status, Some(0));
    assert!(
        said.ends_with("scontrol did not answer within 10 s\n"),
        "{said}"
    );
    lab.refuses(
        &format!(
            "check --health --duration 10s --root {}",
            root.path().display()
        ),
        "a health check measures noise for 5s at most: Slurm kills it after 60s",
    );
}

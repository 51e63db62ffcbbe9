//! Real programs under `jitterlab inject run`: those of Debian's that are installed.

mod common;

use std::path::Path;
use std::process::Command;

use common::text;
use jitterlab_skip::{built, skip, skip_part};

#[test]
fn programs_do_under_injection_what_they_do_alone() {
    built();
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../injector/preload/tests/programs/run");
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("there is no python3");
    }
    let output = Command::new("python3")
        .arg(script)
        .env("JITTERLAB", env!("CARGO_BIN_EXE_jitterlab"))
        .output()
        .unwrap();
    let stdout = text(&output.stdout);
    let skipped = stdout.lines().filter_map(|line| line.strip_prefix("skip "));
    for (program, why) in skipped.filter_map(|line| line.split_once(": ")) {
        skip_part(program, why);
    }
    assert!(
        output.status.success(),
        "{}\n{stdout}{}",
        output.status,
        text(&output.stderr)
    );
}

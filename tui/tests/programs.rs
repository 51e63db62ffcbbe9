//! Real programs under `jitterlab inject run`: those of Debian's that are installed.

mod common;

use std::path::Path;
use std::process::Command;

use common::{build_library, text};

#[test]
fn programs_do_under_injection_what_they_do_alone() {
    build_library();
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../injector/preload/tests/programs/run");
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("left out: needs python3");
        return;
    }
    let output = Command::new("python3")
        .arg(script)
        .env("JITTERLAB", env!("CARGO_BIN_EXE_jitterlab"))
        .output()
        .unwrap();
    let stdout = text(&output.stdout);
    // Programs that are skipped, and how many there were of each.
    for line in stdout.lines().filter(|line| !line.starts_with("ok ")) {
        eprintln!("{line}");
    }
    assert!(
        output.status.success(),
        "{}\n{stdout}{}",
        output.status,
        text(&output.stderr)
    );
}

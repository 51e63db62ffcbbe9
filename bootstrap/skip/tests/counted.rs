//! A run of tests that skip, counted as bootstrap/test counts it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use jitterlab_skip::{skip, skip_part};

#[test]
#[ignore = "the tests below start it"]
fn tried_passes() {}

#[test]
#[ignore = "the tests below start it"]
fn tried_skips() {
    skip("there is no mpirun");
    skip("only root may");
    skip("there is no mpirun");
}

#[test]
#[ignore = "the tests below start it"]
fn tried_skips_a_part() {
    skip_part("java", "package default-jre is not installed");
}

#[test]
#[ignore = "the tests below start it"]
fn tried_skips_and_fails() {
    skip("one thing is missing");
    panic!("and another is wrong");
}

/// What bootstrap/count.awk makes of a log.
fn count(log: &[u8], status: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../count.awk");
    let mut awk = Command::new("awk")
        .args(["-v", &format!("status={status}"), "-f"])
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    awk.stdin.take().unwrap().write_all(log).unwrap();
    String::from_utf8(awk.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn what_is_skipped_has_not_passed() {
    for threads in ["1", "4"] {
        // Both ends in one file, as on a terminal.
        let ran = Command::new("sh")
            .args(["-c", r#""$0" tried --ignored --test-threads "$1" 2>&1"#])
            .arg(std::env::current_exe().unwrap())
            .arg(threads)
            .output()
            .unwrap();
        let counted = count(&ran.stdout, "101");
        let mut lines: Vec<&str> = counted.lines().collect();
        assert_eq!(lines.pop(), Some("2 passed, 1 failed, 2 skipped"));
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "skipped: counted::tried_skips: there is no mpirun; only root may",
                "skipped: counted::tried_skips_a_part::java: package default-jre is not installed",
            ]
        );
    }
}

#[test]
fn scenarios_and_what_crashed_are_counted_too() {
    let log = b"test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
        skipped: images::appliance/console: there is no python3-pyte\n\
        ==> 3 passed, 1 failed, 1 skipped\n";
    assert_eq!(
        count(log, "1"),
        "skipped: images::appliance/console: there is no python3-pyte\n15 passed, 1 failed, 1 skipped\n"
    );
    let crashed = b"error: test failed, to rerun pass `-p jitterlab --test run`\n";
    assert_eq!(count(crashed, "101"), "0 passed, 1 failed, 0 skipped\n");
    assert_eq!(count(b"", "0"), "0 passed, 0 failed, 0 skipped\n");
}

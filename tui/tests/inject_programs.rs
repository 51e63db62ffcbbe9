//! Programs of other C libraries and of other words, under sanitizers, in sandboxes: what `inject run` and the doctor say of
//! them, and what comes of their sends.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use common::{Lab, text};
use jitterlab_skip::{built, skip};
use serde_json::Value;

fn lab() -> Lab {
    built();
    let lab = Lab::new();
    lab.done("dist make --shape constant --mean 10us -o t.dist");
    lab.write("s.seed", "7\n");
    lab
}

const RUN: &str = "inject run --table t.dist --seed s.seed --report r.json";

/// Builds a fixture; false, and said, where the machine has not what that takes.
fn build(lab: &Lab, compiler: &str, options: &[&str], fixture: &str, name: &str) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{fixture}.c"));
    let output = Command::new(compiler)
        .args(["-O1", "-g"])
        .args(options)
        .arg("-o")
        .arg(lab.path(name))
        .arg(source)
        .output();
    let is_built = output.is_ok_and(|output| output.status.success());
    if !is_built {
        skip(format_args!(
            "{compiler} {} makes no programs here",
            options.join(" ")
        ));
    }
    is_built
}

fn script(lab: &Lab, name: &str, line: &str) {
    lab.write(name, format!("{line}\n"));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(lab.path(name), executable).unwrap();
}

/// Calls of `sendto` that the processes have reported.
fn sends(lab: &Lab) -> u64 {
    let lines = std::fs::read_to_string(lab.path("r.json")).unwrap_or_default();
    let calls = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["ended"], "exit");
        line["calls"]["sendto"].as_u64().unwrap()
    };
    lines.lines().map(calls).sum()
}

fn kinds(report: &Value, list: &str) -> Vec<String> {
    let findings = report[list].as_array().unwrap().iter();
    findings
        .map(|finding| finding["kind"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn a_program_of_another_c_library_that_a_program_starts_runs_as_ever() {
    let lab = lab();
    if !build(&lab, "musl-gcc", &[], "ends", "musl") || !build(&lab, "cc", &[], "ends", "usual") {
        return;
    }
    script(&lab, "starts", "#!/bin/sh\n./musl exit && ./usual exit");
    let mut command = lab.command(RUN);
    let output = command.arg("--").arg("./starts").output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    assert!(sends(&lab) > 0);
}

#[test]
fn a_program_of_another_c_library_is_refused_in_one_line() {
    let lab = lab();
    if !build(&lab, "musl-gcc", &[], "ends", "musl") {
        return;
    }
    let program = lab.path("musl").display().to_string();
    script(&lab, "direct", &format!("#!{program} exit"));
    script(&lab, "by_env", "#!/usr/bin/env -S ./musl exit");
    script(
        &lab,
        "twice",
        &format!("#!{}", lab.path("direct").display()),
    );
    let refused = |words: &[&str]| {
        let mut command = lab.command(RUN);
        let output = command.arg("--").args(words).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(
            stderr.starts_with("jitterlab: nothing can be injected into ")
                && stderr.contains("musl: it is linked against another C library than glibc"),
            "{stderr}"
        );
        assert!(!lab.path("r.json").exists(), "{words:?} ran");
    };
    for command in [
        "./musl",
        "./direct",
        "./by_env",
        "./twice",
        "env A=1 B=2 ./musl exit",
        "timeout 2 ./musl",
        "nice -n 1 timeout -s KILL 2 ./musl",
        "taskset -c 0 ./musl",
    ] {
        refused(&command.split(' ').collect::<Vec<_>>());
    }
    refused(&["sh", "-c", "true; exec ./musl exit"]);

    // The doctor watches it without the library.
    for program in ["./musl", "./direct"] {
        let output = lab.run(&format!("inject doctor --format json -- {program}"));
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), "");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(kinds(&report, "bypasses"), ["other-libc"]);
        assert_eq!(report["rows"][0]["bypassed"], 10, "{report}");
        assert_eq!(report["ended"]["exit-status"], 0);
    }
    // What a shell starts cannot be told beforehand; what became of it can.
    script(&lab, "hidden", "#!/bin/sh\n./m*l exit");
    let output = lab.run("inject doctor --format json -- ./hidden");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(kinds(&report, "bypasses"), ["other-libc"], "{report}");
}

#[test]
fn a_program_of_32_bits_runs_and_is_named() {
    let lab = lab();
    if !build(&lab, "cc", &["-m32"], "ends", "short") {
        return;
    }
    for command in ["./short", "env ./short"] {
        let output = lab.run(&format!("{RUN} -- {command}"));
        assert_eq!(output.status.code(), Some(0));
        let warning = "jitterlab: nothing is injected into ./short: it is not a 64-bit program of this machine\n";
        assert!(text(&output.stderr).starts_with(warning));
    }
}

/// A watched program ends well and without a word, and every send is counted.
fn is_content(lab: &Lab, output: &Output, what: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{what}: {stderr}");
    // The sanitizer of leaks cannot stop a thread that it does not know.
    let said = stderr
        .lines()
        .filter(|line| !line.ends_with("False leaks are possible."));
    assert_eq!(said.collect::<Vec<_>>(), [""; 0], "{what}");
    assert_eq!(sends(lab), 125, "{what}");
    std::fs::remove_file(lab.path("r.json")).unwrap();
}

#[test]
fn programs_under_sanitizers_run_as_ever_and_leak_nothing() {
    let lab = lab();
    for sanitizer in ["address", "leak", "thread", "undefined"] {
        let option = format!("-fsanitize={sanitizer}");
        if !build(&lab, "gcc", &[&option, "-pthread"], "watched", "watched") {
            continue;
        }
        let runtime = Command::new("ldd")
            .arg(lab.path("watched"))
            .output()
            .unwrap();
        let runtime = text(&runtime.stdout);
        let runtime = runtime
            .split_whitespace()
            .find(|word| word.contains("san.so"));
        for mode in ["spin", "defer"] {
            let line = format!("{RUN} --mode {mode} -- ");
            for command in ["./watched", "sh -c ./watched", "env A=1 ./watched"] {
                let output = lab.run(&format!("{line}{command}"));
                is_content(&lab, &output, &format!("{sanitizer}, {mode}: {command}"));
            }
            // As people do who cannot have it come first otherwise.
            if let Some(runtime) = runtime.filter(|_| sanitizer == "address") {
                let mut command = lab.command(&format!("{line}./watched"));
                let output = command.env("LD_PRELOAD", runtime).output().unwrap();
                is_content(&lab, &output, &format!("{sanitizer}, {mode}: {runtime}"));
            }
        }
        let report = lab.run("inject doctor --format json -- ./watched");
        assert_eq!(text(&report.stderr), "", "{sanitizer}");
        assert_eq!(report.status.code(), Some(0), "{sanitizer}");
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        if runtime.is_some() {
            assert_eq!(kinds(&report, "notes"), ["sanitizer"], "{sanitizer}");
        }
    }
}

#[test]
fn valgrind_finds_nothing_lost() {
    let lab = lab();
    if !Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        return skip("there is no valgrind");
    }
    assert!(build(&lab, "cc", &["-pthread"], "watched", "watched"));
    let options = "valgrind -q --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite --error-exitcode=9";
    for mode in ["spin", "defer"] {
        let output = lab.run(&format!("{RUN} --mode {mode} -- {options} ./watched"));
        is_content(&lab, &output, mode);
    }
}

#[test]
fn the_doctor_names_sandboxes_and_libraries_that_are_opened_later() {
    let lab = lab();
    assert!(build(&lab, "cc", &[], "sandbox", "sandbox"));
    let report = lab.json("inject doctor --format json -- ./sandbox");
    assert_eq!(kinds(&report, "notes"), ["sandbox"]);
    let verbs = "libibverbs.so.1";
    let report = lab.run(&format!("inject doctor --format json -- ./sandbox {verbs}"));
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    if report["ended"]["exit-status"] == 8 {
        return skip(format_args!("there is no {verbs}"));
    }
    assert_eq!(kinds(&report, "notes"), ["sandbox", "opened-later"]);
    assert!(report["notes"][1]["text"].as_str().unwrap().contains(verbs));
    let people = text(
        &lab.run(&format!("inject doctor -- ./sandbox {verbs}"))
            .stdout,
    );
    assert!(people.contains("\nworth knowing:\n- "), "{people}");
}

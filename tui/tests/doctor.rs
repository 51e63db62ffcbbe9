//! `jitterlab inject doctor`, on programs that send in known ways.
//!
//! The doctor reads the registers of x86-64.
#![cfg(target_arch = "x86_64")]

mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use common::{Lab, text};
use insta::assert_snapshot;
use jitterlab_skip::{built, is_root, skip};
use serde_json::{Value, json};

/// The programs: name, source, options of the compiler.
const PROGRAMS: [(&str, &str, &[&str]); 5] = [
    ("sends", "sends.c", &["-pthread"]),
    ("sends-static", "sends.c", &["-pthread", "-static"]),
    ("sends-privileged", "sends.c", &["-pthread"]),
    (
        "libibverbs.so.1",
        "verbs.c",
        &["-DLIBRARY", "-shared", "-fPIC"],
    ),
    (
        "verbs",
        "verbs.c",
        &["-L.", "-l:libibverbs.so.1", "-Wl,-rpath,$ORIGIN"],
    ),
];

/// The folder with the programs. They are made once, before any test starts a process: a program
/// cannot be started while another process has it open to write.
fn programs() -> &'static Path {
    static MADE: LazyLock<PathBuf> = LazyLock::new(|| {
        built();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, source, options) in PROGRAMS {
            let source = format!("{}/tests/fixtures/{source}", env!("CARGO_MANIFEST_DIR"));
            let mut cc = Command::new("cc");
            cc.args(["-O1", "-Wall", &source, "-o", name]).args(options);
            assert!(cc.current_dir(&folder).status().unwrap().success());
        }
        let script = "#!/bin/sh\n./sends hooked\n./sends-static hooked\n";
        std::fs::write(folder.join("script"), script).unwrap();
        let executable = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.join("script"), executable).unwrap();
        folder
    });
    &MADE
}

fn run(options: &str, program: &str) -> Output {
    let folder = programs();
    let mut doctor = Lab::new().command(&format!("inject doctor {options} -- {program}"));
    doctor.current_dir(folder).output().unwrap()
}

/// Exit status and report.
fn doctor(program: &str) -> (i32, Value) {
    let output = run("--format json", program);
    let report = serde_json::from_slice(&output.stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    (output.status.code().unwrap(), report)
}

/// The call, hooked and seen by the kernel, and bypassed, of every row.
fn rows(report: &Value) -> Vec<(&str, u64, Option<u64>, u64)> {
    let rows = report["rows"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let count = |name| row[name].as_u64();
            (
                row["call"].as_str().unwrap(),
                count("hooked").unwrap(),
                count("kernel"),
                count("bypassed").unwrap(),
            )
        })
        .collect()
}

fn kinds(findings: &Value) -> Vec<&str> {
    let findings = findings.as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn every_hooked_function_passes() {
    let (status, report) = doctor("./sends hooked locally");
    assert_eq!(
        rows(&report),
        [
            ("sendto", 6, Some(6), 0),
            ("sendmsg", 3, Some(3), 0),
            ("sendmmsg", 3, Some(3), 0),
            ("write", 3, Some(3), 0),
            ("writev", 3, Some(3), 0),
        ]
    );
    assert_eq!((status, &report["sound"]), (0, &json!(true)), "{report}");
    assert_eq!(report["bypasses"], json!([]));
    // What it could have done is in its file.
    assert_eq!(kinds(&report["may_bypass"]), ["own-system-calls"; 2]);
    assert_eq!(report["file"]["imports"], json!(["syscall"]));
    assert_eq!(report["file"]["system_calls"], 1);
}

#[test]
fn each_way_past_the_hooks_is_found() {
    for (way, call, kind) in [
        ("syscall", "sendto", "c-library"),
        ("instruction", "sendto", "own-system-calls"),
        ("stdio", "write", "c-library"),
        ("sendfile", "sendfile", "no-hook"),
    ] {
        let (status, report) = doctor(&format!("./sends {way}"));
        assert_eq!(status, 1, "{way}");
        assert_eq!(rows(&report), [(call, 0, Some(3), 3)], "{way}");
        assert_eq!(kinds(&report["bypasses"]), [kind], "{way}");
        let conclusion = report["conclusion"].as_str().unwrap();
        assert!(
            conclusion.starts_with("no send passes a hook"),
            "{conclusion}"
        );
    }
}

#[test]
fn a_ring_is_found() {
    let (status, report) = doctor("./sends ring");
    if report["ended"] == json!({"exit-status": 77}) {
        return skip("io_uring is forbidden on this machine");
    }
    assert_eq!(status, 1);
    assert_eq!(rows(&report), [("io_uring_enter", 0, Some(3), 3)]);
    assert_eq!(kinds(&report["bypasses"]), ["io-uring"]);
}

#[test]
fn threads_children_and_violent_ends_are_counted() {
    let (status, report) = doctor("./sends threads children hooked killed");
    assert_eq!(report["ended"], json!({"signal": 9}));
    assert_eq!(rows(&report)[0], ("sendto", 12, Some(12), 0));
    assert_eq!(status, 0, "{report}");
}

/// A server does not end by itself.
#[test]
fn a_signal_ends_the_program_and_not_the_report() {
    let mut command = Lab::new().command("inject doctor --format json --");
    let mut doctor = command
        .args([
            "sh",
            "-c",
            "./sends hooked until-ended & ./sends hooked until-ended",
        ])
        .current_dir(programs())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut waiting = BufReader::new(doctor.stderr.take().unwrap()).lines();
    for _ in 0..2 {
        assert_eq!(waiting.next().unwrap().unwrap(), "waiting");
    }
    let pid = nix::unistd::Pid::from_raw(doctor.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM).unwrap();
    let output = doctor.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert_eq!(report["ended"], json!({"signal": 15}));
    assert_eq!(rows(&report)[0], ("sendto", 12, Some(12), 0));
}

#[test]
fn programs_without_the_library_are_named() {
    let (status, report) = doctor("./sends-static hooked");
    assert_eq!((status, kinds(&report["bypasses"])), (1, vec!["static"]));
    assert_eq!(rows(&report)[0], ("sendto", 0, Some(6), 6));
    assert_eq!(report["file"]["linkage"], "static");

    let (status, report) = doctor("env -u LD_PRELOAD ./sends hooked");
    assert_eq!(
        (status, kinds(&report["bypasses"])),
        (1, vec!["not-preloaded"])
    );

    // A script's children are followed: one passes, one does not.
    let (status, report) = doctor("./script");
    assert_eq!((status, kinds(&report["bypasses"])), (1, vec!["static"]));
    assert_eq!(rows(&report)[0], ("sendto", 6, Some(12), 6));
    assert_eq!(report["file"]["linkage"], "script");
}

#[test]
fn set_user_id_programs_are_named() {
    if !is_root("make a program that belongs to another user") {
        return;
    }
    let program = programs().join("sends-privileged");
    std::os::unix::fs::chown(&program, Some(65_534), None).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    let (status, report) = doctor("./sends-privileged hooked");
    assert_eq!(
        (status, kinds(&report["bypasses"])),
        (1, vec!["privileged"])
    );
}

#[test]
fn file_capabilities_are_named_before_the_program_runs() {
    if !is_root("give a file capabilities") {
        return;
    }
    let lab = Lab::new();
    std::fs::set_permissions(lab.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    lab.done("dist make --shape constant --mean 0ns -o t.dist");
    lab.write("seed", "1\n");
    let capable = lab.path("capable");
    std::fs::copy(programs().join("sends"), &capable).unwrap();
    // Revision 2: CAP_NET_RAW (bit 13) is permitted, not effective by itself (capability.h).
    let words = [0x0200_0000, 1 << 13, 0, 0, 0_u32];
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let none = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&capable, "security.capability", &value, none).is_err() {
        return skip("files have no capabilities here");
    }
    let stderr = |user: u32| {
        let mut command = lab.command("inject run --table t.dist --seed seed -- ./capable hooked");
        let output = command.uid(user).gid(user).output().ok()?;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        Some(text(&output.stderr))
    };
    match stderr(65_534) {
        Some(stderr) => assert_eq!(
            stderr,
            "jitterlab: nothing is injected into ./capable: it runs with capabilities of its own\n"
        ),
        None => skip("another user cannot get at the program that is tested"),
    }
    assert_eq!(stderr(0).unwrap(), "", "root gets no rights from a file");
}

/// `inject run` says beforehand what a program's file says.
#[test]
fn a_program_that_cannot_be_injected_into_is_named_before_it_runs() {
    let lab = Lab::new();
    lab.done("dist make --shape constant --mean 0ns -o t.dist");
    lab.write("seed", "1\n");
    let options = "inject run --table t.dist --seed seed --";
    let stderr = |program: &str| {
        let program = programs().join(program);
        let output = lab.run(&format!("{options} {} hooked", program.display()));
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr).replace(programs().to_str().unwrap(), ".")
    };
    assert_eq!(stderr("sends"), "");
    assert_eq!(
        stderr("sends-static"),
        "jitterlab: nothing is injected into ./sends-static: it is statically linked\n"
    );
}

#[test]
fn posts_through_verbs_are_counted() {
    let (status, report) = doctor("./verbs");
    assert_eq!(report["ended"], json!({"exit-status": 0}));
    assert_eq!(rows(&report), [("ibv_post_send", 3, None, 0)]);
    assert_eq!(status, 0, "{report}");
}

#[test]
fn silence_is_not_taken_for_a_measurement() {
    let (status, report) = doctor("true");
    assert_eq!((status, rows(&report)), (1, vec![]));
    let conclusion = report["conclusion"].as_str().unwrap();
    assert!(conclusion.starts_with("nothing was sent"), "{conclusion}");
}

#[test]
fn people_are_told_in_sentences() {
    let folder = std::fs::canonicalize(programs()).unwrap();
    let output = run("", "./sends hooked syscall instruction sendfile");
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stdout).replace(folder.to_str().unwrap(), "LAB");
    assert_snapshot!("doctor", told);
}

#[test]
fn what_the_program_prints_is_kept_apart() {
    let output = run("--format json", "echo hello");
    assert_eq!(text(&output.stderr), "hello\n");
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
}

#[test]
fn wrong_programs_are_refused() {
    let lab = Lab::new();
    lab.write("data", "not a program");
    for (arguments, message) in [
        (
            "",
            "error: the following required arguments were not provided:",
        ),
        ("-- none", "none is not a program that can be run"),
        ("-- ./none", "./none is not a program that can be run"),
        ("-- ./data", "./data is not a program that can be run"),
        ("-- .", ". is not a program that can be run"),
        (
            "--format xml -- true",
            "error: invalid value 'xml' for '--format <FORMAT>'",
        ),
    ] {
        lab.refuses(&format!("inject doctor {arguments}"), message);
    }
}

//! Programs under injection that end without the library: killed, by system calls of their own, by becoming another.

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::experiments::{SMALL, folder, lines};
use common::{Lab, text};
use jitterlab_base::page;
use jitterlab_base::page::Namespaces;
use jitterlab_skip::{built, skip};
use nix::unistd::geteuid;
use serde_json::Value;

fn lab() -> Lab {
    built();
    let lab = Lab::new();
    lab.done("dist make --shape constant --mean 10us -o t.dist");
    lab.write("s.seed", "7\n");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ends.c");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"]).arg(lab.path("ends")).arg(source);
    assert!(cc.status().unwrap().success());
    lab
}

const RUN: &str = "inject run --table t.dist --seed s.seed --report r.json --";

/// The lines of the report, once nobody is about to write one.
fn report(lab: &Lab) -> Vec<Value> {
    lab.done("inject status");
    let report = std::fs::read_to_string(lab.path("r.json")).unwrap_or_default();
    report
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// How the processes ended that have sent anything, and how much.
fn sends(lab: &Lab) -> Vec<(String, u64)> {
    let all = report(lab).into_iter().map(|line| {
        let ended = line["ended"].as_str().unwrap().to_string();
        assert_eq!(line["calls"]["sendto"], line["delays"]);
        (ended, line["delays"].as_u64().unwrap())
    });
    all.filter(|&(_, delays)| delays > 0).collect()
}

fn unseen(times: usize) -> Vec<(String, u64)> {
    vec![("unseen".to_string(), 10); times]
}

/// Whether the page of a process is there.
fn has_page(pid: &Value) -> bool {
    let name = Namespaces::own().file_name(pid.as_u64().unwrap() as u32);
    page::directory(geteuid().as_raw()).join(name).exists()
}

#[test]
fn whatever_ends_a_program_its_sends_are_reported_once() {
    let lab = lab();
    for (how, programs) in [
        #[cfg(target_arch = "x86_64")]
        ("./ends raw", 1),
        ("./ends kill", 1),
        ("./ends segv", 1),
        ("./ends alarm", 1),
        ("timeout 1 ./ends pause", 1),
        ("timeout -s KILL 1 ./ends pause", 1),
        // It goes on as a program with the library, and as one without.
        ("./ends become /bin/true", 1),
        ("./ends become /usr/bin/env -i /bin/true", 1),
        ("env ./ends kill", 1),
        ("setsid ./ends kill", 1),
    ] {
        let _ = std::fs::remove_file(lab.path("r.json"));
        lab.run(&format!("{RUN} {how}"));
        assert_eq!(sends(&lab), unseen(programs), "{how}");
        let lines = report(&lab);
        assert_eq!(lines.len(), report(&lab).len(), "{how}");
        assert!(!lines.iter().any(|line| has_page(&line["pid"])), "{how}");
        assert_eq!(lines[0]["asked_ns"].as_u64().unwrap() % 100_000, 0, "{how}");
    }
    // The function of the C library may be a hook.
    let _ = std::fs::remove_file(lab.path("r.json"));
    lab.run(&format!("{RUN} ./ends syscall"));
    assert_eq!(sends(&lab)[0].1, 10);
    assert_eq!(report(&lab).len(), 1);
    // By who started `inject run`: it is the program itself.
    let _ = std::fs::remove_file(lab.path("r.json"));
    let mut command = Command::new("timeout");
    command.arg("1").arg(env!("CARGO_BIN_EXE_jitterlab"));
    command
        .args(RUN.split_whitespace())
        .args(["./ends", "pause"]);
    let status = command.current_dir(lab.path("")).status().unwrap();
    assert_eq!(status.code(), Some(124));
    assert_eq!(sends(&lab), unseen(1));
    // One that is left running has no line, until it ends.
    let _ = std::fs::remove_file(lab.path("r.json"));
    let mut command = lab.command(RUN);
    command.args(["sh", "-c", "./ends kill; ./ends pause >&- 2>&- & echo $!"]);
    let pid = text(&command.output().unwrap().stdout);
    let (pid, status) = (pid.trim(), "inject status --format json --pid");
    // While it becomes the program from a copy of the shell, it is neither.
    let has_sent = || {
        let shown = lab.run(&format!("{status} {pid}")).stdout;
        let shown = serde_json::from_slice::<Value>(&shown).unwrap_or_default();
        shown[0]["calls"]["sendto"] == 10
    };
    while !has_sent() {}
    assert_eq!(sends(&lab), unseen(1));
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    while lab.run(&format!("{status} {pid}")).status.success() {}
    assert_eq!(sends(&lab), unseen(2));
}

#[test]
fn an_experiment_counts_what_was_injected_into_a_program_that_is_killed() {
    let lab = lab();
    let (before, _) = SMALL.split_once("    - name: redis").unwrap();
    let program = lab.path("ends");
    let client = |name: &str, line: &str| {
        let line = line.replace("PROGRAM", &program.display().to_string());
        format!(
            "    - {{ name: {name}, client: {{ on: client, command: [sh, -c, \"{line}\"] }}, levels: [none, injected] }}\n"
        )
    };
    let clients = [
        client("killed", "PROGRAM kill; true"),
        client("timed", "timeout 0.1 PROGRAM pause; true"),
        client("raw", "exec PROGRAM syscall"),
        client("silent", "true"),
    ];
    let experiment = format!("{before}{}", clients.concat())
        .replace("repetitions: 2", "repetitions: 1")
        .replace("[uniform, empirical]", "[uniform]");
    lab.write("e.yaml", experiment);
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    let mut injected = 0;
    for record in records {
        if record["suite"] != "application" || record["level"]["kind"] != "injected" {
            assert_eq!(record["outcome"], "done", "{record}");
        } else if record["case"] == "silent" {
            let reason = record["reason"].as_str().unwrap();
            assert!(
                reason.contains("the program sent nothing over a network"),
                "{reason}"
            );
        } else {
            injected += 1;
            assert_eq!(record["outcome"], "done", "{record}");
            assert_eq!(record["injection"]["delayed"], 10, "{record}");
        }
    }
    assert_eq!(injected, 3);
}

/// A program in a pid namespace of its own, as in a container, that shares /dev/shm.
fn contained(lab: &Lab) -> Child {
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(env!("CARGO_BIN_EXE_jitterlab"))
        .args(RUN.split_whitespace())
        .args(["./ends", "pause"])
        .current_dir(lab.path(""))
        .stdout(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn containers_that_share_dev_shm_have_a_page_for_each_program() {
    let lab = lab();
    let unshare = ["--pid", "--fork", "--mount-proc", "true"];
    if !Command::new("unshare")
        .args(unshare)
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip("no pid namespaces can be made here");
    }
    let mut containers: Vec<_> = (0..2).map(|_| contained(&lab)).collect();
    let programs = || -> Vec<Value> {
        let all = lab.json("inject status --format json");
        let ours = |program: &Value| {
            let table = lab.path("t.dist").display().to_string();
            program["table"].as_str().unwrap().contains(&table)
        };
        all.as_array()
            .unwrap()
            .iter()
            .filter(|program| ours(program))
            .cloned()
            .collect()
    };
    while programs()
        .iter()
        .filter(|program| program["calls"]["sendto"] == 10)
        .count()
        < 2
    {}
    // Looked at twice: to look takes nothing away.
    let seen = programs();
    assert_eq!(seen.len(), 2);
    let pids: Vec<u64> = seen
        .iter()
        .map(|program| program["pid"].as_u64().unwrap())
        .collect();
    assert!(pids[0] != pids[1] && !pids.contains(&1), "{pids:?}");
    lab.done(&format!("inject set --pid {} --off", pids[0]));
    let enabled = |programs: Vec<Value>| -> Vec<bool> {
        programs
            .iter()
            .map(|program| program["enabled"].as_bool().unwrap())
            .collect()
    };
    assert_eq!(enabled(programs()), [false, true]);
    // From a third, where neither has a number.
    let elsewhere = |arguments: &str| {
        let mut command = Command::new("unshare");
        command
            .args(&unshare[..3])
            .arg(env!("CARGO_BIN_EXE_jitterlab"));
        command
            .args(arguments.split_whitespace())
            .current_dir(lab.path(""));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let shown = elsewhere("inject status");
    let name = |pid: u64| page::file_name(pid as u32).unwrap();
    for &pid in &pids {
        let name = name(pid);
        assert!(
            name.starts_with("1@") && shown.contains(&format!("{name} ./ends: ")),
            "{shown}"
        );
    }
    elsewhere(&format!("inject set --pid {} --on", name(pids[0])));
    assert_eq!(enabled(programs()), [true, true]);
    // Killed with all that is in them.
    for container in &mut containers {
        container.kill().unwrap();
        container.wait().unwrap();
    }
    while !programs().is_empty() {}
}

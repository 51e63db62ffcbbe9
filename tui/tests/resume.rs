//! `jitterlab run`, stopped in whatever way, and resumed.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::experiments::{
    SMALL, assert_whole, folder, is_running, kill, lab, lines, resume, started, until,
};
use common::{Lab, text};
use serde_json::Value;

#[test]
fn an_experiment_that_is_killed_twenty_times_ends_with_every_run_once() {
    let lab = lab(&SMALL.replace("repetitions: 2", "repetitions: 5"));
    let mut arguments = "run e.yaml --headless".to_string();
    for kills in 0..20 {
        // Moments that differ: in the middle of whatever comes after so many events.
        kill(started(&lab, &arguments, 2 + kills * 7 % 5));
        arguments = format!("run --headless --resume {}", folder(&lab).display());
    }
    let output = resume(&lab);
    let runs = lines(&folder(&lab).join("runs.jsonl"));
    let failed: Vec<_> = runs.iter().filter(|r| r["outcome"] == "failed").collect();
    assert!(output.status.success(), "{failed:?}");
    assert_whole(&lab);
}

#[test]
fn a_line_that_was_cut_off_is_done_again() {
    let lab = lab(SMALL);
    assert!(lab.run("run e.yaml --headless").status.success());
    let folder = folder(&lab);
    let runs = folder.join("runs.jsonl");
    let text = fs::read_to_string(&runs).unwrap();
    fs::write(&runs, &text[..text.len() - 20]).unwrap();
    let output = resume(&lab);
    assert!(output.status.success());
    assert_whole(&lab);
    // In the middle of a character.
    let mut bytes = fs::read(&runs).unwrap();
    bytes.extend(b"{\"reason\":\"caf\xc3");
    fs::write(&runs, bytes).unwrap();
    let output = resume(&lab);
    assert!(output.status.success());
    assert_whole(&lab);
}

#[test]
fn an_environment_that_is_broken_or_gone_is_not_measured_anew_under_old_runs() {
    let lab = lab(SMALL);
    kill(started(&lab, "run e.yaml --headless", 4));
    let path = folder(&lab).join("environment.json");
    fs::write(&path, "{").unwrap();
    let output = resume(&lab);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("environment.json:1: this line was not"),
        "{said}"
    );
    fs::remove_file(&path).unwrap();
    let output = resume(&lab);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("cannot read"), "{said}");
    assert!(!path.exists());
}

#[test]
fn an_experiment_that_goes_on_elsewhere_says_so_and_keeps_both_environments() {
    let lab = lab(SMALL);
    kill(started(&lab, "run e.yaml --headless", 4));
    let path = folder(&lab).join("environment.json");
    let read = || -> Value { serde_json::from_slice(&fs::read(&path).unwrap()).unwrap() };
    let mut environment = read();
    environment["hosts"]["client"]["kernel"] = "2.4.0".into();
    fs::write(&path, environment.to_string()).unwrap();
    let output = resume(&lab);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let begins: Value = serde_json::from_str(text(&output.stdout).lines().next().unwrap()).unwrap();
    let kernel = read()["hosts"]["server"]["kernel"].clone();
    let change = format!(
        "host client: kernel was `2.4.0` and is `{}`",
        kernel.as_str().unwrap()
    );
    assert!(
        begins["changed"]
            .as_array()
            .unwrap()
            .contains(&change.as_str().into()),
        "{begins}"
    );
    let environment = read();
    assert_eq!(environment["hosts"]["client"]["kernel"], "2.4.0");
    let resumed = environment["resumed"].as_array().unwrap();
    assert_eq!(resumed.len(), 1);
    assert_eq!(resumed[0]["hosts"]["client"]["kernel"], kernel);
    assert_eq!(resumed[0]["changed"], begins["changed"]);
    // Whoever reads the report is told, too.
    lab.done(&format!("report {}", folder(&lab).display()));
    let page = fs::read_to_string(folder(&lab).join("report/index.html")).unwrap();
    assert!(
        page.contains("after it was stopped: host client"),
        "{change}"
    );
}

#[test]
fn tables_are_taken_as_they_were_or_made_again_the_same() {
    let lab = lab(SMALL);
    assert!(lab.run("run e.yaml --headless").status.success());
    let folder = folder(&lab);
    let runs = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
    let without_last = &runs[..runs.trim_end().rfind('\n').unwrap() + 1];
    let once_more = || {
        fs::write(folder.join("runs.jsonl"), without_last).unwrap();
        let output = resume(&lab);
        (output.status.code(), text(&output.stderr))
    };
    let tables = || -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(folder.join("tables")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    };
    let before = tables();
    fs::remove_dir_all(folder.join("tables")).unwrap();
    assert_eq!(once_more(), (Some(0), String::new()));
    assert!(tables() == before);
    assert_whole(&lab);

    fs::remove_file(folder.join("tables/udp-20-uniform.dist")).unwrap();
    let (status, said) = once_more();
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("cannot read") && said.contains("udp-20-uniform.dist"),
        "{said}"
    );
    fs::write(folder.join("tables/fits.json"), "[{").unwrap();
    let (status, said) = once_more();
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("fits.json:1: this line was not written"),
        "{said}"
    );
}

#[test]
fn nothing_outlives_a_controller_that_is_killed() {
    // A number of seconds that no other test sleeps for.
    let marker = format!("{}", 900_000 + std::process::id());
    let lab = lab(&format!(
        "name: killed\nseed: 1\nrepetitions: 1\nhosts: {{ here: {{ at: local }} }}\n\
         suites:\n  application:\n    - {{ name: a, client: {{ on: here, command: [sleep, \"{marker}\"] }} }}\n"
    ));
    let child = started(&lab, "run e.yaml --headless", 2);
    until(|| is_running(&marker));
    kill(child);
    until(|| !is_running(&marker));
}

#[test]
fn what_a_program_leaves_in_the_background_is_no_part_of_the_next_run() {
    let left = format!("{}", 1_900_000 + std::process::id());
    let lab = Lab::new();
    let file = lab.path("left").display().to_string();
    // A program fails if what the one before has left is still there.
    lab.write(
        "e.yaml",
        format!(
            "name: daemons\nseed: 1\nrepetitions: 3\nretries: 0\nhosts: {{ here: {{ at: local }} }}\n\
             suites:\n  application:\n    - name: a\n      client:\n        on: here\n        command: \
             [sh, -c, \"test -e {file} && kill -0 $(cat {file}) && exit 1; \
             setsid sleep {left} & echo $! > {file}; sleep 0.05\"]\n"
        ),
    );
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(!is_running(&left));
}

#[test]
fn whoever_stops_an_experiment_is_told_how_to_go_on() {
    let lab = lab(SMALL);
    let mut command = lab.mortal("run e.yaml");
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // The line that says how many runs there are comes before the first of them.
    assert!(
        lines
            .by_ref()
            .any(|line| line.unwrap().contains(" runs; about "))
    );
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    let told = format!(
        "stopped; to go on: jitterlab run --resume results/{}",
        name(&lab)
    );
    assert!(said.contains(&told), "{said:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(resume(&lab).status.success());
    assert_whole(&lab);
}

#[test]
fn a_signal_that_is_ignored_does_not_stop_an_experiment() {
    let lab = lab(SMALL);
    let mut command = Command::new("env");
    command
        .args(["--ignore-signal=HUP", env!("CARGO_BIN_EXE_jitterlab")])
        .args(["run", "e.yaml"])
        .current_dir(lab.path(""))
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(
        lines
            .by_ref()
            .any(|line| line.unwrap().contains(" runs; about "))
    );
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).unwrap();
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said:?}");
    assert_whole(&lab);
}

#[test]
fn an_experiment_that_nobody_watches_any_more_goes_on() {
    for arguments in ["run e.yaml", "run e.yaml --headless"] {
        let lab = lab(SMALL);
        let mut command = lab.command(arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_whole(&lab);
    }
}

fn name(lab: &Lab) -> String {
    folder(lab).file_name().unwrap().to_str().unwrap().into()
}

#[test]
fn a_folder_is_filled_by_one_at_a_time_and_with_its_own_experiment() {
    let lab = lab(
        "name: slow\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local } }\n\
         suites:\n  application:\n    - { name: a, client: { on: here, command: [sleep, \"600\"] } }\n",
    );
    let child = started(&lab, "run e.yaml --headless", 2);
    let path = folder(&lab).display().to_string();
    // Nothing more is written while its program sleeps.
    until(|| folder(&lab).join("live.json").exists());
    lab.refuses(
        &format!("run --resume {path}"),
        &format!("{path} is in use: another `jitterlab run` is writing it"),
    );
    kill(child);
    lab.write("other.yaml", SMALL);
    lab.refuses(
        &format!("run other.yaml --resume {path}"),
        &format!(
            "{path} is the result folder of another experiment: resume it without the file, or run the file without --resume"
        ),
    );
}

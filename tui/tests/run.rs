//! `jitterlab run`: whole experiments, small ones, on this machine.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use std::time::{Duration, Instant};

use common::{Lab, build_library, text};
use serde_json::Value;

/// An experiment with every kind of level and suite; a run takes some ten milliseconds.
const SMALL: &str = r#"
name: small
seed: 7
repetitions: 2
retries: 1
hosts:
  client: { at: local }
  server: { at: local }
load: { transport: udp, from: client, to: server, message: 1400B, bandwidth: 100MiB }
levels:
  load: [20]
  injected: { percent: [20], transport: udp, shapes: [uniform, lognormal] }
suites:
  packet:
    - { case: rtt, transports: [udp, tcp], from: client, to: server, size: 64B, warmup: 5ms, duration: 20ms, wait: block }
  application:
    - name: redis
      server: { on: server, command: [redis-server, --bind, "{address}", --port, "{port}", --save, "", --appendonly, "no"] }
      client: { on: client, command: [redis-benchmark, -h, "{address}", -p, "{port}", -c, "1", -n, "200", -t, get, -q] }
      runtime: { pattern: 'GET: ([0-9.]+) requests per second', unit: per_second }
      levels: [none, injected]
"#;

fn lab(experiment: &str) -> Lab {
    build_library();
    let lab = Lab::new();
    lab.write("e.yaml", experiment);
    lab
}

/// The only result folder.
fn folder(lab: &Lab) -> PathBuf {
    let mut folders = fs::read_dir(lab.path("results")).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    assert!(folders.next().is_none());
    folder
}

/// Goes on with the only result folder.
fn resume(lab: &Lab) -> Output {
    lab.run(&format!(
        "run --headless --resume {}",
        folder(lab).display()
    ))
}

/// Starts an experiment that is to be stopped, and gives it when this many events are over.
fn started(lab: &Lab, arguments: &str, events: usize) -> Child {
    let mut command = lab.command(arguments);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines.take(events).filter(|event| event.is_ok()).count();
    assert_eq!(seen, events, "the experiment ended too early");
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The runs of the schedule, as the dry run prints them.
fn planned(lab: &Lab) -> Vec<String> {
    let plan = lab.json("run e.yaml --dry-run --format json");
    let runs = plan["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["run"].as_str().unwrap().into())
        .collect()
}

#[test]
fn an_experiment_goes_from_its_file_to_a_report() {
    let lab = lab(SMALL);
    let output = lab.run("run e.yaml --headless");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let events: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[0]["event"], "begins");
    let last = events.last().unwrap();
    assert_eq!(
        (&last["event"], &last["failed"]),
        (&"ends".into(), &0.into())
    );

    let folder = folder(&lab);
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(file("experiment.yaml"), SMALL);
    let environment: Value = serde_json::from_str(&file("environment.json")).unwrap();
    assert_eq!(environment["bandwidth"], 100.0 * 1024.0 * 1024.0);
    assert!(environment["hosts"]["client"]["cpus"].as_u64() > Some(0));

    let records = lines(&folder.join("runs.jsonl"));
    let planned = planned(&lab);
    let runs: Vec<&str> = records.iter().map(|r| r["run"].as_str().unwrap()).collect();
    assert_eq!(runs, planned);
    for record in &records {
        assert_eq!(record["outcome"], "done", "{record}");
        let run = record["run"].as_str().unwrap();
        if record["suite"] == "packet" {
            let samples = folder.join(record["samples"].as_str().unwrap());
            assert!(samples.is_file(), "{run}");
            assert!(record["n"].as_u64() > Some(0), "{run}");
        } else {
            assert!(
                record["application"]["runtime_s"].as_f64() > Some(0.0),
                "{run}"
            );
        }
        let injected = record["level"]["kind"] == "injected";
        assert_eq!(
            record["injection"]["delayed"].as_u64() > Some(0),
            injected,
            "{run}"
        );
        assert_eq!(
            record["load"].is_object(),
            record["level"]["kind"] == "load",
            "{run}"
        );
    }
    // What the library reports is what the tables asked for.
    let fits: Value = serde_json::from_str(&file("tables/fits.json")).unwrap();
    let mean = fits[0]["members"][0]["mean_ns"].as_f64().unwrap();
    let uniform = records
        .iter()
        .find(|r| r["level"]["shape"] == "uniform")
        .unwrap();
    let asked = uniform["injection"]["asked_mean_ns"].as_f64().unwrap();
    assert!((asked - mean).abs() < 1.0, "{asked} {mean}");

    assert_eq!(
        lab.run(&format!("report {}", folder.display()))
            .status
            .code(),
        Some(0)
    );
    assert!(file("report/index.html").contains("redis"));
}

/// Every run of the schedule is done once, and has its files.
fn assert_whole(lab: &Lab) {
    let mut done: BTreeMap<String, u32> = BTreeMap::new();
    let folder = folder(lab);
    for record in lines(&folder.join("runs.jsonl")) {
        if record["outcome"] == "done" {
            *done
                .entry(record["run"].as_str().unwrap().into())
                .or_default() += 1;
            if let Some(samples) = record["samples"].as_str() {
                assert!(folder.join(samples).is_file());
            }
        }
    }
    let planned = planned(lab);
    assert_eq!(done.len(), planned.len());
    for run in planned {
        assert_eq!(done.get(&run), Some(&1), "{run}");
    }
}

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
}

#[test]
fn a_run_that_fails_is_recorded_tried_again_and_left() {
    let lab = lab(r#"
name: failing
seed: 1
repetitions: 1
retries: 2
hosts: { here: { at: local } }
suites:
  application:
    - { name: good, client: { on: here, command: [sh, -c, "exit 0"] } }
    - { name: bad, client: { on: here, command: [sh, -c, "echo the reason >&2; exit 9"] } }
    - { name: slow, client: { on: here, command: [sleep, "600"] }, timeout: 50ms }
    - { name: missing, client: { on: here, command: [no-such-program] } }
    - { name: silent, client: { on: here, command: ["true"] }, runtime: { pattern: "t=([0-9]+)", unit: s } }
    - { name: flood, client: { on: here, command: ["yes"] }, timeout: 50ms }
    - { name: mute, client: { on: here, command: [sh, -c, "exec >&- 2>&-; exec sleep 600"] }, timeout: 50ms }
    - { name: much, client: { on: here, command: [sh, -c, "yes | head -c 20000000; echo t=5"] }, runtime: { pattern: "t=([0-9]+)", unit: s } }
    - { name: dead, server: { on: here, command: ["false"] }, client: { on: here, command: ["true"] } }
"#);
    // The client of this one waits until its server is gone.
    let crash = r#"    - name: crash
      server: { on: here, command: [sh, -c, "echo $$ > FILE; echo up; echo broken >&2; exit 4"], ready: "^up$" }
      client: { on: here, command: [sh, -c, "while kill -0 $(cat FILE) 2>&-; do :; done; exit 5"] }
"#;
    let file = lab.path("pid").display().to_string();
    lab.write("e.yaml", lab.read("e.yaml") + &crash.replace("FILE", &file));
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(1));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    let of = |case: &str| -> Vec<&Value> { records.iter().filter(|r| r["case"] == case).collect() };
    assert_eq!(of("good").len(), 1);
    assert_eq!(of("much").len(), 1);
    assert_eq!(of("much")[0]["application"]["runtime_s"], 5.0);
    for (case, reason) in [
        ("bad", "exit status 9: the reason"),
        ("slow", "sleep did not end within 50ms"),
        ("flood", "yes did not end within 50ms"),
        ("mute", "sh did not end within 50ms"),
        ("missing", "no-such-program"),
        ("silent", "no number where the pattern"),
        ("dead", "false ended before it was ready"),
        (
            "crash",
            "exit status 5; sh ended before it was stopped (exit status: 4): broken",
        ),
    ] {
        let attempts = of(case);
        assert_eq!(attempts.len(), 3, "{case}");
        for (i, attempt) in attempts.iter().enumerate() {
            assert_eq!(attempt["outcome"], "failed");
            assert_eq!(attempt["attempt"], i as u64 + 1);
            let said = attempt["reason"].as_str().unwrap();
            assert!(said.contains(reason), "{case}: {said}");
        }
    }
    // What has failed for good is not tried again, and nobody is asked to be there for that.
    let folder = folder(&lab);
    let output = resume(&lab);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert_eq!(lines(&folder.join("runs.jsonl")).len(), records.len());
}

#[test]
fn a_worker_that_dies_fails_its_run_which_is_tried_again() {
    let lab = Lab::new();
    let flag = lab.path("killed-once").display().to_string();
    lab.write(
        "e.yaml",
        format!(
            "name: dying\nseed: 1\nrepetitions: 1\nhosts: {{ here: {{ at: local }} }}\n\
             suites:\n  application:\n    - name: a\n      client:\n        on: here\n        \
             command: [sh, -c, \"test -e {flag} || {{ touch {flag}; kill -9 $PPID; exec sleep 600; }}\"]\n"
        ),
    );
    // What is killed like this leaves its directory behind: not on this machine for good.
    let mut command = lab.command("run e.yaml --headless");
    let output = command.env("TMPDIR", lab.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    let [failed, done] = &records[..] else {
        panic!("{records:?}");
    };
    let reason = failed["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the worker of host here is gone; it was started as `"),
        "{reason}"
    );
    assert_eq!(
        (&done["outcome"], &done["attempt"]),
        (&"done".into(), &2.into())
    );
}

#[test]
fn a_cpu_that_is_not_there_ends_the_experiment_before_it_begins() {
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        "name: pinned\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local, cpu: 9999 } }\n\
         suites:\n  application:\n    - { name: a, client: { on: here, command: [\"true\"] } }\n",
    );
    let output = lab.run("run e.yaml --headless");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("host here cannot start programs on CPU 9999: "),
        "{said}"
    );
    assert_eq!(lines(&folder(&lab).join("runs.jsonl")).len(), 0);
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
        said.contains("environment.json:1: this is not what"),
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
        said.contains("fits.json:1: this is not what jitterlab writes"),
        "{said}"
    );
}

#[test]
fn a_dry_run_prints_the_schedule_and_leaves_nothing() {
    let lab = Lab::new();
    lab.write("e.yaml", SMALL);
    let printed = lab.done("run e.yaml --dry-run");
    assert!(printed.starts_with("small: 22 runs, about "), "{printed}");
    assert_eq!(
        printed
            .lines()
            .filter(|line| line.starts_with("  "))
            .count(),
        22
    );
    assert_eq!(
        printed
            .lines()
            .filter(|line| line.contains(", block "))
            .count(),
        4
    );
    assert!(!lab.path("results").exists());
}

#[test]
fn what_cannot_be_fitted_is_said_by_the_runs_that_need_it() {
    // A message so large that a run has few round trips, or one.
    let lab = lab(&SMALL
        .replace(
            "udp, shapes: [uniform, lognormal]",
            "tcp, shapes: [uniform]",
        )
        .replace("transports: [udp, tcp]", "transports: [tcp]")
        .replace(
            "size: 64B, warmup: 5ms, duration: 20ms",
            "size: 16MiB, warmup: 0s, duration: 1ms",
        )
        .replace("repetitions: 2", "repetitions: 1"));
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    for record in records {
        let injected = record["level"]["kind"] == "injected";
        assert_eq!(record["outcome"] == "failed", injected, "{record}");
        if injected {
            let reason = record["reason"].as_str().unwrap();
            assert!(
                reason.contains("too little to fit a distribution to"),
                "{reason}"
            );
        }
    }
}

/// Whether `sleep` runs with this argument.
fn is_running(marker: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        command.starts_with("sleep ") && command.contains(marker)
    })
}

/// Waits for something that happens soon, or never.
fn until(happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it has not happened"
        );
        std::thread::yield_now();
    }
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
    let mut command = lab.command("run e.yaml");
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
fn bad_input_ends_with_one_message_and_leaves_nothing() {
    let lab = lab("name: a\nsede: 1\n");
    for (arguments, message) in [
        (
            "run e.yaml",
            "e.yaml:2:1: unknown field `sede`, expected one of `name`, `seed`, `repetitions`, \
             `retries`, `hosts`, `load`, `levels`, `suites`; did you mean `seed`?",
        ),
        (
            "run missing.yaml",
            "cannot read experiment file missing.yaml: No such file or directory (os error 2)",
        ),
        (
            "run --resume missing",
            "cannot read result folder missing: No such file or directory (os error 2)",
        ),
        (
            "run --resume .",
            ". is not a result folder: it has no experiment.yaml",
        ),
        (
            "run",
            "error: the following required arguments were not provided:",
        ),
        (
            "run e.yaml --dry-run --headless",
            "error: the argument '--dry-run' cannot be used with '--headless'",
        ),
    ] {
        lab.refuses(arguments, message);
    }
}

#[test]
fn a_folder_is_filled_by_one_at_a_time_and_with_its_own_experiment() {
    let lab = lab(
        "name: slow\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local } }\n\
         suites:\n  application:\n    - { name: a, client: { on: here, command: [sleep, \"600\"] } }\n",
    );
    let child = started(&lab, "run e.yaml --headless", 2);
    let path = folder(&lab).display().to_string();
    lab.refuses(
        &format!("run --resume {path}"),
        &format!("{path} is in use: another `jitterlab run` is writing it"),
    );
    kill(child);
    lab.write("other.yaml", SMALL);
    lab.refuses(
        &format!("run other.yaml --resume {path}"),
        &format!(
            "{path} holds the results of another experiment; leave the file out, or start anew"
        ),
    );
}

//! `jitterlab run`: whole experiments, small ones, on this machine.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use common::experiments::{SMALL, events, folder, lab, lines, planned, resume};
use common::{Lab, text};
use jitterlab_experiment::headless::Line;
use serde_json::Value;

#[test]
fn an_experiment_goes_from_its_file_to_a_report() {
    let lab = lab(SMALL);
    let output = lab.run("run e.yaml --headless");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let events = events(&output.stdout);
    assert!(
        matches!(
            events[0],
            Line::Begins {
                version: Line::VERSION,
                ..
            }
        ),
        "{:?}",
        events[0]
    );
    assert!(text(&output.stdout).contains("\"seconds_left\":0.0"));
    let last = events.last().unwrap();
    assert!(matches!(last, Line::Ends { failed: 0, .. }), "{last:?}");

    let folder = folder(&lab);
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(
        file("experiment.yaml"),
        format!(
            "{SMALL}\n# Left out of this file, and taken as:\n#   trust: known\n#   lost_host: stop\n\
             #   levels, injected: {{ replay: {{ order: by-time, stretch: all }}, mode: spin }}\n\
             #   suites, packet, rtt: {{ timeout: 100ms, levels: [none, load, injected] }}\n\
             #   suites, application, redis: {{ timeout: 60s, expected: 1s }}\n"
        )
    );
    let environment: Value = serde_json::from_str(&file("environment.json")).unwrap();
    assert_eq!(environment["bandwidth"], 100.0 * 1024.0 * 1024.0);
    assert!(environment["hosts"]["client"]["cpus"].as_u64() > Some(0));
    // A machine with a single core has none to measure on, and so nothing to be tuned for.
    let tuning = &environment["hosts"]["client"]["tuning"];
    assert!(
        tuning.is_null() || tuning["settings"]["vm.stat_interval"].is_string(),
        "{tuning}"
    );

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
            // The runtime is that of a request, one over a rate, and there are 200.
            let figure = |name: &str| record["result"]["application"][name].as_f64().unwrap();
            let (request, program) = (figure("runtime_s"), figure("program_s"));
            assert!(request > 0.0 && program > 100.0 * request, "{record}");
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

#[test]
fn load_goes_both_ways_between_hosts() {
    let both = SMALL
        .replace(
            "from: client, to: server, message",
            "between: [client, server], message",
        )
        .replace("repetitions: 2", "repetitions: 1");
    let injected = both.find("  injected:").unwrap();
    let (levels, rest) = both.split_at(injected);
    let suites = &rest[rest.find("suites:").unwrap()..rest.find("  application:").unwrap()];
    let lab = lab(&format!("{levels}{suites}"));
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    let loads: Vec<&Value> = records
        .iter()
        .map(|r| &r["load"])
        .filter(|load| load.is_object())
        .collect();
    assert_eq!(loads.len(), 2);
    for load in loads {
        assert_eq!(load["level"], 20.0, "{load}");
        // Each of the two sends at least a message, and what a host sent on the mean is half of all.
        let level = |name: &str| load[name].as_f64().unwrap();
        let of_all = 100.0 * level("received_bytes") / level("seconds") / level("bandwidth");
        assert!(level("sent_messages") >= 2.0, "{load}");
        assert!((level("produced_level") / of_all) < 0.75, "{load}");
    }
}

#[test]
fn a_program_is_started_alike_at_every_level_that_it_is_compared_at() {
    let lab = lab(SMALL);
    let file = lab.path("tables").display().to_string();
    let started = |rest: &str| {
        format!("[sh, -c, 'head -n 1 \"$JITTERLAB_TABLE\" >> {file}; exec \"$@\"', sh, {rest}")
    };
    let experiment = SMALL.replace("[redis-benchmark", &started("redis-benchmark"));
    let alone = "    - { name: alone, client: { on: client, command: [sh, -c, 'test -z \"$LD_PRELOAD\"'] }, levels: [none, load] }\n";
    lab.write("e.yaml", experiment + alone);
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let tables = lab.read("tables");
    let undelayed = tables
        .lines()
        .filter(|line| line.contains("constant(value=0)"));
    assert_eq!(
        (undelayed.count(), tables.lines().count()),
        (2, 6),
        "{tables}"
    );
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
    assert_eq!(of("much")[0]["result"]["application"]["runtime_s"], 5.0);
    for (case, reason) in [
        ("bad", "exit status 9: the reason"),
        ("slow", "sleep did not end within 50ms"),
        ("flood", "yes did not end within 50ms"),
        ("mute", "sh did not end within 50ms"),
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
fn a_load_ends_with_its_run_even_if_that_would_fail_again() {
    let lab = Lab::new();
    fs::create_dir(lab.path("bin")).unwrap();
    // What is wrong at any time, as said by ranks.
    for (program, script) in [
        ("mpirun", "#!/bin/sh\necho jitterlab-mpi: no >&2\nexit 2\n"),
        ("jitterlab-mpi", "#!/bin/sh\n"),
    ] {
        let path = lab.path("bin").join(program);
        fs::write(&path, script).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    // A size that no other load has: it tells this one. The last digit in brackets, so that what looks for it does not
    // find itself.
    let size = 10_001 + 10 * (std::process::id() % 4000);
    let pattern = format!("{}[1]B", size / 10);
    lab.write(
        "e.yaml",
        format!(
            "name: loaded\nseed: 1\nrepetitions: 2\nretries: 0\nhosts: {{ here: {{ at: local }} }}\n\
             load: {{ transport: udp, from: here, to: here, message: {size}B, bandwidth: 10MiB }}\n\
             levels: {{ load: [20] }}\nmpi: {{ on: here }}\nsuites:\n  application:\n\
             \x20   - {{ name: ranks, npb: {{ kernel: ep, class: S, ranks: 2 }}, levels: [load] }}\n\
             \x20   - {{ name: alone, client: {{ on: here, command: [sh, -c, \"! cat /proc/[0-9]*/cmdline 2>&- | \
             tr '\\\\0' ' ' | grep '{pattern}'\"] }}, levels: [none] }}\n"
        ),
    );
    let mut command = lab.command("run e.yaml --headless");
    let output = command.env("PATH", lab.path_with_bin()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    assert_eq!(records.len(), 4);
    for record in records {
        let is_loaded = record["case"] == "ranks";
        assert_eq!(record["outcome"] == "failed", is_loaded, "{record}");
        if is_loaded {
            assert_eq!(record["reason"], "jitterlab-mpi: no");
        }
    }
}

#[test]
fn a_program_that_is_missing_is_looked_for_again_when_the_experiment_is_resumed() {
    let lab = Lab::new();
    let program = lab.path("later").display().to_string();
    lab.write(
        "e.yaml",
        format!(
            "name: missing\nseed: 1\nrepetitions: 1\nretries: 2\nhosts: {{ here: {{ at: local }} }}\n\
             suites:\n  application:\n    - {{ name: a, client: {{ on: here, command: [{program}] }} }}\n\
             \x20   - name: b\n      server: {{ on: here, command: [no-such-server] }}\n      \
             client: {{ on: here, command: [\"true\"] }}\n"
        ),
    );
    assert_eq!(lab.run("run e.yaml --headless").status.code(), Some(1));
    let records = || lines(&folder(&lab).join("runs.jsonl"));
    let of = |case: &str| -> Vec<Value> {
        let all = records().into_iter();
        all.filter(|r| r["case"] == case).collect()
    };
    assert_eq!(records().len(), 2);
    let reason = format!("host here has no program {program}");
    assert_eq!(of("a")[0]["reason"], reason.as_str());
    let reason = "host here has no program no-such-server";
    assert_eq!(of("b")[0]["reason"], reason);
    let made = std::process::Command::new("ln")
        .args(["-s", "/bin/true", &program])
        .status();
    assert!(made.unwrap().success());
    assert_eq!(resume(&lab).status.code(), Some(1));
    assert_eq!((of("a").len(), of("b").len()), (2, 2));
    assert_eq!(of("a")[1]["outcome"], "done");
}

#[test]
fn answers_are_waited_for_as_long_as_a_packet_case_says() {
    // Nothing answers within a nanosecond. That is so either for twenty messages in a row, and the run fails, or
    // for most.
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        "name: hasty\nseed: 1\nrepetitions: 1\nretries: 0\nhosts: { here: { at: local } }\n\
         suites:\n  packet:\n    - { case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 0s, \
         duration: 5ms, wait: poll, timeout: 1ns }\n",
    );
    lab.run("run e.yaml --headless");
    let [record] = &lines(&folder(&lab).join("runs.jsonl"))[..] else {
        panic!("more than one run")
    };
    assert!(
        record["outcome"] == "failed" || record["result"]["packet"]["lost"].as_u64() > Some(0),
        "{record}"
    );
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
    let problem = "host here cannot start programs on CPU 9999: true ended with exit status 2: jitterlab: cannot \
                   stay on CPU 9999, because this machine does not have it or does not allow it; give it another `cpu`, or none";
    lab.refuses("run e.yaml", problem);
    // Who reads the events is told, too.
    let output = lab.run("run e.yaml --headless");
    let error = problem.into();
    let results = None;
    assert_eq!(events(&output.stdout), [Line::Fails { results, error }]);
}

#[test]
fn a_result_folder_may_have_any_name() {
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        "name: named\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local } }\n\
         suites:\n  application:\n    - { name: a, client: { on: here, command: [\"true\"] } }\n",
    );
    let mut command = lab.command("run e.yaml --headless --results");
    let output = command.arg(OsStr::from_bytes(b"caf\xe9")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let begins = &events(&output.stdout)[0];
    let is_named = |results: &str| results.starts_with("caf\u{fffd}/named-");
    assert!(
        matches!(begins, Line::Begins { results, .. } if is_named(results)),
        "{begins:?}"
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

/// What is resolved decides how often a program is run; packets stay at the pilot.
#[test]
fn as_many_repetitions_are_done_as_it_takes() {
    let lab = lab(
        "name: auto\nseed: 1\nrepetitions: auto\nresolve: 100 %\nat_most: 60s\nretries: 0\nhosts: { here: { at: local } }\n\
         load: { transport: udp, from: here, to: here, message: 1400B, bandwidth: 100MiB }\nlevels: { load: [10] }\n\
         suites:\n  packet:\n    - { case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 1ms, duration: 5ms, wait: block }\n\
         \x20 application:\n    - { name: nap, client: { on: here, command: [sleep, '0.02'] }, levels: [none, load] }\n",
    );
    let said = lab.done("run e.yaml --headless");
    let events = events(said.as_bytes());
    let planned = events.iter().rev().find_map(|event| match event {
        Line::Planned { enough, .. } => Some(enough),
        _ => None,
    });
    let enough = planned.unwrap();
    assert_eq!(enough.resolve_percent, 100.0);
    let decided_by = &enough.decided_by;
    assert!(decided_by.starts_with("application nap, "), "{decided_by}");
    let records = lines(&folder(&lab).join("runs.jsonl"));
    let of = |suite: &str| {
        records
            .iter()
            .filter(|record| record["suite"] == suite)
            .count() as u64
    };
    assert_eq!(of("packet"), 2 * 8);
    assert!(of("application") >= 2 * u64::from(enough.repetitions));
    assert!(enough.repetitions >= 8);
    // Nothing is left to do.
    let again = lab.done(&format!(
        "run --resume {} --headless",
        folder(&lab).display()
    ));
    assert!(!again.contains("run_begins"), "{again}");
}

#[test]
fn what_cannot_be_fitted_is_said_by_the_runs_that_need_it() {
    // A message so large that a run has few round trips, or one.
    let lab = lab(&SMALL
        .replace(
            "udp, shapes: [uniform, empirical]",
            "tcp, shapes: [lognormal]",
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
                reason.starts_with("there is no table: lognormal cannot be fitted to load 20 %: ")
                    || reason
                        .starts_with("there is no table: nothing can be fitted to load 20 %: ")
                    || reason.contains("there is no table: no run of rtt over tcp at level"),
                "{reason}"
            );
            // Another attempt would change nothing.
            assert_eq!(record["attempt"], 1);
        }
    }
}

/// Whether the lognormal is close to what a load adds here is the machine's affair: it is injected where it is, and nothing is where it
/// is not.
#[test]
fn a_table_that_claims_to_imitate_and_does_not_ends_the_experiment() {
    let lognormal = SMALL.replace("[uniform, empirical]", "[lognormal]");
    let lab = lab(&lognormal);
    let output = lab.run("run e.yaml --headless");
    let folder = folder(&lab);
    let fits: Value =
        serde_json::from_slice(&fs::read(folder.join("tables/fits.json")).unwrap()).unwrap();
    let closeness = &fits[0]["members"][0]["closeness"];
    let number = |name: &str| closeness[name].as_f64().unwrap();
    let is_close = number("distance") < number("distance_of_constant")
        && (number("std") / number("std_of_samples") - 1.0).abs() <= 0.25;
    let injected = lines(&folder.join("runs.jsonl"))
        .iter()
        .filter(|record| record["level"]["kind"] == "injected")
        .count();
    assert_eq!(injected > 0, is_close, "{closeness}");
    if is_close {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    } else {
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(
            said.contains("lognormal does not imitate load 20 %: its "),
            "{said}"
        );
        assert!(
            said.contains("Set `shapes: [empirical]`, which imitates nearly any load, or `accept_poor_fit: true`"),
            "{said}"
        );
        let events = events(&output.stdout);
        let last = events.last().unwrap();
        let is_said = |error: &str| error.contains("lognormal does not imitate");
        assert!(
            matches!(last, Line::Fails { error, .. } if is_said(error)),
            "{last:?}"
        );
    }
    // Taken all the same, it is injected.
    lab.write(
        "e.yaml",
        lognormal.replace(
            "shapes: [lognormal]",
            "shapes: [lognormal], accept_poor_fit: true",
        ),
    );
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(lab.run("run e.yaml --headless").status.code(), Some(0));
}

#[test]
fn bad_input_ends_with_one_message_and_leaves_nothing() {
    let lab = lab("name: a\nsede: 1\n");
    for (arguments, message) in [
        (
            "run e.yaml",
            "e.yaml:2:1: unknown key `sede`, expected one of `name`, `seed`, `repetitions`, `resolve`, `at_most`, \
             `retries`, `hosts`, `trust`, `lost_host`, `load`, `mpi`, `levels`, `suites`; did you mean `seed`?",
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

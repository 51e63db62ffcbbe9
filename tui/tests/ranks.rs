//! `jitterlab run` with what is started over MPI, on this machine.

mod common;

use std::path::Path;
use std::process::Command;

use common::experiments::{folder, lines, planned, printed};
use common::mpi::{has_mpi, has_mpich};
use common::{Lab, text};
use jitterlab_experiment::samples;
use serde_json::Value;

/// The kernels keep account of what they send, and the hooks see it from outside.
#[test]
fn a_trace_of_the_kernels_has_what_they_count_themselves() {
    if !has_mpi() {
        return;
    }
    for kernel in ["cg", "lu", "is", "ft", "mg"] {
        for ranks in ["2", "4"] {
            let program =
                Path::new(env!("CARGO_BIN_EXE_jitterlab")).with_file_name("jitterlab-mpi");
            let line = format!(
                "inject trace --format json -- mpirun --oversubscribe -n {ranks} {} npb {kernel} --class S \
                 --format json",
                program.display()
            );
            let output = Lab::new()
                .command(&line)
                .envs([
                    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
                    ("OMPI_MCA_mpi_yield_when_idle", "1"),
                ])
                .output()
                .unwrap();
            let printed = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{line}: {printed}");
            let trace: Value = serde_json::from_slice(&output.stdout).unwrap();
            let own = printed.lines().find(|line| line.starts_with('{')).unwrap();
            let own: Value = serde_json::from_str(own).unwrap();
            assert_eq!(own["verified"], true, "{line}: {own}");
            assert_eq!(
                (&trace["messages"], &trace["bytes"]),
                (&own["messages"], &own["bytes"]),
                "{line}: {trace}\n{own}"
            );
            let by_rank = trace["by_rank"].as_array().unwrap();
            assert_eq!(by_rank.len().to_string(), ranks);
            for (traced, phases) in by_rank.iter().zip(own["phases"].as_array().unwrap()) {
                assert_eq!(
                    of_hooks(traced),
                    of_phases(phases),
                    "{line}: {traced}\n{phases}"
                );
            }
        }
    }
}

/// Messages and bytes, collectives and bytes given to them: what the hooks saw of a rank, but for what it needs to tell
/// rank 0 of its own account.
fn of_hooks(rank: &Value) -> [u64; 4] {
    let calls = rank["calls"].as_array().unwrap();
    let telling = calls
        .iter()
        .filter(|of| ["MPI_Gather", "MPI_Gatherv"].contains(&of["call"].as_str().unwrap()));
    let (mut told, mut told_bytes) = (0, 0);
    for of in telling {
        told += of["calls"].as_u64().unwrap();
        told_bytes += of["bytes"].as_u64().unwrap();
    }
    let figure = |name: &str| rank[name].as_u64().unwrap();
    [
        figure("messages"),
        figure("bytes"),
        figure("collectives") - told,
        figure("collective_bytes") - told_bytes,
    ]
}

/// The same as the rank counts it, by phase.
fn of_phases(phases: &Value) -> [u64; 4] {
    ["messages", "bytes", "collectives", "collective_bytes"].map(|name| {
        let phases = phases.as_array().unwrap();
        phases
            .iter()
            .map(|phase| phase[name].as_u64().unwrap())
            .sum()
    })
}

/// Ranks that send to each other through sockets, which delays are injected at.
const RANKS: &str = r#"
name: ranks
seed: 7
repetitions: 1
retries: 0
hosts: { here: { at: local } }
mpi: { on: here, hook: socket, arguments: [--mca, btl, "self,tcp", --mca, btl_tcp_if_include, lo] }
load: { transport: udp, from: here, to: here, message: 1400B, bandwidth: 100MiB }
levels:
  load: [20]
  injected: { percent: [20], transport: udp, shapes: [uniform] }
suites:
  packet:
    - { case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 5ms, duration: 20ms, wait: block }
  library:
    - { case: barrier, ranks: 2, iterations: 200, warmup: 1ms, levels: [none, injected] }
    - { case: ping-pong, ranks: 2, size: 1KiB, duration: 5ms, warmup: 1ms, levels: [none] }
  application:
    - { name: ep, npb: { kernel: ep, class: S, ranks: 2 }, levels: [none, injected] }
    - name: any
      client: { on: here, command: [mpirun, --allow-run-as-root, --oversubscribe, -n, "2", jitterlab-mpi, npb, ep, --format, json] }
      hook: socket
      runtime: { pattern: '"time_s":([0-9.]+)', unit: s }
      levels: [none]
"#;

fn records(lab: &Lab) -> Vec<Value> {
    let output = lab.run("run e.yaml --headless");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    lines(&folder(lab).join("runs.jsonl"))
}

#[test]
fn ranks_are_started_and_delayed_and_what_they_report_is_kept() {
    if !has_mpi() {
        return;
    }
    let lab = Lab::new();
    lab.write("e.yaml", RANKS);
    let records = records(&lab);
    let runs: Vec<&str> = records.iter().map(|r| r["run"].as_str().unwrap()).collect();
    assert_eq!(runs, planned(&lab));
    let of = |case: &'static str| records.iter().filter(move |r| r["case"] == case);
    assert_eq!((of("ep").count(), of("any").count()), (2, 1));
    for record in of("ep") {
        let mpi = printed(record);
        assert_eq!(record["result"]["application"]["runtime_s"], mpi["time_s"]);
        assert_eq!((&mpi["verified"], &mpi["ranks"]), (&true.into(), &2.into()));
        assert_eq!(mpi["phases"].as_array().unwrap().len(), 2);
        let injected = record["level"]["kind"] == "injected";
        assert_eq!(
            record["injection"]["delayed"].as_u64() > Some(0),
            injected,
            "{record}"
        );
    }
    // Every sample of every rank that measures: both in a barrier, in ping-pong the one that begins.
    assert_eq!((of("barrier").count(), of("ping-pong").count()), (2, 1));
    let folder = folder(&lab);
    for record in of("barrier").chain(of("ping-pong")) {
        let samples = folder.join(record["samples"].as_str().unwrap());
        let ranks = samples::read_ranks(&samples).unwrap();
        let point = &printed(record)["points"][0];
        let n: usize = ranks.iter().map(Vec::len).sum();
        assert_eq!((&record["n"], &point["samples"]), (&n.into(), &n.into()));
        let measuring = if record["case"] == "barrier" { 2 } else { 1 };
        assert_eq!(ranks.len(), measuring);
        assert!(point["per_rank"].is_array() && point["heat_map"].is_null());
        let injected = record["level"]["kind"] == "injected";
        assert_eq!(
            record["injection"]["delayed"].as_u64() >= Some(200),
            injected,
            "{record}"
        );
    }
    assert_eq!(
        printed(of("ping-pong").next().unwrap())["points"][0]["size_bytes"],
        1024
    );
    let report = lab.run(&format!("report {}", folder.display()));
    assert_eq!(report.status.code(), Some(0), "{}", text(&report.stderr));
    assert!(folder.join("report/library-barrier.svg").is_file());
}

#[test]
fn load_goes_over_mpi() {
    if !has_mpi() {
        return;
    }
    let lab = Lab::new();
    let load = "load run --transport mpi --pattern pairs --level 20 --duration 100ms --ranks 2 --message 1KiB --format json";
    let output = lab.run(load);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let produced: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (
            &produced["transport"],
            &produced["pattern"],
            &produced["ranks"],
            &produced["message"]
        ),
        (&"mpi".into(), &"pairs".into(), &2.into(), &1024.into())
    );
    assert!(
        produced["received_messages"].as_u64() > Some(0),
        "{produced}"
    );
}

/// The load of ranks lasts as long as what is measured beside it, whether that is ranks or not.
#[test]
fn background_load_goes_over_mpi() {
    if !has_mpi() {
        return;
    }
    let injected = RANKS.find("  injected:").unwrap();
    let (levels, rest) = RANKS.split_at(injected);
    let suites = &rest[rest.find("suites:").unwrap()..rest.find("    - name: any").unwrap()];
    let of_sockets = "transport: udp, from: here, to: here, message: 1400B";
    let text = format!("{levels}{suites}")
        .replace(of_sockets, "transport: mpi")
        .replace("[none, injected]", "[none, load]");
    let lab = Lab::new();
    lab.write("e.yaml", text);
    let records = records(&lab);
    let loads: Vec<&Value> = records
        .iter()
        .map(|record| &record["load"])
        .filter(|load| load.is_object())
        .collect();
    // Beside rtt, barrier and ep.
    assert_eq!(loads.len(), 3);
    for load in loads {
        assert_eq!(load["transport"], "mpi", "{load}");
        assert_eq!(
            (&load["message"], &load["level"]),
            (&65536.into(), &20.0.into())
        );
        assert!(load["produced_level"].as_f64() > Some(0.0), "{load}");
        assert_eq!(load["sent_messages"], load["received_messages"], "{load}");
    }
    let report = lab.run(&format!("report {}", folder(&lab).display()));
    assert_eq!(
        report.status.code(),
        Some(0),
        "{}",
        common::text(&report.stderr)
    );
}

#[test]
fn options_of_one_kind_of_load_are_not_for_the_other() {
    let lab = Lab::new();
    lab.refuses(
        "load run --transport udp --level 10 --pattern pairs",
        "--pattern is for load over MPI: --transport mpi",
    );
    lab.refuses(
        "load run --transport mpi --level 10 --pattern pairs --cpu 1",
        "--cpu is not for load over MPI: say to its launcher where ranks run, after --",
    );
    lab.refuses(
        "load run --transport mpi --level 10",
        "error: the following required arguments were not provided:",
    );
}

#[test]
fn why_ranks_did_not_start_is_said() {
    if !has_mpi() {
        return;
    }
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        "name: wrong\nseed: 1\nrepetitions: 1\nretries: 0\nhosts: { here: { at: local } }\n\
         mpi: { on: here, arguments: [--no-such-option] }\nsuites:\n  application:\n    \
         - { name: ep, npb: { kernel: ep, class: S, ranks: 2 } }\n",
    );
    assert_eq!(lab.run("run e.yaml --headless").status.code(), Some(1));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    let reason = records[0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("mpirun ended with exit status "),
        "{reason}"
    );
    assert!(reason.contains("no-such-option"), "{reason}");
}

#[test]
fn ranks_of_another_mpi_than_their_launchers_are_found_out() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("bin")).unwrap();
    if !has_mpi() || !has_mpich(&lab) {
        return;
    }
    std::fs::remove_file(lab.path("bin/jitterlab-mpi")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_jitterlab")).with_file_name("jitterlab-mpi");
    std::os::unix::fs::symlink(program, lab.path("bin/jitterlab-mpi")).unwrap();
    lab.write(
        "e.yaml",
        "name: mixed\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local } }\nmpi: { on: here }\nsuites:\n  library:\n    \
         - { case: barrier, ranks: 2, iterations: 10 }\n  application:\n    \
         - { name: ep, npb: { kernel: ep, class: S, ranks: 2 } }\n",
    );
    let output = Command::new(lab.path("bin/jitterlab"))
        .args(["run", "e.yaml", "--headless"])
        .current_dir(lab.path(""))
        .env("PATH", lab.path_with_bin())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let records = lines(&folder(&lab).join("runs.jsonl"));
    // Each is tried once: it would fail again.
    assert_eq!(records.len(), 2, "{records:#?}");
    for record in records {
        let reason = record["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("the ranks that mpirun started know nothing of each other"),
            "{reason}"
        );
    }
}

#[test]
fn what_is_missing_is_said_with_what_to_install_before_anything_is_made() {
    let lab = Lab::new();
    lab.write("e.yaml", RANKS);
    std::fs::create_dir(lab.path("bin")).unwrap();
    let program = |name: &str| {
        let path = std::env::var_os("PATH").unwrap();
        let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
        let found = places.find(|path| path.is_file()).unwrap();
        std::os::unix::fs::symlink(found, lab.path("bin").join(name)).unwrap();
    };
    // A program that stands alone, with the least that a worker needs.
    for name in ["setpriv", "true", "sh", "printenv"] {
        program(name);
    }
    std::fs::copy(env!("CARGO_BIN_EXE_jitterlab"), lab.path("bin/jitterlab")).unwrap();
    let says = |arguments: &str, expected: &str| {
        let output = Command::new(lab.path("bin/jitterlab"))
            .args(arguments.split_whitespace())
            .current_dir(lab.path(""))
            .env("PATH", lab.path("bin"))
            .output()
            .unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr, format!("jitterlab: {expected}\n"));
        assert!(output.stdout.is_empty());
        assert!(!lab.path("results").exists());
    };
    let load = "load run --transport mpi --pattern pairs --level 20";
    let install = "on Debian, `apt-get install libopenmpi-dev openmpi-bin libclang-dev`";
    let build = "`cargo build --release -p jitterlab-mpi`";
    let both = format!("has neither mpirun nor jitterlab-mpi: {install}, then {build}");
    says("run e.yaml", &format!("host here {both}"));
    says(load, &format!("this machine {both}"));
    let place = |name: &str| {
        let file = lab.path("bin").join(name);
        std::os::unix::fs::symlink(lab.path("bin/true"), &file).unwrap();
        file
    };
    let launcher = place("mpirun");
    let no_program = format!(
        "host here has no jitterlab-mpi, beside jitterlab or where its PATH leads: build it with {build}, which needs \
         an MPI ({install})"
    );
    says("run e.yaml", &no_program);
    std::fs::remove_file(launcher).unwrap();
    place("jitterlab-mpi");
    says(
        "run e.yaml",
        "host here has no mpirun: on Debian, `apt-get install libopenmpi-dev openmpi-bin`",
    );
    place("srun");
    lab.write(
        "e.yaml",
        RANKS.replace("mpi: { on: here", "mpi: { on: here, launcher: srun"),
    );
    says(
        "run e.yaml",
        "srun starts ranks inside an allocation, and host here is in none (SLURM_JOB_ID is not set): start jitterlab \
         with salloc or sbatch",
    );
}

#[test]
fn the_papers_suites_have_a_plan_in_both_sizes() {
    let lab = Lab::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    // Suite 1: packets over two transports without load, under each load and with two shapes of each; two operations
    // and six programs without and with those shapes; in the quick size packets beside the ranks, without load. Suite 2:
    // packets over one transport, no operation, five shapes.
    for (suite, loads) in [("quick", 2), ("full", 8)] {
        for (number, transports, shapes, compared) in [(1, 2, 2, 2 + 6), (2, 1, 5, 6)] {
            let file = folder.join(format!("suite{number}-{suite}.yaml"));
            let plan = lab.json(&format!("run {} --dry-run --format json", file.display()));
            let injected = loads * shapes;
            let beside_mpi = usize::from((suite, number) == ("quick", 1));
            let runs = transports * (1 + loads + injected) + compared * (1 + injected) + beside_mpi;
            assert_eq!(
                plan["runs"].as_array().unwrap().len(),
                10 * runs,
                "{suite} {number}"
            );
            let minutes = plan["seconds"].as_f64().unwrap() / 60.0;
            assert_eq!(
                minutes > 60.0,
                suite == "full",
                "{suite} {number}: {minutes} min"
            );
        }
    }
}

//! `jitterlab inject` on MPI programs, by the launchers of Open MPI and MPICH.

mod common;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Lab, text};
use insta::assert_snapshot;
use jitterlab_skip::{built, skip};
use serde_json::{Value, json};

/// The MPIs of this machine, by the end of the names of their programs. jitterlab itself needs none.
fn installed() -> impl Iterator<Item = &'static str> {
    ["openmpi", "mpich"]
        .into_iter()
        .filter(|mpi| is_installed(mpi))
}

/// Whether this MPI is there; the test is skipped if not.
fn is_installed(mpi: &str) -> bool {
    let there = Path::new("/usr/bin").join(format!("mpicc.{mpi}")).exists();
    if !there {
        skip(format_args!("{mpi} is not installed"));
    }
    there
}

/// A folder with a table, a seed and the program `ring`, built for an MPI.
fn lab(mpi: &str) -> Lab {
    built();
    let lab = Lab::new();
    lab.done("dist make --shape constant --mean 50us -o t.dist");
    lab.write("s.seed", "7\n");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ring.c");
    let mut cc = Command::new(format!("mpicc.{mpi}"));
    cc.arg("-O1").arg(source).arg("-o").arg(lab.path("ring"));
    assert!(cc.status().unwrap().success());
    lab
}

const RUN: &str = "inject run --hook mpi --table t.dist --seed s.seed";

/// A command of jitterlab's, in an environment in which Open MPI runs as anybody and on few processors.
fn command(lab: &Lab, arguments: &str) -> Command {
    let mut command = lab.command(arguments);
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ]);
    command
}

fn run(lab: &Lab, arguments: &str) -> Output {
    command(lab, arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The lines of a report that ranks have left: those of launchers count no calls.
fn ranks_reports(lab: &Lab) -> Vec<Value> {
    let report = lab.read("report");
    let lines = report
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut reports: Vec<Value> = lines.filter(|line: &Value| line["delays"] != 0).collect();
    reports.sort_by_key(|report| report["rank"].as_u64());
    reports
}

#[test]
fn every_rank_is_reached_and_shown() {
    for mpi in installed() {
        let lab = lab(mpi);
        let mut child = command(
            &lab,
            &format!("{RUN} --report report -- mpirun.{mpi} -n 3 ./ring"),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "come round\n");
        let shown = lab.json("inject status --format json");
        let mut ranks: Vec<&Value> = shown
            .as_array()
            .unwrap()
            .iter()
            .filter(|program| program["program"].as_str().unwrap().ends_with("ring"))
            .filter(|program| {
                program["table"]
                    .as_str()
                    .unwrap()
                    .contains(lab.path("t.dist").to_str().unwrap())
            })
            .collect();
        ranks.sort_by_key(|program| program["rank"].as_u64());
        let sent: Vec<_> = ranks
            .iter()
            .map(|rank| {
                (
                    rank["rank"].clone(),
                    rank["calls"]["mpi_send"].clone(),
                    rank["delays"].clone(),
                )
            })
            .collect();
        let expected = |rank: i32, calls: i32| (json!(rank), json!(calls), json!(calls));
        assert_eq!(
            sent,
            [expected(0, 10), expected(1, 11), expected(2, 11)],
            "{mpi}"
        );
        let people = lab.done("inject status");
        assert!(
            people.contains("ring, rank 2: on, spin on mpi, seed 7"),
            "{people}"
        );
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "{mpi}");
        let delays: Vec<Value> = ranks_reports(&lab)
            .iter()
            .map(|report| report["delays"].clone())
            .collect();
        assert_eq!(delays, [json!(10), json!(11), json!(11)], "{mpi}");
    }
}

/// A remote shell that goes nowhere, but takes nothing of the environment along.
const SHELL: &str = "#!/bin/sh
shift
exec env -i PATH=\"$PATH\" HOME=\"$HOME\" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \\
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 /bin/sh -c \"$*\"
";

#[test]
fn open_mpis_ranks_on_other_hosts_are_reached() {
    for mpi in ["openmpi"].into_iter().filter(|mpi| is_installed(mpi)) {
        let lab = lab(mpi);
        lab.write("shell", SHELL);
        std::fs::set_permissions(lab.path("shell"), PermissionsExt::from_mode(0o755)).unwrap();
        let shell = lab.path("shell");
        let shell = shell.display();
        let ring = lab.path("ring");
        let ring = ring.display();
        // What the user hands on by the same way stays.
        for (options, list) in [("", None), ("-x HOME", None), ("", Some("HOME"))] {
            let line = format!(
                "{RUN} --report report -- mpirun.{mpi} --mca plm_rsh_agent {shell} {options} \
                 --host elsewhere:2 -n 2 {ring}"
            );
            let mut command = command(&lab, &line);
            if let Some(list) = list {
                command.env("OMPI_MCA_mca_base_env_list", list);
            }
            let output = command.stdin(Stdio::null()).output().unwrap();
            assert!(
                output.status.success(),
                "{options}: {}",
                text(&output.stderr)
            );
            let reports = ranks_reports(&lab);
            std::fs::remove_file(lab.path("report")).unwrap();
            let delays: Vec<_> = reports
                .iter()
                .map(|r| (r["rank"].clone(), r["delays"].clone()))
                .collect();
            assert_eq!(
                delays,
                [(json!(0), json!(10)), (json!(1), json!(11))],
                "{options} {list:?}"
            );
        }
    }
}

#[test]
fn a_trace_shows_who_sends_how_much_to_whom() {
    for mpi in installed() {
        let lab = lab(mpi);
        let line = format!("mpirun.{mpi} -n 3 ./ring");
        let output = run(&lab, &format!("inject trace --format json -- {line}"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("come round"),
            "what the program prints is on stderr"
        );
        let trace: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(trace["ranks"], 3);
        assert_eq!(
            (&trace["messages"], &trace["bytes"]),
            (&json!(32), &json!(30_002))
        );
        assert_eq!(
            trace["matrix"]["messages"],
            json!([[0, 10, 0], [1, 0, 10], [11, 0, 0]])
        );
        assert_eq!(
            trace["matrix"]["bytes"],
            json!([[0, 10_000, 0], [1, 0, 10_000], [10_001, 0, 0]])
        );
        assert_eq!(
            (&trace["collectives"], &trace["collective_bytes"]),
            (&json!(3), &json!(0))
        );
        assert_eq!(
            trace["calls"][1],
            json!({"call": "MPI_Sendrecv", "calls": 30, "messages": 30, "bytes": 30_000})
        );
        assert_eq!(trace["silent"], json!([]));
        let by_people = run(&lab, &format!("inject trace -- {line}"));
        let shown = text(&by_people.stdout).replace(&format!(".{mpi}"), "");
        assert_snapshot!("trace", shown);
    }
}

#[test]
fn a_trace_of_nothing_says_so() {
    built();
    let lab = Lab::new();
    let output = run(&lab, "inject trace -- true");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("no call of MPI was seen"));
    lab.refuses(
        "inject trace -- ./nothing",
        "./nothing is not a program that can be run",
    );
}

#[test]
fn a_signal_ends_the_program_that_is_traced_and_not_the_report() {
    built();
    let lab = Lab::new();
    let mut trace = lab.mortal("inject trace --format json -- sh -c");
    let mut trace = trace
        .arg("echo begun; exec sleep 1000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(trace.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    let pid = nix::unistd::Pid::from_raw(trace.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM).unwrap();
    let output = trace.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert_eq!(report["ended"], json!({"signal": 15}));
}

#[test]
fn mpi_is_not_deferred_and_sockets_below_it_are() {
    let refusal = "MPI and UCT cannot be deferred, because the data stay in the hands of the program: use --hook socket or verbs, or --mode spin or pace";
    for mpi in installed() {
        let lab = lab(mpi);
        for hooks in ["mpi", "socket,mpi-collectives", "uct"] {
            lab.refuses(
                &format!(
                    "inject run --hook {hooks} --mode defer --table t.dist --seed s.seed -- true"
                ),
                refusal,
            );
        }
        let output = run(
            &lab,
            &format!("{RUN} --mode pace --report report -- mpirun.{mpi} -n 2 ./ring"),
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        let delays: Vec<Value> = ranks_reports(&lab)
            .iter()
            .map(|report| report["delays"].clone())
            .collect();
        assert_eq!(delays, [json!(10), json!(11)], "{mpi}");
    }
}

/// The doctor reads the registers of x86-64.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_doctor_names_the_layers_of_an_mpi_program() {
    for mpi in installed() {
        let lab = lab(mpi);
        let output = run(
            &lab,
            &format!("inject doctor --format json -- mpirun.{mpi} -n 2 ./ring"),
        );
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = report["rows"].as_array().unwrap();
        let hooked = |call: &str| {
            rows.iter()
                .find(|row| row["call"] == call)
                .map(|row| row["hooked"].clone())
        };
        assert_eq!(hooked("mpi_send"), Some(json!(21)), "{mpi}: {report}");
        assert_eq!(hooked("mpi_collective"), Some(json!(2)), "{mpi}");
        let conclusion = report["conclusion"].as_str().unwrap();
        assert!(
            conclusion.starts_with("23 calls of MPI passed --hook mpi"),
            "{conclusion}"
        );
    }
}

/// MPICH as a part of the program, which is else as any other: the library is in it, and has nothing to stand before.
#[test]
fn an_mpi_that_is_linked_into_the_program_is_found() {
    if !is_installed("mpich") {
        return;
    }
    let lab = lab("mpich");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ring.c");
    let mut cc = Command::new("mpicc.mpich");
    cc.arg("-O1").arg(source).args(["-static-mpi", "-o"]);
    assert!(cc.arg(lab.path("inside")).status().unwrap().success());
    let output = run(&lab, "inject trace -- mpirun.mpich -n 2 ./inside");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("no call of MPI was seen"));
    // The doctor reads the registers of x86-64.
    if cfg!(target_arch = "x86_64") {
        let output = run(
            &lab,
            "inject doctor --format json -- mpirun.mpich -n 2 ./inside",
        );
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["ended"], json!({"exit-status": 0}), "{report}");
        assert_eq!(
            (output.status.code(), &report["sound"]),
            (Some(1), &json!(false))
        );
        let inside: Vec<_> = report["bypasses"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["program"].as_str().unwrap().ends_with("/inside"))
            .map(|finding| &finding["kind"])
            .collect();
        assert_eq!(inside, [&json!("static-mpi")], "{report}");
    }
}

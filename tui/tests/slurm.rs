//! `jitterlab` inside an allocation of Slurm.

mod allocation;
mod common;

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use allocation::{Slurm, has_slurm};
use common::experiments::{folder, kill, lines, printed, until};
use common::mpi::{has_mpi, has_mpich};
use common::text;
use jitterlab_skip::skip;
use serde_json::Value;

/// Whether everything is there.
fn can_start() -> bool {
    has_slurm() && has_mpi()
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");

/// An experiment of ranks that are delayed and of ranks that are not.
fn experiment(mpi: &str) -> String {
    format!(
        "name: slurm\nseed: 1\nrepetitions: 1\nretries: 0\nhosts: {{ here: {{ at: local }} }}\nmpi: {mpi}\n\
         load: {{ transport: udp, from: here, to: here, message: 1400B, bandwidth: 100MiB }}\n\
         levels:\n  load: [20]\n  injected: {{ percent: [20], transport: udp, shapes: [uniform] }}\n\
         suites:\n  packet:\n    - {{ case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 5ms, \
         duration: 20ms, wait: block }}\n\
         \x20 library:\n    - {{ case: barrier, ranks: 2, iterations: 100, warmup: 1ms, levels: [none, injected] }}\n\
         \x20 application:\n    - {{ name: mg, npb: {{ kernel: mg, class: S, ranks: 2 }}, levels: [none, injected] }}\n"
    )
}

/// Every rank was there, and delayed where it was to be.
fn assert_runs(slurm: &Slurm, output: &Output) {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let records = lines(&folder(&slurm.lab).join("runs.jsonl"));
    for case in ["barrier", "mg"] {
        let of = |record: &&Value| record["case"] == case;
        assert_eq!(records.iter().filter(of).count(), 2, "{said}");
        for record in records.iter().filter(of) {
            assert_eq!(printed(record)["ranks"], 2, "{record}");
            let injected = record["level"]["kind"] == "injected";
            let least = if case == "barrier" { 200 } else { 1 };
            assert_eq!(
                record["injection"]["delayed"].as_u64() >= Some(least),
                injected,
                "{record}"
            );
        }
    }
    assert_eq!(slurm.ranks(), [] as [String; 0]);
}

/// How Slurm starts ranks of Open MPI, if it can: by the PMIx that both are built with.
fn pmix(slurm: &Slurm) -> Option<&'static str> {
    let list = slurm.command("srun").arg("--mpi=list").output().unwrap();
    let list = text(&list.stdout) + &text(&list.stderr);
    let has_pmix = list.lines().any(|line| line.trim() == "pmix");
    if !has_pmix {
        skip("this Slurm has no PMIx");
    }
    has_pmix.then_some("{ on: here, launcher: srun, arguments: [--mpi=pmix] }")
}

#[test]
fn srun_starts_ranks_in_an_allocation() {
    if !can_start() {
        return;
    }
    let slurm = Slurm::start();
    if let Some(mpi) = pmix(&slurm) {
        slurm.lab.write("e.yaml", experiment(mpi));
        let mut salloc = slurm.command("salloc");
        salloc.args(["-n", "2", PROGRAM, "run", "e.yaml", "--headless"]);
        assert_runs(&slurm, &salloc.output().unwrap());
    }
}

#[test]
fn srun_starts_ranks_of_mpich() {
    if !has_slurm() {
        return;
    }
    let slurm = Slurm::start();
    fs::create_dir(slurm.lab.path("bin")).unwrap();
    if !has_mpich(&slurm.lab) {
        return;
    }
    let mpi = "{ on: here, launcher: srun, arguments: [--mpi=pmi2] }";
    slurm.lab.write("e.yaml", experiment(mpi));
    let mut salloc = slurm.command("salloc");
    salloc
        .args(["-n", "2"])
        .arg(slurm.lab.path("bin/jitterlab"));
    assert_runs(
        &slurm,
        &salloc
            .args(["run", "e.yaml", "--headless"])
            .output()
            .unwrap(),
    );
}

#[test]
fn mpirun_starts_ranks_in_a_batch_script() {
    if !can_start() {
        return;
    }
    let slurm = Slurm::start();
    slurm.lab.write("e.yaml", experiment("{ on: here }"));
    slurm.lab.write(
        "batch",
        format!("#!/bin/sh\n{PROGRAM} run e.yaml --headless\n"),
    );
    let mut sbatch = slurm.command("sbatch");
    let mut output = sbatch
        .args(["--wait", "-n", "2", "-o", "said", "batch"])
        .output()
        .unwrap();
    output.stdout.extend(slurm.lab.read("said").into_bytes());
    assert_runs(&slurm, &output);
}

/// An experiment of one run that does not end by itself: a warm-up, of which no times are kept that could fill memory.
fn endless(mpi: &str, timeout: &str) -> String {
    format!(
        "name: endless\nseed: 1\nrepetitions: 1\nretries: 0\nhosts: {{ here: {{ at: local }} }}\nmpi: {mpi}\n\
         suites:\n  library:\n    - {{ case: barrier, ranks: 2, warmup: 3000s, duration: 1s, timeout: {timeout} }}\n"
    )
}

/// How the only run has failed.
fn failure(slurm: &Slurm) -> String {
    let records = lines(&folder(&slurm.lab).join("runs.jsonl"));
    assert_eq!(records.len(), 1);
    records[0]["reason"].as_str().unwrap().into()
}

/// An allocation that outlives the experiment in it, so that it is not what ends the ranks.
fn allocated(slurm: &Slurm, timeout: &str, mpi: &str) -> Child {
    slurm.lab.write("e.yaml", endless(mpi, timeout));
    let script = format!(
        "{PROGRAM} run e.yaml --headless &\necho $! >pid\nwait\ntouch ended\nexec sleep 3000\n"
    );
    slurm.lab.write("in-allocation", script);
    let mut salloc = slurm.command("salloc");
    salloc.args(["-n", "2", "sh", "in-allocation"]);
    salloc.stdout(Stdio::null()).stderr(Stdio::null());
    let salloc = salloc.spawn().unwrap();
    until(|| !slurm.ranks().is_empty());
    salloc
}

fn kill_9(pid: &str) {
    let killed = Command::new("kill").args(["-9", pid]).status();
    assert!(killed.unwrap().success());
}

#[test]
fn ranks_that_srun_has_started_end_with_a_controller_that_is_killed() {
    if !can_start() {
        return;
    }
    let slurm = Slurm::start();
    if let Some(mpi) = pmix(&slurm) {
        let salloc = allocated(&slurm, "3600s", mpi);
        kill_9(slurm.lab.read("pid").trim());
        until(|| slurm.ranks().is_empty());
        kill(salloc);
    }
}

#[test]
fn ranks_that_srun_has_started_end_when_their_time_is_over() {
    if !can_start() {
        return;
    }
    let slurm = Slurm::start();
    if let Some(mpi) = pmix(&slurm) {
        let salloc = allocated(&slurm, "15s", mpi);
        until(|| slurm.lab.path("ended").exists());
        assert_eq!(slurm.ranks(), [] as [String; 0]);
        assert_eq!(failure(&slurm), "srun did not end within 15s");
        kill(salloc);
    }
}

#[test]
fn a_rank_of_srun_that_dies_takes_the_others_with_it() {
    if !can_start() {
        return;
    }
    let slurm = Slurm::start();
    if let Some(mpi) = pmix(&slurm) {
        let salloc = allocated(&slurm, "3600s", mpi);
        kill_9(&slurm.ranks()[0]);
        until(|| slurm.lab.path("ended").exists());
        assert_eq!(slurm.ranks(), [] as [String; 0]);
        let reason = failure(&slurm);
        assert!(reason.contains("Killed"), "{reason}");
        kill(salloc);
    }
}

#[test]
fn ranks_and_slurm_without_a_common_pmi_are_found_out() {
    if !can_start() {
        return;
    }
    let slurm = Slurm::start();
    let mpi = "{ on: here, launcher: srun, arguments: [--mpi=none] }";
    slurm.lab.write("e.yaml", endless(mpi, "60s"));
    let mut salloc = slurm.command("salloc");
    let output = salloc
        .args(["-n", "2", PROGRAM, "run", "e.yaml", "--headless"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let reason = failure(&slurm);
    assert!(reason.contains("PMI"), "{reason}");
}

#[test]
fn load_goes_over_mpi_in_an_allocation() {
    if !can_start() {
        return;
    }
    let slurm = Slurm::start();
    for launcher in [
        pmix(&slurm).map(|_| ("srun", "--mpi=pmix")),
        Some(("mpirun", "--quiet")),
    ] {
        let Some((launcher, argument)) = launcher else {
            continue;
        };
        let mut salloc = slurm.command("salloc");
        salloc.args(["-n", "2", PROGRAM]);
        salloc.args(
            "load run --transport mpi --pattern pairs --level 20 --duration 100ms --ranks 2"
                .split(' '),
        );
        salloc.args(["--format", "json", "--launcher", launcher, "--", argument]);
        let output = salloc.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let produced: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(produced["ranks"], 2, "{produced}");
    }
}

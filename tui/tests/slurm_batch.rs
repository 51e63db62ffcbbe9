//! Batch scripts of `jitterlab job slurm`, run by sbatch; and lists of nodes, as Slurm reads them.

mod allocation;
mod common;

use std::fs;
use std::process::Stdio;

use allocation::{Slurm, has_slurm};
use common::experiments::{folder, lines};
use common::mpi::has_mpi;
use common::text;
use jitterlab_cluster::schedulers::expand;

/// Neither hosts nor how ranks are started: the job says it.
const EXPERIMENT: &str = "name: batch\nseed: 1\nrepetitions: 2\nretries: 0\nsuites:\n  packet:\n    - { case: rtt, \
                          transports: [udp], warmup: 5ms, duration: 20ms }\n";
const RANKS: &str =
    "  library:\n    - { case: barrier, iterations: 100, warmup: 1ms, timeout: 60s }\n";

/// Prints the script and gives it to sbatch; every run is done.
fn submitted(slurm: &Slurm, experiment: &str, options: &str) -> Vec<serde_json::Value> {
    slurm.lab.write("e.yaml", experiment);
    let script = slurm.lab.done(&format!("job slurm e.yaml {options}"));
    slurm.lab.write("job.sh", script);
    let mut sbatch = slurm.command("sbatch");
    let output = sbatch
        .args(["--wait", "--parsable", "--output=said", "job.sh"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = text(&output.stderr) + &slurm.lab.read("said");
    assert_eq!(output.status.code(), Some(0), "{said}");
    let job = text(&output.stdout);
    let told = format!("job {} of Slurm: node1 is ", job.trim());
    assert!(said.contains(&told), "{said}");
    let records = lines(&folder(&slurm.lab).join("runs.jsonl"));
    assert!(
        records.iter().all(|record| record["outcome"] == "done"),
        "{said}"
    );
    records
}

#[test]
fn sbatch_runs_the_script_as_it_is_printed() {
    if !has_slurm() {
        return;
    }
    let slurm = Slurm::start();
    let records = submitted(&slurm, EXPERIMENT, "--nodes 1 --partition all");
    assert_eq!(records.len(), 2);
    let environment = fs::read_to_string(folder(&slurm.lab).join("environment.json")).unwrap();
    assert!(environment.contains("\"node1\""), "{environment}");
}

#[test]
fn ranks_of_a_job_are_those_of_its_nodes() {
    if !has_slurm() || !has_mpi() {
        return;
    }
    let slurm = Slurm::start();
    let records = submitted(
        &slurm,
        &format!("{EXPERIMENT}{RANKS}"),
        "--nodes 1 --ranks 2",
    );
    let library: Vec<_> = records
        .iter()
        .filter(|record| record["suite"] == "library")
        .collect();
    assert_eq!(library.len(), 2);
    for record in library {
        assert_eq!(record["result"]["library"]["ranks"], 2, "{record}");
    }
}

#[test]
fn lists_of_nodes_are_read_as_slurm_reads_them() {
    if !has_slurm() {
        return;
    }
    let slurm = Slurm::start();
    for list in [
        "node3",
        "n[8,08]",
        "n[08-11,3],login,a-[1-2]",
        "r[0-1]n[1-3]",
        "rack[00-01]n[8-10,12],z",
    ] {
        let mut scontrol = slurm.command("scontrol");
        let output = scontrol.args(["show", "hostnames", list]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let names: Vec<String> = text(&output.stdout).lines().map(String::from).collect();
        assert_eq!(expand(list).unwrap(), names, "{list}");
    }
}

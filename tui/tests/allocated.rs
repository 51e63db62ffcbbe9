//! `jitterlab` inside an allocation that names its hosts: of PBS, by a file of nodes.

mod cluster;
mod common;
mod ssh;

use std::path::Path;
use std::process::Command;

use cluster::{Cluster, is_root};
use common::experiments::{folder, lines};
use common::mpi::has_mpi;
use common::{Lab, text};
use serde_json::Value;

/// An experiment that leaves its hosts to the allocation.
const PACKET: &str = "name: allocated\nseed: 1\nrepetitions: 1\nretries: 0\nsuites:\n  packet:\n    - { case: rtt, \
                      transports: [udp], warmup: 5ms, duration: 20ms }\n";
/// And its ranks, too.
const RANKS: &str =
    "  library:\n    - { case: allreduce, iterations: 100, warmup: 1ms, timeout: 60s }\n";

fn hostname() -> String {
    nix::unistd::gethostname().unwrap().into_string().unwrap()
}

/// `jitterlab` in a job of PBS that has these lines in its file of nodes.
fn in_pbs(lab: &Lab, command: &mut Command, nodes: &str) {
    lab.write("nodes", nodes);
    command.env("PBS_NODEFILE", lab.path("nodes"));
    command.env("PBS_JOBID", "12.pbs");
    command.env_remove("SLURM_JOB_NODELIST");
}

fn records(lab: &Lab) -> Vec<Value> {
    lines(&folder(lab).join("runs.jsonl"))
}

#[test]
fn an_experiment_without_hosts_runs_on_the_node_of_its_job() {
    let lab = Lab::new();
    lab.write("e.yaml", PACKET);
    let mut run = lab.command("run e.yaml --headless");
    let here = hostname();
    in_pbs(&lab, &mut run, &format!("{here}\n{here}\n"));
    let output = run.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(
        said,
        format!("job 12.pbs of PBS: node1 is {here} (2 ranks, this machine)\n")
    );
    assert_eq!(records(&lab)[0]["outcome"], "done");
    let frozen = std::fs::read_to_string(folder(&lab).join("experiment.yaml")).unwrap();
    assert!(
        frozen.contains("\nhosts:\n  node1:\n    at: local\n    slots: 2\n"),
        "{frozen}"
    );
    // The folder names its hosts: outside of the job, too.
    let resumed = common::experiments::resume(&lab);
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
}

#[test]
fn hosts_of_a_file_stay_what_they_are() {
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        format!("{PACKET}hosts: {{ mine: {{ at: local }} }}\n"),
    );
    let mut run = lab.command("run e.yaml --dry-run");
    in_pbs(&lab, &mut run, "n1\nn2\n");
    let output = run.output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new())
    );
}

#[test]
fn a_file_without_hosts_needs_an_allocation() {
    let lab = Lab::new();
    lab.write("e.yaml", PACKET);
    let run = |nodes: Option<&str>, arguments: &str| {
        let mut run = lab.command(arguments);
        if let Some(nodes) = nodes {
            in_pbs(&lab, &mut run, nodes);
        }
        let output = run.output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (status, said) = run(None, "run e.yaml");
    assert_eq!(status, Some(2));
    assert!(said.contains("missing key `hosts`"), "{said}");
    let (status, said) = run(None, "validate --transport udp");
    assert_eq!(status, Some(2));
    assert!(said.contains("in a job of Slurm or PBS"), "{said}");
    let (status, said) = run(Some("-oProxyCommand=x\n"), "run e.yaml");
    assert_eq!(status, Some(3));
    assert!(said.contains("no name of a node"), "{said}");
    lab.write("e.yaml", "{ name: e, seed: 1, repetitions: 1 }");
    let (status, said) = run(Some(&hostname()), "run e.yaml");
    assert_eq!(status, Some(2));
    assert!(said.contains("not in braces"), "{said}");
}

#[test]
fn an_inventory_has_its_own_hosts() {
    let lab = Lab::new();
    lab.write(
        "racks.yaml",
        "rack1:\n  hosts:\n    one: { ansible_connection: winrm }\n",
    );
    let mut validate = lab.command("validate racks.yaml --transport udp");
    in_pbs(&lab, &mut validate, "n1\nn2\n");
    let output = validate.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("winrm") && !said.contains("job 12.pbs"),
        "{said}"
    );
}

/// Two machines: this program runs on the first, and the second is at the end of ssh.
struct Machines {
    cluster: Cluster,
    path: String,
}

impl Machines {
    fn new() -> Self {
        let cluster = Cluster::new(2);
        let enter = format!("ip netns exec {} ", cluster.namespace(2));
        // Two machines have temporary files of their own.
        let own = cluster.lab.path("tmp-2");
        std::fs::create_dir(&own).unwrap();
        let path = std::env::var("PATH").unwrap();
        let variables = format!("TMPDIR={} PATH={path}", own.display());
        let path = ssh::path_to_machines(&cluster.lab, &enter, &variables);
        Machines { cluster, path }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.cluster.namespace(1)])
            .arg(env!("CARGO_BIN_EXE_jitterlab"))
            .args(arguments.split_whitespace())
            .current_dir(self.cluster.lab.path(""))
            .env("PATH", &self.path);
        let nodes = format!("{here}\n{here}\n10.72.0.2\n10.72.0.2\n", here = hostname());
        in_pbs(&self.cluster.lab, &mut command, &nodes);
        command
    }
}

#[test]
fn hosts_and_ranks_come_from_the_nodes_of_a_job() {
    if !is_root() || !has_mpi() {
        return;
    }
    let machines = Machines::new();
    let lab = &machines.cluster.lab;
    // They are one machine after all: a rank is not to keep the core that another one has, too, and shares no memory with it.
    let arguments = "mpi: { arguments: [--bind-to, none, --mca, mpi_yield_when_idle, '1', --mca, btl, 'self,tcp'] }\n";
    lab.write("e.yaml", format!("{PACKET}{RANKS}{arguments}"));
    let output = machines.command("run e.yaml --headless").output().unwrap();
    let said = text(&output.stderr) + &text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let records = records(lab);
    let of = |case: &str| {
        let mut of = records.iter().filter(|record| record["case"] == case);
        of.next().unwrap()
    };
    assert_eq!(of("rtt")["outcome"], "done");
    let library = &of("allreduce")["result"]["library"];
    assert_eq!(library["ranks"], 4, "{library}");
    let frozen = std::fs::read_to_string(folder(lab).join("experiment.yaml")).unwrap();
    for line in [
        "    at: ssh 10.72.0.2\n    address: 10.72.0.2\n",
        "    at: local\n    address: 10.72.0.1\n",
        "#   mpi: { on: node1, launcher: mpirun, hosts: { node1: 2, node2: 2 }, hook: mpi }\n",
        "#   suites, library, allreduce: { ranks: 4, size: 8B, levels: [none, load, injected] }\n",
    ] {
        assert!(frozen.contains(line), "{frozen}");
    }
}

#[test]
fn the_nodes_of_a_job_are_validated() {
    if !is_root() {
        return;
    }
    let machines = Machines::new();
    let lab = &machines.cluster.lab;
    lab.write("h.yaml", "repetitions: 2\nminimum_effect: 90%\n");
    for file in ["h.yaml", ""] {
        let arguments = format!("validate {file} --transport udp --hostfile out --nodelist list");
        let output = machines.command(&arguments).output().unwrap();
        let said = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("job 12.pbs of PBS: "), "{said}");
        let here = hostname();
        let mut hosts = [
            "10.72.0.2 slots=2\n".to_string(),
            format!("{here} slots=2\n"),
        ];
        hosts.sort();
        assert_eq!(lab.read("out"), hosts.concat());
        assert!(Path::exists(&lab.path("list")));
    }
}

//! `jitterlab run` with ranks on several hosts: in network namespaces, and at the end of ssh.

mod cluster;
mod common;
mod ssh;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use cluster::{Cluster, is_root};
use common::experiments::{ended, events, folder, kill, lines, printed, until};
use common::mpi::{has_mpi, has_mpich};
use common::text;
use serde_json::Value;

/// A section of hosts, and the rest of an experiment.
fn experiment(hosts: &str, mpi: &str, suites: &str) -> String {
    format!(
        "name: elsewhere\nseed: 1\nrepetitions: 1\nretries: 0\nhosts:\n{hosts}mpi: {mpi}\nsuites:\n{suites}"
    )
}

fn records(cluster: &Cluster, output: &Output) -> Vec<Value> {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    lines(&folder(&cluster.lab).join("runs.jsonl"))
}

/// The samples of each run of a case that were followed while it was measured.
fn followed(output: &Output, case: &str) -> Vec<u64> {
    let events = events(&output.stdout);
    let ended = ended(&events).into_iter();
    let of_case = ended.filter(|(record, _)| record.case == case);
    of_case.map(|(_, live)| live).collect()
}

#[test]
fn eight_namespaces_are_eight_nodes() {
    if !is_root() || !has_mpi() {
        return;
    }
    let cluster = Cluster::new(8);
    let hosts: String = (1..=8).map(|host| cluster.host(host)).collect();
    let slots: Vec<String> = (1..=8).map(|host| format!("n{host}: 1")).collect();
    let mpi = format!("{{ on: n3, hosts: {{ {} }} }}", slots.join(", "));
    let suites = "  library:\n    - { case: allreduce, ranks: 8, size: 64B, iterations: 20, warmup: 1ms }\n  \
                  application:\n    - { name: mg, npb: { kernel: mg, class: S, ranks: 8 } }\n";
    cluster
        .lab
        .write("e.yaml", experiment(&hosts, &mpi, suites));
    let output = cluster.lab.run("run e.yaml --headless");
    assert_eq!(followed(&output, "allreduce"), [8 * 20]);
    let records = records(&cluster, &output);
    let of = |case: &str| printed(records.iter().find(|r| r["case"] == case).unwrap());
    assert_eq!(of("allreduce")["points"][0]["samples"], 8 * 20);
    assert_eq!(
        (&of("mg")["verified"], &of("mg")["ranks"]),
        (&true.into(), &8.into())
    );
    for host in 1..=8 {
        assert_eq!(programs(&cluster, host), [] as [String; 0]);
    }
}

/// A load over MPI between hosts has a rank on each, wherever the ranks beside it are.
#[test]
fn load_over_mpi_goes_between_all_hosts() {
    if !is_root() || !has_mpi() {
        return;
    }
    let cluster = Cluster::new(3);
    let hosts: String = (1..=3).map(|host| cluster.host(host)).collect();
    let rest = "  library:\n    - { case: barrier, ranks: 2, iterations: 200, warmup: 1ms }\n\
                load: { transport: mpi, between: [n1, n2, n3], message: 1KiB, bandwidth: 10MiB }\nlevels: { load: [20] }\n";
    cluster
        .lab
        .write("e.yaml", experiment(&hosts, "{ on: n1 }", rest));
    let records = records(&cluster, &cluster.lab.run("run e.yaml --headless"));
    let load = &records[1]["load"];
    let load = if load.is_object() {
        load
    } else {
        &records[0]["load"]
    };
    // Each of the three sends at least a message, and what a host sent on the mean is a third of all.
    let level = |name: &str| load[name].as_f64().unwrap();
    let of_all = 100.0 * level("received_bytes") / level("seconds") / level("bandwidth");
    assert!(level("sent_messages") >= 3.0, "{load}");
    assert!((level("produced_level") / of_all) < 0.5, "{load}");
    for host in 1..=3 {
        assert_eq!(programs(&cluster, host), [] as [String; 0]);
    }
}

/// The programs that run in a host's namespace.
fn programs(cluster: &Cluster, host: usize) -> Vec<String> {
    let pids = Command::new("ip")
        .args(["netns", "pids", &cluster.namespace(host)])
        .output()
        .unwrap();
    let pids = text(&pids.stdout);
    // One that has ended meanwhile has no name.
    let name = |pid: &str| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    pids.lines().filter_map(name).collect()
}

/// True if the shared memory of a machine has a live page: a file in a place of one of its users.
fn has_page(shared: &Path) -> bool {
    let folders = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let places = folders(shared).flat_map(|user| folders(&user.path()));
    let mut places =
        places.filter(|place| place.file_name().to_string_lossy().starts_with("live-"));
    places.any(|place| folders(&place.path()).next().is_some())
}

/// Two machines at the end of ssh, `n1` and `n2`: each has its own network, temporary files and shared memory, and from each
/// the other is reached by its name. Nothing of it can be reached from anywhere else.
struct Machines {
    cluster: Cluster,
    path: String,
}

impl Machines {
    fn new() -> Self {
        let cluster = Cluster::new(2);
        let lab = &cluster.lab;
        for folder in ["tmp", "tmp-n1", "tmp-n2", "shm-n1", "shm-n2"] {
            fs::create_dir(lab.path(folder)).unwrap();
        }
        let folder = lab.path("");
        let folder = folder.display();
        let namespace = cluster.namespace(0);
        let prefix = namespace.trim_end_matches('0');
        // Entering a namespace of the network is entering a new one of mounts, too.
        lab.write(
            "enter",
            format!(
                "host=$1\nshift\nexec ip netns exec {prefix}${{host#n}} sh -c \
                 'mount --bind $0tmp-$1 $0tmp && mount --bind $0shm-$1 /dev/shm && shift && exec \"$@\"' \
                 {folder} $host \"$@\"\n"
            ),
        );
        let variables = format!(
            "TMPDIR={folder}tmp PATH={folder}bin:{}",
            std::env::var("PATH").unwrap()
        );
        let path = ssh::path_to_machines(lab, &format!("sh {folder}enter %h "), &variables);
        Machines { cluster, path }
    }

    fn command(&self) -> Command {
        let mut command = self.cluster.lab.mortal("run e.yaml --headless");
        command.env("PATH", &self.path);
        command
    }

    fn write(&self, program: &str, mpi: &str, rest: &str) {
        let host =
            |n| format!("  n{n}: {{ at: ssh n{n}, address: 10.72.0.{n}, jitterlab: {program} }}\n");
        let text = experiment(&[1, 2].map(host).concat(), mpi, rest);
        self.cluster.lab.write("e.yaml", text);
    }

    /// Starts an experiment of one run that does not end by itself (a warm-up keeps no times that could fill
    /// memory), and waits until a rank measures on both machines. A rank that is killed while it starts is another matter: Open MPI 4.1
    /// then waits for it for ever, about one time in ten.
    fn started(&self, timeout: &str) -> Child {
        let library = format!(
            "  library:\n    - {{ case: barrier, ranks: 2, warmup: 3000s, duration: 1s, timeout: {timeout} }}\n"
        );
        self.write(OWN, ONE_RANK_EACH, &library);
        let mut command = self.command();
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        until(|| [1, 2].into_iter().all(|host| self.measures(host)));
        child.unwrap()
    }

    /// True if a rank on a machine has a live page, which it makes once MPI has started.
    fn measures(&self, host: usize) -> bool {
        let pages = self.cluster.lab.path(&format!("shm-n{host}"));
        has_page(&pages)
    }

    /// How the only run has failed.
    fn failure(&self, child: Child) -> String {
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let records = lines(&folder(&self.cluster.lab).join("runs.jsonl"));
        records[0]["reason"].as_str().unwrap().into()
    }

    /// Waits until nothing runs on the machines any more; then there is no file of ours, either.
    fn are_left_clean(&self) {
        until(|| {
            [1, 2]
                .into_iter()
                .all(|host| programs(&self.cluster, host).is_empty())
        });
        for folder in ["tmp-n1", "tmp-n2"] {
            let left = fs::read_dir(self.cluster.lab.path(folder)).unwrap();
            let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
            assert!(
                left.iter()
                    .all(|name| !name.to_string_lossy().starts_with("jitterlab")),
                "{left:?}"
            );
        }
    }
}

const OWN: &str = env!("CARGO_BIN_EXE_jitterlab");
/// They are one machine after all: a rank is not to keep the core that the other one has, too.
const ONE_RANK_EACH: &str = "{ on: n1, hosts: { n1: 1, n2: 1 }, arguments: [--bind-to, none, --mca, mpi_yield_when_idle, '1'] }";

/// With the levels of an experiment that injects, and what they are made from: time and load enough for a slowdown
/// beside whatever else runs here.
const INJECTED: &str = "  packet:
    - { case: rtt, transports: [udp], from: n1, to: n2, size: 64B, warmup: 5ms, duration: 500ms, wait: block }
  library:
    - { case: barrier, ranks: 2, iterations: 100, warmup: 1ms, levels: [none, injected] }
  application:
    - { name: ep, npb: { kernel: ep, class: S, ranks: 2 }, levels: [none, injected] }
load: { transport: udp, from: n1, to: n2, message: 1400B, bandwidth: 100MiB }
levels:
  load: [60]
  injected: { percent: [60], transport: udp, shapes: [uniform] }
";

#[test]
fn ranks_at_the_end_of_ssh_are_started_and_delayed_and_leave_nothing() {
    if !is_root() || !has_mpi() {
        return;
    }
    let machines = Machines::new();
    machines.write(OWN, ONE_RANK_EACH, INJECTED);
    let output = machines.command().output().unwrap();
    // Those of both machines.
    assert_eq!(followed(&output, "barrier"), [200, 200]);
    let records = records(&machines.cluster, &output);
    for case in ["barrier", "ep"] {
        for record in records.iter().filter(|record| record["case"] == case) {
            assert_eq!(printed(record)["ranks"], 2, "{record}");
            let injected = record["level"]["kind"] == "injected";
            // Both ranks report, each from its own machine: a barrier is a call of each.
            let least = if case == "barrier" { 200 } else { 1 };
            assert_eq!(
                record["injection"]["delayed"].as_u64() >= Some(least),
                injected,
                "{record}"
            );
        }
    }
    machines.are_left_clean();
}

#[test]
fn mpichs_ranks_are_started_at_the_end_of_ssh_too() {
    if !is_root() {
        return;
    }
    let machines = Machines::new();
    let lab = &machines.cluster.lab;
    if !has_mpich(lab) {
        return;
    }
    // It takes them for one machine, and would also use memory and loopback between them. With UCX's PUT its last flush
    // wants an answer from a rank that MPICH before 4.2 may have in a barrier of PMI by then (its #6596). Without, too,
    // now and then: such a run is ended, and repeated.
    let mpi = "{ on: n1, hosts: { n1: 1, n2: 1 }, arguments: \
               [-genv, UCX_TLS, 'tcp,self', -genv, UCX_NET_DEVICES, veth0, -genv, UCX_TCP_PUT_ENABLE, 'n'] }";
    let program = lab.path("bin/jitterlab").display().to_string();
    let levels = "levels: [none, injected]";
    let suites = INJECTED.replace(levels, &format!("timeout: 20s, {levels}"));
    machines.write(&program, mpi, &suites);
    let patient = lab.read("e.yaml").replace("retries: 0", "retries: 3");
    lab.write("e.yaml", patient);
    let records = records(&machines.cluster, &machines.command().output().unwrap());
    for record in records.iter().filter(|record| record["outcome"] == "done") {
        let injected = record["level"]["kind"] == "injected" && record["case"] == "barrier";
        assert!(
            !injected || record["injection"]["delayed"].as_u64() >= Some(200),
            "{record}"
        );
    }
    machines.are_left_clean();
}

#[test]
fn ranks_on_other_machines_end_with_a_controller_that_is_killed() {
    if !is_root() || !has_mpi() {
        return;
    }
    let machines = Machines::new();
    kill(machines.started("3600s"));
    machines.are_left_clean();
}

#[test]
fn ranks_on_other_machines_end_when_their_time_is_over() {
    if !is_root() || !has_mpi() {
        return;
    }
    let machines = Machines::new();
    let child = machines.started("15s");
    assert_eq!(machines.failure(child), "mpirun did not end within 15s");
    machines.are_left_clean();
}

#[test]
fn a_rank_that_dies_takes_its_run_with_it_and_why_is_said() {
    if !is_root() || !has_mpi() {
        return;
    }
    let machines = Machines::new();
    let child = machines.started("3600s");
    let namespace = machines.cluster.namespace(2);
    let killed = Command::new("ip")
        .args(["netns", "exec", &namespace, "sh", "-c"])
        .arg(format!(
            "for pid in $(ip netns pids {namespace}); do case $(cat /proc/$pid/comm) in jitterlab-mpi*) kill -9 $pid; \
             esac; done"
        ))
        .status();
    assert!(killed.unwrap().success());
    let reason = machines.failure(child);
    assert!(reason.contains("signal 9"), "{reason}");
    machines.are_left_clean();
}

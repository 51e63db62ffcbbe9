//! `jitterlab job slurm`: what it prints, and what it refuses.

mod common;

use std::process::Command;

use common::{Lab, text};
use jitterlab_skip::skip;

const EXPERIMENT: &str = "name: batch\nseed: 1\nrepetitions: 10\nsuites:\n  packet:\n    - { case: rtt, transports: [udp], \
                          warmup: 1s, duration: 60s }\n  library:\n    - { case: barrier, ranks: 6, duration: 1s }\n";

#[test]
fn a_script_asks_for_what_the_experiment_takes() {
    let lab = Lab::new();
    lab.write("e.yaml", EXPERIMENT);
    let script = lab.done("job slurm e.yaml");
    let lines: Vec<&str> = script.lines().collect();
    assert_eq!(lines[0], "#!/bin/sh");
    let asked: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("#SBATCH --"))
        .collect();
    // 10 runs of 61 s and of 1 s, half as much again, and 5 minutes.
    assert_eq!(
        asked,
        [
            "job-name=batch",
            "nodes=2",
            "ntasks-per-node=3",
            "exclusive",
            "time=0-00:21:00"
        ]
    );
    let own = env!("CARGO_BIN_EXE_jitterlab");
    let file = lab.path("e.yaml").display().to_string();
    assert_eq!(*lines.last().unwrap(), format!("exec '{own}' run '{file}'"));
}

#[test]
fn a_script_has_what_is_asked_for() {
    let lab = Lab::new();
    lab.write("e.yaml", EXPERIMENT);
    let script =
        lab.done("job slurm e.yaml --nodes 1 --ranks 8 --time 26.5h --partition short,long");
    for line in [
        "nodes=1",
        "ntasks-per-node=8",
        "time=1-02:30:00",
        "partition=short,long",
    ] {
        assert!(
            script.contains(&format!("\n#SBATCH --{line}\n")),
            "{script}"
        );
    }
    let with_hosts =
        format!("{EXPERIMENT}hosts: {{ here: {{ at: local }} }}\nmpi: {{ on: here }}\n");
    lab.write("e.yaml", with_hosts);
    assert!(
        lab.done("job slurm e.yaml")
            .contains("\n#SBATCH --nodes=1\n")
    );
}

/// The name of a file is no part of the script.
#[test]
fn a_script_is_a_script_whatever_the_file_is_called() {
    let lab = Lab::new();
    let name = "it's $(touch made) `touch made`;\"&.yaml";
    lab.write(name, EXPERIMENT);
    let output = lab.command("job slurm").arg(name).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // The shell reads it, and starts what is to be started: here something that says what it is given.
    let own = format!("exec '{}'", env!("CARGO_BIN_EXE_jitterlab"));
    let script = text(&output.stdout).replace(&own, "exec printf '%s\\n'");
    lab.write("job.sh", &output.stdout);
    lab.write("said.sh", script);
    let said = Command::new("sh")
        .arg(lab.path("said.sh"))
        .output()
        .unwrap();
    let file = lab.path(name);
    assert_eq!(text(&said.stdout), format!("run\n{}\n", file.display()));
    assert!(!lab.path("made").exists());
    for shell in ["sh", "bash"] {
        let checked = Command::new(shell)
            .arg("-n")
            .arg(lab.path("job.sh"))
            .output();
        assert!(checked.unwrap().status.success(), "{shell}");
    }
    let Ok(checked) = Command::new("shellcheck").arg(lab.path("job.sh")).output() else {
        return skip("there is no shellcheck; apt-get install shellcheck");
    };
    assert!(checked.status.success(), "{}", text(&checked.stdout));
}

#[test]
fn what_cannot_be_a_job_is_refused() {
    let lab = Lab::new();
    lab.write("e.yaml", EXPERIMENT);
    lab.write(
        "auto.yaml",
        EXPERIMENT.replace(
            "repetitions: 10",
            "repetitions: auto\nlevels: { injected: { delays: [1us] } }",
        ),
    );
    lab.write(
        "far.yaml",
        EXPERIMENT.replace("case: rtt,", "case: rtt, to: n7,"),
    );
    for (arguments, message) in [
        (
            "e.yaml --ranks 2",
            "e.yaml:8:31: the section `mpi` has slots for 4 ranks, and these are 6",
        ),
        (
            "far.yaml",
            "far.yaml:6:24: there is no host `n7`; the hosts are `node1`, `node2`",
        ),
        (
            "auto.yaml",
            "`repetitions: auto` takes as long as it takes: give the file an `at_most`, or the job a --time",
        ),
        (
            "e.yaml --partition a;b",
            "error: invalid value 'a;b' for '--partition <PARTITION>': a partition has letters, digits and any of `._-`",
        ),
        (
            "e.yaml --nodes 0",
            "error: invalid value '0' for '--nodes <NODES>': the number has to be 1 to 65535",
        ),
    ] {
        lab.refuses(&format!("job slurm {arguments}"), message);
    }
    let auto = lab
        .read("auto.yaml")
        .replace("auto\n", "auto\nat_most: 1h\n");
    lab.write("auto.yaml", auto);
    let script = lab.done("job slurm auto.yaml");
    assert!(script.contains("--time=0-01:35:00\n"), "{script}");
}

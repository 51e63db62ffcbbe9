//! One hosts file, an inventory, for a validation and an experiment on hosts at the end of ssh.

mod common;
mod ssh;

use common::experiments::{folder, lines};
use common::{Lab, text};
use jitterlab_skip::is_root;

#[test]
fn a_validation_and_an_experiment_have_the_same_inventory() {
    if !is_root("start a server of ssh") {
        return;
    }
    let lab = Lab::new();
    let path = ssh::path_to_sshd(&lab);
    lab.write(
        "hosts.ini",
        format!(
            "[nodes]\nnode[1:3]\n[nodes:vars]\nansible_user=root\nansible_port=22\n\
             jitterlab_address=127.0.0.1\njitterlab_program={}\n[spares]\nspare jitterlab_address=127.0.0.1\n",
            env!("CARGO_BIN_EXE_jitterlab")
        ),
    );
    lab.write(
        "h.yaml",
        "hosts_file: hosts.ini\nminimum_effect: 100%\nwarmup: 2ms\nduration: 10ms\nrepetitions: 2\nat_once: 1\n",
    );
    let mut command = lab.command("validate h.yaml --transport udp");
    let output = command.env("PATH", &path).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("3 hosts remain: node1 node2 node3\n"),
        "{said}"
    );
    lab.write(
        "e.yaml",
        "name: e\nseed: 1\nrepetitions: 1\nhosts_file: { path: hosts.ini, group: nodes }\nsuites:\n  packet:\n    \
         - { case: rtt, transports: [tcp], from: node1, to: node3, size: 8B, warmup: 1ms, duration: 5ms, wait: block }\n",
    );
    let mut command = lab.command("run e.yaml --headless");
    let output = command.env("PATH", &path).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let records = lines(&folder(&lab).join("runs.jsonl"));
    assert!(records.len() == 1 && records[0]["outcome"] == "done");
}

//! Experiments and validations whose hosts stand in a file of their own.

use std::fs;
use std::path::PathBuf;

use jitterlab_experiment::spec::{Cluster, Experiment, frozen};
use jitterlab_packet::transport::Transport;
use tempfile::TempDir;

const INVENTORY: &str = "\
[nodes]
n[1:2] jitterlab_program=/opt/j
[nodes:vars]
ansible_user=lab
[others]
o1 jitterlab_address=10.0.0.9
[spares]
s1 ansible_host=10.0.0.8
[all:vars]
jitterlab_address=10.0.0.1
";

const EXPERIMENT: &str = "\
name: e
seed: 1
hosts_file: hosts.ini
repetitions: 1
suites: { packet: [ { case: rtt } ] }
";

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write("hosts.ini", INVENTORY);
        folder
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn experiment(&self, line: &str) -> Result<(Experiment, String), String> {
        let text = EXPERIMENT.replace("hosts_file: hosts.ini", line);
        let path = self.write("e.yaml", &text);
        Experiment::load(&path).map_err(|error| {
            let folder = format!("{}/", self.0.path().display());
            error.to_string().replace(&folder, "")
        })
    }
}

#[test]
fn an_experiment_takes_its_hosts_from_an_inventory_and_keeps_them() {
    let folder = Folder::new();
    let line = "hosts_file: { path: hosts.ini, group: nodes } # ours";
    let (experiment, text) = folder.experiment(line).unwrap();
    let hosts: Vec<String> = experiment
        .hosts
        .iter()
        .map(|(name, host)| format!("{name} {}", host.at))
        .collect();
    assert_eq!(hosts, ["n1 ssh lab@n1", "n2 ssh lab@n2"]);
    // Two hosts, so ends may be left out.
    assert_eq!(experiment.suites.packet[0].from, "n1");
    // The copy in the result folder needs no other file, and has its lines where they were.
    let copy = frozen(&text, &experiment);
    assert!(
        copy.lines()
            .nth(2)
            .unwrap()
            .ends_with(&format!("  # {line}")),
        "{copy}"
    );
    assert_eq!(copy.lines().nth(3), Some("repetitions: 1"));
    fs::remove_file(folder.0.path().join("hosts.ini")).unwrap();
    let path = folder.write("copy.yaml", &copy);
    assert_eq!(Experiment::load(&path).unwrap().0, experiment);
    assert_eq!(frozen(&copy, &experiment), copy);
}

#[test]
fn an_experiment_takes_its_hosts_from_the_file_of_a_validation() {
    let folder = Folder::new();
    folder.write(
        "h.yaml",
        "hosts:\n  a: { at: local }\n  b: { at: local }\nspares: { c: { at: local } }\nrepetitions: 3\n",
    );
    let (experiment, _) = folder.experiment("hosts_file: h.yaml").unwrap();
    assert_eq!(experiment.hosts.keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_is_wrong_is_told_with_its_file_and_line() {
    let folder = Folder::new();
    folder.write("h.yaml", "hosts:\n  a: { at: here }\n");
    folder.write("bad.ini", "n1\nn2 jitterlab_cpu=x\n");
    folder.write(
        "bare.ini",
        "host-of-nobody.invalid\nother-of-nobody.invalid\n",
    );
    for (line, said) in [
        ("hosts_file: [a]", "e.yaml:3:1: `hosts_file` names a file"),
        ("hosts_file:", "e.yaml:3:1: `hosts_file` names a file"),
        (
            "hosts_file: nowhere.ini",
            "cannot read hosts file nowhere.ini",
        ),
        (
            "hosts_file: bad.ini",
            "bad.ini:2:1: `jitterlab_cpu`: `x` is no number of a CPU",
        ),
        ("hosts_file: h.yaml", "h.yaml:2:12: "),
        (
            "hosts_file: { path: hosts.ini, group: node }",
            "there is no group `node`",
        ),
        (
            "hosts_file: { path: h.yaml, group: g }",
            "e.yaml:3:1: h.yaml is no inventory",
        ),
        ("hosts_file: bare.ini", "e.yaml:3:"),
        (
            "hosts_file: bare.ini",
            "needs an `address` (of an inventory: `jitterlab_address`",
        ),
        (
            "hosts_file: hosts.ini\nhosts: { a: { at: local } }",
            "`hosts` is given twice",
        ),
    ] {
        let error = folder.experiment(line).expect_err(line);
        assert!(error.contains(said), "{line}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_validation_takes_an_inventory_with_or_without_settings() {
    let folder = Folder::new();
    let load = |path: PathBuf| Cluster::load(&path, Transport::Udp);
    let inventory = folder.0.path().join("hosts.ini");
    let bare = load(inventory).unwrap();
    assert_eq!(bare.hosts.keys().collect::<Vec<_>>(), ["n1", "n2", "o1"]);
    assert_eq!(bare.spares.keys().collect::<Vec<_>>(), ["s1"]);
    assert_eq!(bare.repetitions, 40);
    let settings = "repetitions: 3\nhosts_file: { path: hosts.ini, group: nodes }\n";
    let cluster = load(folder.write("h.yaml", settings)).unwrap();
    assert_eq!(cluster.hosts.keys().collect::<Vec<_>>(), ["n1", "n2"]);
    assert_eq!(cluster.spares, bare.spares);
    assert_eq!(cluster.repetitions, 3);
    let path = folder.write(
        "bare.ini",
        "n1 jitterlab_address=10.0.0.1\nhost-of-nobody.invalid\n",
    );
    let error = load(path).unwrap_err().to_string();
    assert!(
        error.contains("bare.ini:2:1: host `host-of-nobody.invalid` receives messages from the others and needs an `address`"),
        "{error}"
    );
    let path = folder.write("one.ini", "n1 jitterlab_address=10.0.0.1\n");
    let error = load(path).unwrap_err().to_string();
    assert!(
        error.contains("one.ini:1:1: a validation needs at least two hosts"),
        "{error}"
    );
}

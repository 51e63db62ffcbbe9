//! The hosts file: what is right is read, and whatever is wrong is told with its place.

use std::path::Path;

use jitterlab_base::yaml::FileError;
use jitterlab_experiment::spec::Cluster;
use jitterlab_packet::transport::{Operation, Transport, Wait};
use jitterlab_verbs::Service;

const GOOD: &str = "\
hosts:
  node01: { at: ssh node01, address: 10.0.0.1, cpu: 2 }
  node02: { at: ssh node02, address: 10.0.0.2 }
spares:
  node03: { at: ssh node03, address: 10.0.0.3 }
slots: 8
size: 8B
wait: poll
warmup: 10ms
duration: 100ms
repetitions: 9
alpha: 0.01
minimum_effect: 2.5%
at_once: 16
seed: 3
";

fn parse(text: &str) -> Result<Cluster, FileError> {
    Cluster::parse(text, Path::new("h.yaml"), Transport::Udp)
}

#[test]
fn a_good_file_is_read() {
    let cluster = parse(GOOD).unwrap();
    assert_eq!((cluster.hosts.len(), cluster.spares.len()), (2, 1));
    assert_eq!(cluster.wait, Wait::Poll);
    assert_eq!(cluster.minimum_effect.fraction(), 0.025);
    assert_eq!(cluster.at_once(), 16);
    assert_eq!(cluster.host("node03").unwrap().cpu, None);
    assert!(cluster.host("node04").is_none());
}

#[test]
fn hosts_are_all_that_has_to_be_said() {
    let cluster = parse("hosts: { a: { at: local }, b: { at: local } }").unwrap();
    assert_eq!(cluster.at_once(), 1);
    assert_eq!((cluster.slots, cluster.alpha), (1, 0.05));
    let elsewhere =
        "hosts:\n  a: { at: ssh a, address: 10.0.0.1 }\n  b: { at: local, address: 10.0.0.2 }\n";
    assert_eq!(parse(elsewhere).unwrap().at_once(), usize::MAX);
}

/// What is changed in the good file, where the error is then, and a part of what it says.
const WRONG: &[(&str, &str, (usize, usize), &str)] = &[
    ("slots: 8", "slotz: 8", (6, 1), "did you mean `slots`?"),
    ("slots: 8", "slots: 0", (6, 8), "at least 1 slot"),
    ("size: 8B", "size: 7B", (7, 7), "8 to 65507 bytes"),
    ("size: 8B", "size: 8Q", (7, 7), "not a size"),
    ("wait: poll", "wait: spin", (8, 7), "`block`"),
    (
        "wait: poll",
        "verbs: { operation: read }",
        (8, 21),
        "`write-imm`",
    ),
    ("warmup: 10ms", "warmup: 10", (9, 9), "a duration"),
    (
        "duration: 100ms",
        "duration: 10us",
        (10, 11),
        "at least 1ms",
    ),
    (
        "duration: 100ms",
        "duration: 99999s",
        (10, 11),
        "longer than",
    ),
    ("repetitions: 9", "repetitions: 0", (11, 14), "1 to 1000"),
    ("alpha: 0.01", "alpha: 1", (12, 8), "between 0 and 1"),
    ("effect: 2.5%", "effect: -1%", (13, 17), "a percentage"),
    ("at_once: 16", "at_once: 0", (14, 10), "at least 1 pair"),
    ("at: ssh node01", "at: node01", (2, 17), "is not a place"),
    (", address: 10.0.0.2", "", (3, 11), "needs an `address`"),
    ("10.0.0.1", "0.0.0.0", (2, 38), "no address"),
    ("  node02:", "  node_2:", (3, 11), "no name of a host"),
    (
        "  node03:",
        "  node02:",
        (5, 11),
        "one of the `hosts` already",
    ),
    ("  node02:", "  node01:", (3, 3), "is given twice"),
];

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (from, to, place, part) in WRONG {
        assert!(GOOD.contains(from), "{from}");
        match parse(&GOOD.replacen(from, to, 1)) {
            Err(FileError::Content {
                line,
                column,
                problem,
                ..
            }) => {
                assert!(problem.contains(part), "{to}: {problem}");
                assert_eq!((line, column), *place, "{to}: {problem}");
            }
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[test]
fn one_host_is_no_cluster_and_hosts_of_one_machine_do_not_poll() {
    for (text, part) in [
        ("hosts: { a: { at: local } }", "at least two hosts"),
        (
            "hosts: { a: { at: local }, b: { at: local } }\nwait: poll",
            "would hold its CPUs",
        ),
        ("slots: 1", "missing key `hosts`"),
    ] {
        let problem = parse(text).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn verbs_are_checked_as_they_will_be_used() {
    let parse = |text: &str| Cluster::parse(text, Path::new("h.yaml"), Transport::Verbs);
    let hosts = "hosts: { a: { at: local, device: rxe0 }, b: { at: local, device: rxe1 } }\n";
    let cluster = parse(&format!("{hosts}verbs: {{ operation: write-imm }}")).unwrap();
    assert_eq!(cluster.verbs.operation, Operation::WriteImm);
    assert_eq!(cluster.verbs.service, Service::Rc);
    for (more, part) in [
        ("", "because nothing wakes a receiver that sleeps"),
        (
            "verbs: { operation: write-imm, service: ud }",
            "`send` only",
        ),
        (
            "verbs: { operation: send, service: ud }\nsize: 8KiB",
            "8 to 4096 bytes",
        ),
    ] {
        let problem = parse(&format!("{hosts}{more}")).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    }
}

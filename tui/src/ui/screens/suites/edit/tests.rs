//! Files become choices, and these the same files.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A folder with one file.
fn with(text: &str) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.yaml");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn opened(text: &str) -> Result<Choices, String> {
    let (_folder, path) = with(text);
    Choices::of(&path)
}

/// The file that choices make.
fn made(groups: &[Group], place: &Place) -> String {
    let chosen = Chosen {
        name: Some("mine"),
        seed: 7,
        groups,
        repetitions: 3,
        place,
    };
    let plan = chosen.plan();
    assert!(plan.cost.is_ok(), "{plan:?}");
    plan.text
}

/// Choices of these names, each behind that of its group.
fn on(names: &[&str]) -> Vec<Group> {
    let mut groups = catalogue::all();
    for group in &mut groups {
        for option in &mut group.options {
            let name = format!("{} {}", group.name, option.name);
            option.is_on = names.contains(&name.as_str());
        }
    }
    groups
}

const HOSTS: &str =
    "hosts: { a: { at: ssh a, address: 10.0.0.1 }, b: { at: ssh b, address: 10.0.0.2 } }\n";

#[test]
fn every_file_that_was_made_is_opened_as_what_it_was_made_from() {
    for names in [
        &["packet rtt", "transports udp", "transports tcp"][..],
        &[
            "packet rtt",
            "packet latency",
            "packet hot-spot",
            "transports udp",
            "duration 30s",
            "load 20",
            "load 60",
            "injected lognormal",
            "injected uniform",
        ],
        &[
            "packet bandwidth",
            "transports udp",
            "delays 10us",
            "delays 1ms",
        ],
        &[
            "packet rtt",
            "transports udp",
            "library ping-pong",
            "library barrier",
            "application cg",
            "application redis",
            "load 40",
            "injected empirical",
        ],
        &[
            "amvia loggp",
            "amvia performability",
            "amvia over shm",
            "protocols two-way",
        ],
        &["library allreduce", "duration 5s", "delays 1us"],
    ] {
        let groups = on(names);
        let text = made(&groups, &Place::Here(1));
        let choices = opened(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!((choices.name.as_str(), choices.seed), ("mine", 7));
        assert_eq!((choices.repetitions, &choices.place), (3, &Place::Here(1)));
        // None of the transports of active messages means two of them.
        let again = made(&choices.groups, &choices.place);
        let parsed = |text: &str| Experiment::parse(text, Path::new("e.yaml")).unwrap();
        assert_eq!(parsed(&again), parsed(&text), "{names:?}");
    }
}

#[test]
fn hosts_that_were_written_by_hand_stay_as_they_are() {
    let text = made(&on(&["packet rtt", "transports udp"]), &Place::Here(1));
    let hosts = "hosts:\n  client: { at: ssh n1, address: 10.0.0.1 }\n\n  server: { at: ssh n2, address: 10.0.0.2, cpu: 3 }\n";
    let text = text.replace(&Place::Here(1).section(false), hosts);
    let choices = opened(&text).unwrap();
    assert_eq!(choices.place.section(false), hosts);
    assert_eq!(made(&choices.groups, &choices.place), text);
}

#[test]
fn hosts_of_a_hosts_file_are_measured_between() {
    let (folder, path) = with(HOSTS);
    let there = Place::There(Hosts::of_file(&path).unwrap());
    assert_eq!(there.about(), "hosts of e.yaml: from a to b");
    let groups = on(&[
        "packet rtt",
        "transports tcp",
        "load 20",
        "amvia loggp",
        "amvia over udp",
        "library barrier",
        "application cg",
    ]);
    let text = made(&groups, &there);
    assert!(text.contains("hosts_file: e.yaml\n"), "{text}");
    assert!(
        text.contains("mpi: { on: a, hosts: { a: 1, b: 1 }"),
        "{text}"
    );
    // It is what `jitterlab run` reads, and what is opened again.
    let experiment = folder.path().join("experiment.yaml");
    fs::write(&experiment, &text).unwrap();
    let choices = Choices::of(&experiment).unwrap();
    assert_eq!(choices.place.about(), there.about());
    assert_eq!(made(&choices.groups, &choices.place), text);
    // Neither an experiment nor a playbook is one.
    assert_eq!(Hosts::of_file(&experiment), None);
}

/// Whichever cases tell of them.
#[test]
fn the_two_of_more_hosts_are_those_of_the_file() {
    let (folder, path) = with(
        "hosts: { a: { at: ssh a, address: 10.0.0.1 }, b: { at: ssh b, address: 10.0.0.2 }, c: { at: ssh c, address: 10.0.0.3 } }\n",
    );
    let mut there = Place::There(Hosts::of_file(&path).unwrap());
    there.next_end(0);
    there.next_end(1);
    assert_eq!(
        there.about(),
        "from c to a, of 3 hosts of e.yaml (f t choose)"
    );
    for names in [
        &["packet rtt", "transports udp"][..],
        &["amvia loggp", "amvia over udp"],
        &["library barrier"],
        &["application cg"],
        &["application redis"],
        &[
            "amvia performability",
            "packet rtt",
            "transports tcp",
            "load 20",
        ],
    ] {
        let text = made(&on(names), &there);
        let experiment = folder.path().join("experiment.yaml");
        fs::write(&experiment, &text).unwrap();
        let choices = Choices::of(&experiment).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!(choices.place.about(), there.about(), "{text}");
        assert_eq!(made(&choices.groups, &choices.place), text);
    }
}

#[test]
fn what_choices_cannot_make_is_refused_in_a_line() {
    let text = made(
        &on(&["packet rtt", "transports udp", "load 20"]),
        &Place::Here(1),
    );
    for (from, to, why) in [
        ("seed: 7\n", "seed: 7\nretries: 5\n", "its `retries` is not"),
        ("message: 16KiB", "message: 1KiB", "its `load` is not"),
        ("load: [20]", "load: [20, 35]", "its `levels` is not"),
        ("size: 64B", "size: 65B", "its `suites` is not"),
        (
            "from: client, to: server, size",
            "from: server, to: client, size",
            "its `load` is not",
        ),
        (
            "seed: 7\n",
            "seed: 7  # lucky\n",
            "its comment in line 3 would be lost",
        ),
        (
            "seed: 7\n",
            "seed: 7\n# mine\n",
            "its comment in line 4 would be lost",
        ),
        ("seed: 7\n", "sed: 7\n", "e.yaml:3:1: unknown key `sed`"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let refused = opened(&changed).unwrap_err();
        assert!(
            refused.contains(why) && !refused.contains('\n'),
            "{refused}"
        );
    }
    let often = made(&on(&["library barrier", "delays 10us"]), &Place::Here(1));
    let enough = often.replacen("repetitions: 3", "repetitions: auto", 1);
    let refused = opened(&enough).unwrap_err();
    assert!(refused.contains("its `repetitions` is not"), "{refused}");
}

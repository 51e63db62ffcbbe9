//! What an experiment file may leave out: it is filled in, and said in the frozen copy.

use std::path::Path;

use jitterlab_base::yaml::{FileError, as_written};
use jitterlab_experiment::spec::{Experiment, frozen};
use jitterlab_packet::transport::{Transport, Wait};
use proptest::prelude::*;
use serde_yaml::Value;

const LEAST: &str = "\
name: least
seed: 1
repetitions: 2
hosts: { client: { at: local }, server: { at: local } }
levels: { load: [20] }
suites: { packet: [ { case: rtt } ] }
";

/// The keys that may be left out of `load` and of a packet case, and what is taken then.
const LOAD: [&str; 4] = [
    "transport: udp",
    "from: client",
    "to: server",
    "message: 1400B",
];
const PACKET: [&str; 7] = [
    "transports: [udp, tcp]",
    "from: client",
    "to: server",
    "size: 64B",
    "warmup: 200ms",
    "duration: 500ms",
    "wait: block",
];

fn parse(text: &str) -> Result<Experiment, FileError> {
    Experiment::parse(text, Path::new("e.yaml"))
}

/// A file with some of the keys.
fn file(load: &[&str], packet: &[&str]) -> String {
    let case = [&["case: rtt"], packet].concat().join(", ");
    LEAST.replace("{ case: rtt }", &format!("{{ {case} }}"))
        + &format!("load: {{ {} }}\n", load.join(", "))
}

fn some<'a>(keys: &[&'a str], kept: &[bool]) -> Vec<&'a str> {
    let kept = keys.iter().zip(kept).filter(|&(_, &kept)| kept);
    kept.map(|(&key, _)| key).collect()
}

/// With what waits as the transport does written out.
fn resolved(mut experiment: Experiment) -> Experiment {
    for case in &mut experiment.suites.packet {
        case.wait = Some(case.wait(Transport::Udp));
    }
    if let Some(load) = &mut experiment.load {
        load.message = Some(load.message());
    }
    experiment
}

proptest! {
    #[test]
    fn whatever_is_left_out_is_taken_as_if_it_stood_there(
        load in proptest::collection::vec(any::<bool>(), LOAD.len()),
        packet in proptest::collection::vec(any::<bool>(), PACKET.len()),
    ) {
        let (load, packet) = (some(&LOAD, &load), some(&PACKET, &packet));
        let text = file(&load, &packet);
        let experiment = parse(&text).unwrap();
        prop_assert_eq!(
            resolved(experiment.clone()),
            parse(&file(&LOAD, &PACKET)).unwrap()
        );
        // The frozen copy is the same experiment, and says what was left out and nothing else.
        let copy = frozen(&text, &experiment);
        prop_assert_eq!(&parse(&copy).unwrap(), &experiment);
        prop_assert_eq!(as_written(&copy), &text);
        prop_assert_eq!(frozen(&copy, &experiment), copy.clone());
        let said = &copy[text.len()..];
        for (place, keys, kept) in [("load: {", &LOAD[..], load), ("rtt: {", &PACKET[..], packet)] {
            let line = said.lines().find(|line| line.contains(place)).unwrap_or_default();
            for key in keys {
                prop_assert_eq!(line.contains(key), !kept.contains(key), "{}: {}", key, line);
            }
        }
    }
}

#[test]
fn a_file_without_a_section_of_load_has_one_where_it_has_loads() {
    let experiment = parse(LEAST).unwrap();
    let load = experiment.load.as_ref().unwrap();
    assert_eq!((load.from.as_str(), load.to.as_str()), ("client", "server"));
    assert!(frozen(LEAST, &experiment).ends_with(
        "\n\n# Left out of this file, and taken as:\n\
         #   retries: 2\n\
         #   load: { transport: udp, from: client, to: server, message: 1400B }\n\
         #   suites, packet, rtt: { transports: [udp, tcp], from: client, to: server, size: 64B, \
         warmup: 200ms, duration: 500ms, wait: block over udp, block over tcp, timeout: 100ms }\n"
    ));
    let without = parse(&LEAST.replace("levels: { load: [20] }\n", "")).unwrap();
    assert_eq!(without.load, None);
}

#[test]
fn a_file_that_leaves_out_nothing_is_frozen_as_it_is() {
    let packet = [&PACKET[..], &["timeout: 1s"]].concat();
    let text = format!("{}retries: 2", file(&LOAD, &packet));
    assert_eq!(frozen(&text, &parse(&text).unwrap()), text);
}

/// An experiment with all that the copy tells of.
const WHOLE: &str = "\
name: whole
seed: 1
repetitions: auto
hosts:
  a: { at: local, address: 10.0.0.1, slots: 2 }
  b: { at: netns b, address: 10.0.0.2, slots: 2 }
load: {}
levels:
  load: [20]
  injected: { percent: [20], shapes: [replay], shape: constant, mean: [1us] }
suites:
  packet: [ { case: rtt, transports: [udp] } ]
  amvia: [ { case: rtt }, { case: bandwidth }, { case: performability } ]
  library: [ { case: barrier, duration: 1s } ]
";

/// A copy tells of keys that the file may have, under their names: each of them can be written as it is told, and is told no more.
#[test]
fn what_the_copy_tells_can_be_written() {
    let experiment = parse(WHOLE).unwrap();
    let copy = frozen(WHOLE, &experiment);
    let mut written: Value = serde_yaml::from_str(WHOLE).unwrap();
    let told = copy.lines().filter_map(|line| line.strip_prefix("#   "));
    let told: Vec<&str> = told.collect();
    let mut places: Vec<&str> = Vec::new();
    for line in &told {
        let (place, values) = line.split_once(": ").unwrap();
        places.push(place);
        let words: Vec<&str> = place.split(", ").collect();
        // How answers are waited for follows from the transport, and so is told of each.
        let values = values.replace(" over udp", "");
        let values: Value = serde_yaml::from_str(&values).unwrap();
        let part = match words[..] {
            ["suites", suite, case] => {
                let cases = written["suites"][suite].as_sequence_mut().unwrap();
                let is_it = |of: &&mut Value| [&of["case"], &of["name"]].contains(&&case.into());
                cases.iter_mut().find(is_it).unwrap()
            }
            ["levels", "injected"] => &mut written["levels"]["injected"],
            [key] => &mut written[key],
            _ => panic!("{line}"),
        };
        match (part, values) {
            (Value::Mapping(part), Value::Mapping(values)) => part.extend(values),
            (part, values) => *part = values,
        }
    }
    assert_eq!(
        places,
        [
            "retries",
            "resolve",
            "load",
            "mpi",
            "levels, injected",
            "suites, packet, rtt",
            "suites, amvia, rtt",
            "suites, amvia, bandwidth",
            "suites, amvia, performability",
            "suites, library, barrier",
        ]
    );
    let written = serde_yaml::to_string(&written).unwrap();
    let again = parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(frozen(&written, &again), written);
}

#[test]
fn answers_are_waited_for_as_the_transport_usually_does() {
    let experiment = parse(LEAST).unwrap();
    let case = &experiment.suites.packet[0];
    assert_eq!(case.wait(Transport::Tcp), Wait::Block);
    assert_eq!(case.wait(Transport::Verbs), Wait::Poll);
}

#[test]
fn one_host_is_both_ends_and_the_other_of_two_is_the_other_end() {
    let ends = |text: &str| {
        let case = parse(text).unwrap().suites.packet.remove(0);
        [case.from, case.to]
    };
    let alone = LEAST.replace(", server: { at: local }", "");
    assert_eq!(ends(&alone), ["client", "client"]);
    let from = LEAST.replace("case: rtt", "case: rtt, from: server");
    assert_eq!(ends(&from), ["server", "client"]);
    let to = LEAST.replace("case: rtt", "case: rtt, to: client");
    assert_eq!(ends(&to), ["server", "client"]);
}

#[test]
fn of_more_hosts_the_ends_have_to_be_named() {
    let three = LEAST.replace("hosts: {", "hosts: { third: { at: local },");
    let said = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(
        said(&three),
        "e.yaml:5:17: background load needs a section `load` that names the hosts `from` and `to`"
    );
    let load = format!("{three}load: {{ from: client, to: third }}\n");
    assert_eq!(
        said(&load),
        "e.yaml:6:21: `from` and `to` have to name hosts: there are 3 to choose from"
    );
}

#[test]
fn the_whole_experiment_of_the_documentation_is_one() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiment.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let files: Vec<&str> = docs
        .split("```yaml\n")
        .filter_map(|rest| rest.split("```").next())
        .filter(|text| text.starts_with("name: "))
        .collect();
    assert_eq!(files.len(), 1);
    parse(files[0]).unwrap();
}

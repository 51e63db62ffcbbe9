//! What an experiment file may leave out: it is filled in, and said in the frozen copy.

use std::path::Path;

use jitterlab_base::yaml::{FileError, as_written};
use jitterlab_experiment::spec::{Experiment, frozen};
use jitterlab_packet::cases::Case;
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

/// The keys that may be left out of `load` and of every packet case, and what is taken then.
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
    "warmup: 200ms",
    "duration: 500ms",
    "timeout: 100ms",
    "levels: [none, load, injected]",
];

/// The same of what only some packet cases are told.
const CASES: [(&str, &[&str]); 9] = [
    ("rtt", &["size: 64B", WAIT]),
    (
        "rtt, rate: 20k",
        &["size: 64B", "window: 1024", "gaps: fixed", WAIT],
    ),
    ("latency", &[SIZES, WAIT]),
    ("bandwidth", &[SIZES, "window: 100", WAIT]),
    (
        "bidirectional",
        &[
            "sizes: [16B, 64B, 256B, 1KiB, 4KiB, 16KiB, 65507B]",
            "window: 100",
            WAIT,
        ],
    ),
    (
        "overhead",
        &["sizes: [64B, 1KiB, 16KiB]", "window: 100", WAIT],
    ),
    ("completion", &["sizes: [64B]"]),
    (
        "buffer-reuse",
        &["sizes: [4KiB]", "window: 100", BUFFERS, WAIT],
    ),
    ("hot-spot", &["size: 64B", "slaves: 4", WAIT]),
];
const SIZES: &str = "sizes: [8B, 16B, 64B, 256B, 1KiB, 4KiB, 16KiB, 65507B]";
const WAIT: &str = "wait: block";
/// One key: who gives one of the two wants none of the other.
const BUFFERS: &str = "buffers: [1, 10, 100, 1000], reuse: [0, 25, 50, 75, 100]";

fn parse(text: &str) -> Result<Experiment, FileError> {
    Experiment::parse(text, Path::new("e.yaml"))
}

/// A file with some of the keys.
fn file(load: &[&str], case: &str, packet: &[&str]) -> String {
    let case = [&[&*format!("case: {case}")], packet].concat().join(", ");
    LEAST.replace("{ case: rtt }", &format!("{{ {case} }}"))
        + &format!("load: {{ {} }}\n", load.join(", "))
}

fn some<'a>(keys: &[&'a str], kept: &[bool]) -> Vec<&'a str> {
    let kept = keys.iter().zip(kept).filter(|&(_, &kept)| kept);
    kept.map(|(&key, _)| key).collect()
}

/// With what follows from the transport written out.
fn resolved(mut experiment: Experiment) -> Experiment {
    for case in &mut experiment.suites.packet {
        if case.case != Case::Completion {
            case.wait = Some(case.wait(Transport::Udp));
        }
        if case.size.is_none() {
            case.sizes = case.sizes(Transport::Udp);
        }
    }
    experiment
}

#[test]
fn every_packet_case_has_its_keys_here() {
    for case in Case::ALL {
        let is_it = |(known, _): &&(&str, _)| known.split(',').next() == Some(case.name());
        assert!(CASES.iter().any(|known| is_it(&known)), "{case}");
    }
}

proptest! {
    #[test]
    fn whatever_is_left_out_is_taken_as_if_it_stood_there(
        of_load in proptest::collection::vec(any::<bool>(), LOAD.len()),
        (case, own) in proptest::sample::select(&CASES[..]),
        of_packet in proptest::collection::vec(any::<bool>(), PACKET.len() + 4),
    ) {
        let keys = [&PACKET[..], own].concat();
        let (load, packet) = (some(&LOAD, &of_load), some(&keys, &of_packet));
        let text = file(&load, case, &packet);
        let experiment = parse(&text).unwrap();
        prop_assert_eq!(
            resolved(experiment.clone()),
            parse(&file(&LOAD, case, &keys)).unwrap()
        );
        // The frozen copy is the same experiment, and says what was left out and nothing else.
        let copy = frozen(&text, &experiment);
        prop_assert_eq!(&parse(&copy).unwrap(), &experiment);
        prop_assert_eq!(as_written(&copy), &text);
        prop_assert_eq!(frozen(&copy, &experiment), copy.clone());
        let said = copy[text.len()..].replace(", over udp", "");
        let name = case.split(',').next().unwrap();
        for (place, keys, kept) in [("load".into(), &LOAD[..], load), (format!("packet, {name}"), &keys, packet)] {
            let is_there = format!("{place}: {{");
            let lines: Vec<&str> = said.lines().filter(|line| line.contains(&is_there)).collect();
            for key in keys {
                let times = lines.iter().filter(|line| line.contains(key)).count();
                prop_assert_eq!(times, usize::from(!kept.contains(key)), "{}: {:?}", key, lines);
            }
        }
    }
}

#[test]
fn a_part_of_a_section_that_is_left_out_is_told_with_its_place() {
    let part =
        "case: rtt, transports: [verbs], verbs: { service: ud, operation: send }, wait: poll";
    let text = LEAST.replace("case: rtt", part);
    let copy = frozen(&text, &parse(&text).unwrap());
    assert!(
        copy.contains("#   suites, packet, rtt, verbs: { inline: auto }\n"),
        "{copy}"
    );
}

#[test]
fn a_file_without_a_section_of_load_has_one_where_it_has_loads() {
    let experiment = parse(LEAST).unwrap();
    let load = experiment.load.as_ref().unwrap();
    assert_eq!((load.from.as_str(), load.to.as_str()), ("client", "server"));
    let copy = frozen(LEAST, &experiment);
    assert_eq!(
        &copy[LEAST.len()..],
        "\n# Left out of this file, and taken as:\n\
         #   retries: 2\n\
         #   trust: known\n\
         #   lost_host: stop\n\
         #   load: { transport: udp, from: client, to: server, message: 1400B }\n\
         #   suites, packet, rtt: { transports: [udp, tcp], from: client, to: server, size: 64B, \
         warmup: 200ms, duration: 500ms, timeout: 100ms, levels: [none, load, injected] }\n\
         #   suites, packet, rtt, over udp: { wait: block }\n\
         #   suites, packet, rtt, over tcp: { wait: block }\n"
    );
    let without = parse(&LEAST.replace("levels: { load: [20] }\n", "")).unwrap();
    assert_eq!(without.load, None);
}

#[test]
fn a_file_that_leaves_out_nothing_is_frozen_as_it_is() {
    let packet = [&PACKET[..], CASES[0].1].concat();
    let rest = "retries: 2\ntrust: known\nlost_host: go-on\n";
    let text = format!("{}{rest}", file(&LOAD, "rtt", &packet));
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
  library: [ { case: barrier, duration: 1s }, { case: halo-exchange, iterations: 9 } ]
  application: [ { name: lu, npb: { kernel: lu, class: S } } ]
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
        let values: Value = serde_yaml::from_str(values).unwrap();
        let part = match words[..] {
            ["suites", suite, case, ref inside @ ..] => {
                let cases = written["suites"][suite].as_sequence_mut().unwrap();
                let is_it = |of: &&mut Value| [&of["case"], &of["name"]].contains(&&case.into());
                let case = cases.iter_mut().find(is_it).unwrap();
                match inside {
                    [] | ["over udp"] => case,
                    inside => &mut case[inside[0]],
                }
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
            "resolve",
            "retries",
            "trust",
            "lost_host",
            "load",
            "mpi",
            "levels, injected",
            "suites, packet, rtt",
            "suites, packet, rtt, over udp",
            "suites, amvia, rtt",
            "suites, amvia, bandwidth",
            "suites, amvia, performability",
            "suites, library, barrier",
            "suites, library, halo-exchange",
            "suites, application, lu",
            "suites, application, lu, npb",
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

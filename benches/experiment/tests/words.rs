//! What is said of a wrong file is said in the words of whoever wrote it, whatever is wrong.

use std::path::Path;

use jitterlab_experiment::spec::{Cluster, Experiment};
use jitterlab_packet::transport::Transport;
use serde_yaml::{Mapping, Value};

const EXPERIMENT: &str = "\
name: all
seed: 1
repetitions: 2
retries: 1
hosts:
  here: { at: local, cpu: 0, device: rxe0 }
  there: { at: ssh there, address: 10.0.0.2, jitterlab: /opt/jitterlab }
load: { transport: udp, from: here, to: there, message: 1400B, bandwidth: 1MiB }
mpi: { on: here, launcher: mpirun, hosts: { here: 2 }, arguments: [-v], hook: socket }
levels:
  load: [0, 60]
  injected: { percent: [60], transport: udp, shapes: [uniform], mode: pace }
suites:
  packet:
    - { case: rtt, name: a, transports: [udp, verbs], verbs: { operation: send }, from: here, to: there, size: 64B,
        warmup: 10ms, duration: 250ms, wait: block, timeout: 1s, levels: [none, load] }
  library:
    - { case: ping-pong, ranks: 2, size: 8B, non_blocking: true, iterations: 5, warmup: 1ms, timeout: 1s }
  application:
    - name: b
      server: { on: there, command: [a], ready: ok }
      client: { on: here, command: [b] }
      runtime: { pattern: '(\\d+)', unit: s }
      timeout: 1s
      expected: 1s
      hook: socket
    - { name: c, npb: { kernel: lu, class: S, ranks: 2 } }
";

const HOSTS: &str = "\
hosts:
  a: { at: ssh a, address: 10.0.0.1, cpu: 2 }
  b: { at: ssh b, address: 10.0.0.2 }
spares: { c: { at: ssh c, address: 10.0.0.3 } }
slots: 8
size: 8B
wait: poll
verbs: { operation: send }
warmup: 10ms
duration: 100ms
repetitions: 9
alpha: 0.01
minimum_effect: 2.5%
at_once: 16
seed: 3
";

/// What belongs to the program and its libraries.
const FOREIGN: &[&str] = &[
    "struct",
    "usize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "i64",
    "i128",
    "f64",
    "bool",
    "boolean",
    "enum",
    "variant",
    "variants",
    "Option",
    "serde",
    "NodeFile",
    "Experiment",
    "Cluster",
    "field",
    "identifier",
    "sequence",
    "map",
    "mapping",
    "scalar",
    "unit value",
    "newtype",
    "tuple",
    "invalid",
    "deserializing",
    "untagged",
];

fn is_foreign(message: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    message.match_indices(word).any(|(at, _)| {
        !message[..at].ends_with(inside) && !message[at + word.len()..].starts_with(inside)
    })
}

/// Texts in which one value is another, of every kind.
fn mutated(value: &Value) -> Vec<Value> {
    let kinds = [
        "~",
        "true",
        "7",
        "-7",
        "18446744073709551615",
        "1.5",
        ".nan",
        "text",
        "''",
        "[]",
        "[text]",
        "[[1]]",
        "{}",
        "{ key: 1 }",
        "{ [a]: 1 }",
        "!tag text",
        "!tag { a: 1 }",
        "2026-01-01",
    ];
    let mut mutated: Vec<Value> = kinds
        .iter()
        .map(|kind| serde_yaml::from_str(kind).unwrap())
        .collect();
    match value {
        Value::Mapping(map) => {
            for (key, inner) in map {
                let with = |key: Value, inner: Option<Value>| {
                    let others = map
                        .iter()
                        .filter(|(name, _)| *name != &key)
                        .map(|(k, v)| (k.clone(), v.clone()));
                    let mut with: Mapping = others.collect();
                    if let Some(inner) = inner {
                        with.insert(key, inner);
                    }
                    Value::Mapping(with)
                };
                mutated.push(with(key.clone(), None));
                for other in ["nonsense", "<<", "5", "~"] {
                    mutated.push(with(
                        serde_yaml::from_str(other).unwrap(),
                        Some(inner.clone()),
                    ));
                }
                mutated.extend(
                    self::mutated(inner)
                        .into_iter()
                        .map(|inner| with(key.clone(), Some(inner))),
                );
            }
        }
        Value::Sequence(list) => {
            for (i, inner) in list.iter().enumerate() {
                for inner in self::mutated(inner) {
                    let mut list = list.clone();
                    list[i] = inner;
                    mutated.push(Value::Sequence(list));
                }
            }
        }
        _ => {}
    }
    mutated
}

fn check(good: &str, read: impl Fn(&str) -> Result<(), String>) {
    let value = serde_yaml::from_str(good).unwrap();
    let mut wrong = 0;
    for mutant in mutated(&value) {
        let text = serde_yaml::to_string(&mutant).unwrap();
        let Err(message) = read(&text) else {
            continue;
        };
        wrong += 1;
        assert!(
            message.starts_with("f.yaml:") && message.lines().count() == 1,
            "{message}"
        );
        for word in FOREIGN {
            assert!(
                !is_foreign(&message, word),
                "`{word}` in: {message}\n{text}"
            );
        }
        assert!(!message.contains("::"), "{message}");
    }
    assert!(wrong > 300, "{wrong}");
}

#[test]
fn an_experiment_file_is_told_what_is_wrong_in_plain_words() {
    let read = |text: &str| Experiment::parse(text, Path::new("f.yaml"));
    check(EXPERIMENT, |text| {
        read(text).map(drop).map_err(|error| error.to_string())
    });
}

#[test]
fn a_hosts_file_is_told_what_is_wrong_in_plain_words() {
    let read = |text: &str| Cluster::parse(text, Path::new("f.yaml"), Transport::Udp);
    read(HOSTS).unwrap();
    check(HOSTS, |text| {
        read(text).map(drop).map_err(|error| error.to_string())
    });
}

/// What is no YAML is said in such words, too, and where it stands.
#[test]
fn what_is_no_yaml_is_told_in_plain_words() {
    for (text, said) in [
        ("name: a: b\n", "1:8: this `: ` does not belong here"),
        (
            "name:\n\t- a\n",
            "2:1: no value begins with this character: lines are indented with spaces",
        ),
        ("name: @a\n", "1:7: no value begins with this character"),
        ("name: 'a\n", "2:1: the file ends inside of quotes"),
        ("name: a\n seed: 1\n", "2:6: this `: ` does not belong here"),
        (
            "name: a\nseed\n",
            "3:1: expected `: ` and a value behind the key before this",
        ),
        ("{ name: a\n", "2:1: expected `,` or `}`"),
        ("levels: { load: [1, 2 }\n", "1:23: expected `,` or `]`"),
        (
            "name: a\n- b\n",
            "2:1: expected a key with the same indentation",
        ),
        ("name: *b\n", "1:7: there is no `&` of this name before"),
        ("name: \"\\q\"\n", "1:8: an unknown `\\`"),
        ("name: \u{1}\n", "a control character"),
        (
            "name: !a!b c\n",
            "1:7: this is not YAML: found undefined tag handle",
        ),
        ("", "1:1: missing key `name`"),
        (
            "seed:\n",
            "1:6: seed: found nothing, expected a whole number from 0 to",
        ),
        (
            "seed: 99999999999999999999\n",
            "found the number 99999999999999999999, expected a whole number from 0 to 18446744073709551615",
        ),
    ] {
        let error = Experiment::parse(text, Path::new("f.yaml"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn what_is_long_is_not_told_whole() {
    let long = "x".repeat(200_000);
    for text in [
        format!("name: {long}\n"),
        format!("{long}: a\n").replace("xxx", "x x"),
        format!("'{long}': a\n"),
        format!("seed: '{long}'\n"),
        format!("load: {{ message: '{long}' }}\n"),
        format!("hosts: {{ '{long}': {{ at: '{long}', cpu: -1 }} }}\n"),
        EXPERIMENT.replace("from: here", &format!("from: '{long}'")),
        EXPERIMENT.replace("rxe0", &long),
        EXPERIMENT.replace("(\\d+)", &format!("({long}")),
    ] {
        if let Err(error) = Experiment::parse(&text, Path::new("f.yaml")) {
            let message = error.to_string();
            assert!(
                message.len() < 500,
                "{} bytes: {message:.100}",
                message.len()
            );
        }
    }
}

/// Whatever a file can say, its chapter knows: the messages name all keys and names that there are.
#[test]
fn every_key_and_name_is_documented() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let chapter = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let of_verbs = chapter("packet.md");
    type Read = fn(&str) -> Option<String>;
    let kinds: [(&str, &str, Read); 2] = [
        (EXPERIMENT, "experiment.md", |text| {
            let read = Experiment::parse(text, Path::new("f.yaml"));
            read.err().map(|error| error.to_string())
        }),
        (HOSTS, "validation.md", |text| {
            let read = Cluster::parse(text, Path::new("f.yaml"), Transport::Udp);
            read.err().map(|error| error.to_string())
        }),
    ];
    for (good, name, read) in kinds {
        let chapter = chapter(name) + &chapter("experiment.md") + &of_verbs;
        let mut names = std::collections::BTreeSet::new();
        for mutant in mutated(&serde_yaml::from_str(good).unwrap()) {
            let message = read(&serde_yaml::to_string(&mutant).unwrap()).unwrap_or_default();
            let known = message
                .split_once(", expected ")
                .filter(|_| message.contains(": unknown "));
            let known = known.map_or("", |(_, known)| known.split(';').next().unwrap());
            names.extend(known.split('`').skip(1).step_by(2).map(String::from));
        }
        assert!(names.len() > 20, "{names:?}");
        for known in names {
            let stands = chapter
                .split('`')
                .skip(1)
                .step_by(2)
                .any(|code| is_foreign(code, &known));
            assert!(stands, "`{known}` is not in docs/{name}");
        }
    }
}

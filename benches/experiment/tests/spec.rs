//! The experiment file: what is right is read, and whatever is wrong is told with its place.

use std::path::Path;

use jitterlab_base::yaml::FileError;
use jitterlab_experiment::spec::Experiment;
use proptest::prelude::*;

const GOOD: &str = "\
name: small
seed: 1
repetitions: 2
hosts:
  client: { at: local, cpu: 0 }
  server: { at: netns b, address: 10.0.0.2 }
load: { transport: udp, from: client, to: server, message: 1400B }
levels:
  load: [0, 60]
  injected:
    percent: [60]
    transport: udp
    shapes: [uniform, lognormal]
suites:
  packet:
    - case: rtt
      transports: [udp, tcp]
      from: client
      to: server
      size: 64B
      warmup: 10ms
      duration: 250ms
      wait: block
  application:
    - name: redis
      server: { on: server, command: [redis-server] }
      client: { on: client, command: [redis-benchmark] }
      runtime: { pattern: '([0-9.]+) requests per second', unit: per_second }
";

fn parse(text: &str) -> Result<Experiment, FileError> {
    Experiment::parse(text, Path::new("e.yaml"))
}

#[test]
fn a_good_file_is_read() {
    let experiment = parse(GOOD).unwrap();
    assert_eq!(experiment.retries, 2);
    assert_eq!(
        experiment.hosts["client"].address().unwrap().to_string(),
        "127.0.0.1"
    );
    assert_eq!(experiment.suites.packet[0].duration.0, 250_000_000);
    assert_eq!(experiment.suites.packet[0].timeout.unwrap().0, 100_000_000);
    let patient = GOOD.replace("wait: block", "wait: block\n      timeout: 2s");
    let timeout = parse(&patient).unwrap().suites.packet[0].timeout;
    assert_eq!(timeout.unwrap().0, 2_000_000_000);
    assert_eq!(experiment.suites.application[0].timeout.0, 60_000_000_000);
}

#[test]
fn the_shipped_experiments_are_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Beside them is a check for ReFrame.
        if path.is_file() {
            Experiment::load(&path).unwrap();
            read += 1;
        }
    }
    assert!(read > 0);
}

/// What is changed in the good file, where the error is then, and a part of what it says.
const WRONG: &[(&str, &str, (usize, usize), &str)] = &[
    ("seed: 1", "sed: 1", (2, 1), "did you mean `seed`?"),
    ("seed: 1\n", "", (1, 1), "missing key `seed`"),
    (
        "seed: 1",
        "seed: 1\nname: b",
        (3, 1),
        "`name` is given twice",
    ),
    ("cpu: 0", "cpu: 0, cpu: 1", (5, 32), "`cpu` is given twice"),
    (
        "seed: 1",
        "seed: -1",
        (2, 7),
        "found the number -1, expected a whole number from 0",
    ),
    (
        "seed: 1",
        "seed: [",
        (2, 7),
        "found a list, expected a whole number",
    ),
    ("name: small", "name: ../up", (1, 7), "a name has"),
    ("name: small", "name: Small", (1, 7), "a name has"),
    (
        "client: { at",
        "'a $(reboot)': { at",
        (5, 18),
        "no name of a host",
    ),
    (
        "repetitions: 2",
        "repetitions: many",
        (3, 14),
        "a number from 1 to 10000, or `auto`",
    ),
    ("repetitions: 2", "repetitions: -1", (3, 14), "1 to 10000"),
    (
        "repetitions: 2",
        "repetitions: 2\nresolve: 5 %",
        (4, 10),
        "works only with `repetitions: auto`",
    ),
    (
        "repetitions: 2",
        "repetitions: 2\nat_most: 5min",
        (4, 10),
        "works only with `repetitions: auto`",
    ),
    (
        "repetitions: 2",
        "repetitions: auto\nresolve: 0 %",
        (4, 10),
        "finds a change of 0 %",
    ),
    ("repetitions: 2", "repetitions: 0", (3, 14), "1 to 10000"),
    ("at: local", "at: lokal", (5, 17), "`lokal` is not a place"),
    ("at: netns b", "at: netns -b", (6, 17), "is not a place"),
    ("at: netns b", "at: ssh a;reboot", (6, 17), "is not a place"),
    (", address: 10.0.0.2", "", (6, 11), "needs an `address`"),
    ("10.0.0.2", "10.0.0.256", (6, 35), "IP address"),
    (
        "cpu: 0",
        "cpu: one",
        (5, 29),
        "found the text \"one\", expected a whole number",
    ),
    (
        "cpu: 0",
        "jitterlab: ./jitterlab",
        (5, 35),
        "hosts on this machine",
    ),
    (
        "  server: {",
        "  client: {",
        (6, 3),
        "`client` is given twice",
    ),
    (
        "from: client, to",
        "from: clint, to",
        (7, 31),
        "did you mean `client`?",
    ),
    (
        "transport: udp, from",
        "transport: ucp, from",
        (7, 20),
        "did you mean `udp`?",
    ),
    (
        "transport: udp, from",
        "transport: mpi, from",
        (7, 20),
        "needs a section `mpi`",
    ),
    (
        "from: client, to: server, message",
        "from: client, between: [client, server], message",
        (7, 48),
        "give one of these",
    ),
    (
        "from: client, to: server, message",
        "between: [client], message",
        (7, 34),
        "between two hosts at least",
    ),
    (
        "from: client, to: server, message",
        "between: [client, server, client], message",
        (7, 51),
        "is given twice",
    ),
    (
        "from: client, to: server, message",
        "between: [client, sever], message",
        (7, 43),
        "did you mean `server`?",
    ),
    (
        "message: 1400B",
        "message: 1400kB",
        (7, 60),
        "is not a size",
    ),
    (
        "message: 1400B",
        "message: 1MiB",
        (7, 60),
        "has 8 to 65507 bytes",
    ),
    (
        "load: { transport",
        "lod: { transport",
        (7, 1),
        "did you mean `load`?",
    ),
    (
        "load: [0, 60]",
        "load: [0, 160]",
        (9, 13),
        "a percentage from 0 to 100",
    ),
    ("load: [0, 60]", "load: [60, 60]", (9, 14), "twice"),
    (
        "percent: [60]",
        "percent: [61]",
        (11, 15),
        "add it to `levels.load`",
    ),
    ("percent: [60]", "percent: []", (11, 5), "at least one load"),
    (
        "[uniform, lognormal]",
        "[uniform, lognorm]",
        (13, 23),
        "did you mean `lognormal`?",
    ),
    (
        "[uniform, lognormal]",
        "[uniform, uniform]",
        (13, 23),
        "twice",
    ),
    (
        "    transport: udp",
        "    transport: tcp2",
        (12, 16),
        "did you mean `tcp`?",
    ),
    (
        "transports: [udp, tcp]",
        "transports: [tcp]",
        (12, 16),
        "distributions are fitted to",
    ),
    (
        "transports: [udp, tcp]",
        "transports: [udp, tcp, tcp]",
        (17, 30),
        "twice",
    ),
    (
        "transports: [udp, tcp]",
        "transports: [udp, tcp]\n      verbs: { operation: send }",
        (18, 14),
        "not among `transports`",
    ),
    (
        "transports: [udp, tcp]",
        "transports: [udp, tcp]\n      verbs: { operation: sent }",
        (18, 27),
        "did you mean `send`?",
    ),
    (
        "transports: [udp, tcp]\n      from: client\n      to: server\n      size: 64B\n      warmup: 10ms\n      duration: 250ms\n      wait: block",
        "transports: [udp, shm]\n      wait: poll",
        (17, 19),
        "nothing can be injected into messages over `shm`",
    ),
    (
        "transports: [udp, tcp]",
        "transports: [udp, shm]\n      levels: [none, load]",
        (17, 19),
        "because nothing wakes a receiver that sleeps",
    ),
    ("case: rtt", "case: rttt", (16, 13), "unknown value"),
    ("size: 64B", "size: 4B", (20, 13), "has 8 to 65507 bytes"),
    (
        "size: 64B",
        "size: 64",
        (20, 13),
        "`64` is not a size; write a number and one of B",
    ),
    (
        "size: 64B",
        "size: '64'",
        (20, 13),
        "`64` is not a size; write a number and one of B",
    ),
    (
        "duration: 250ms",
        "duration: 250",
        (22, 17),
        "`250` is not a duration",
    ),
    (
        "duration: 250ms",
        "duration: 10us",
        (22, 17),
        "at least 1ms",
    ),
    (
        "wait: block",
        "wait: blok",
        (23, 13),
        "did you mean `block`?",
    ),
    (
        "wait: block",
        "wait: block\n      levels: [nope]",
        (24, 16),
        "did you mean `none`?",
    ),
    (
        "wait: block",
        "wait: block\n    - case: rtt\n      name: a\n      transports: [tcp]\n      from: client\n      to: server\n      size: 64B\n      warmup: 10ms\n      duration: 250ms\n      wait: block\n      levels: []",
        (33, 15),
        "no kind of level",
    ),
    ("name: redis", "name: re dis", (25, 13), "a name has"),
    (
        "on: client",
        "on: cliend",
        (27, 21),
        "did you mean `client`?",
    ),
    (
        "command: [redis-benchmark]",
        "command: []",
        (27, 38),
        "no program",
    ),
    (
        "'([0-9.]+) requests per second'",
        "'[0-9.'",
        (28, 27),
        "not a regular expression",
    ),
    (
        "'([0-9.]+) requests per second'",
        "'[0-9.]+'",
        (28, 27),
        "one group",
    ),
    ("unit: per_second", "unit: hz", (28, 66), "unknown value"),
    (
        "10.0.0.2",
        "0.0.0.0",
        (6, 35),
        "no address that a host is reached by",
    ),
    (
        "wait: block",
        "wait: block\n      timeout: 0s",
        (24, 16),
        "a timeout must be above 0",
    ),
    (
        "unit: per_second }",
        "unit: per_second }\n      timeout: 0s",
        (29, 16),
        "a timeout must be above 0",
    ),
    (
        "      server: { on: server, command: [redis-server] }\n      client: { on: client, command: [redis-benchmark] }",
        "      client: { on: client, command: [redis-benchmark, -p, '{port}'] }",
        (26, 60),
        "there is none",
    ),
    ("[redis-server]", "['']", (26, 38), "no program"),
    (
        "warmup: 10ms",
        "warmup: 40000s",
        (21, 15),
        "longer than 10h",
    ),
];

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for &(from, to, place, says) in WRONG {
        let text = GOOD.replacen(from, to, 1);
        let error = parse(&text).expect_err(to);
        let message = error.to_string();
        assert!(!message.contains('\n'), "{message}");
        let FileError::Content { line, column, .. } = error else {
            panic!("{message}");
        };
        assert!(message.starts_with("e.yaml:"), "{message}");
        assert!(message.contains(says), "{to}: {message}");
        assert_eq!((line, column), place, "{to}: {message}");
    }
}

#[test]
fn a_host_that_is_sent_to_from_elsewhere_needs_an_address() {
    let elsewhere = GOOD.replace("client: { at: local, cpu: 0 }", "client: { at: netns a }");
    parse(&elsewhere).unwrap();
    let local = elsewhere.replace("{ at: netns b, address: 10.0.0.2 }", "{ at: local }");
    let message = parse(&local).unwrap_err().to_string();
    assert_eq!(
        message,
        "e.yaml:6:11: host `server` receives messages from another place (netns a) and needs an `address` \
         (of an inventory: `jitterlab_address`, unless its name leads to one)"
    );
}

#[test]
fn a_case_whose_levels_are_not_there_is_refused() {
    let none = GOOD.replace("  load: [0, 60]", "  load: []");
    let none = none.replace(
        "  injected:\n    percent: [60]\n    transport: udp\n    shapes: [uniform, lognormal]\n",
        "",
    );
    let case = none.replace("wait: block", "wait: block\n      levels: [load, injected]");
    parse(&none).unwrap();
    let message = parse(&case).unwrap_err().to_string();
    assert!(message.contains("would measure nothing"), "{message}");
}

#[test]
fn a_file_without_anything_to_measure_is_refused() {
    let text = &GOOD[..GOOD.find("suites:").unwrap()];
    let text = text.replace("levels:", "suites: {}\nlevels:");
    let message = parse(&text).unwrap_err().to_string();
    assert!(message.contains("distributions are fitted"), "{message}");
    let text = &text[..text.find("levels:").unwrap()];
    let message = parse(text).unwrap_err().to_string();
    assert!(message.contains("nothing to measure"), "{message}");
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(at in 0..GOOD.len(), noise in "[ -~\n]{0,6}") {
        let mut text = GOOD.to_string();
        text.insert_str(at, &noise);
        if let Err(FileError::Content { line, .. }) = parse(&text) {
            prop_assert!(line >= 1);
        }
    }
}

#[test]
fn load_between_hosts_goes_both_ways_and_a_host_sends_the_level_in_all() {
    let one_way = parse(GOOD).unwrap().load.unwrap();
    assert_eq!(one_way.flows(), [("client", "server")]);
    assert_eq!(one_way.share(), 1.0);
    let address = GOOD.replace("at: local, cpu: 0", "at: local, address: 10.0.0.1, cpu: 0");
    let text = address.replace(
        "from: client, to: server, message",
        "between: [client, server], message",
    );
    let both = parse(&text).unwrap().load.unwrap();
    assert_eq!(both.flows(), [("client", "server"), ("server", "client")]);
    assert_eq!(both.share(), 1.0);
    let mut three = both;
    three.between.push("third".into());
    assert_eq!((three.flows().len(), three.share()), (6, 0.5));
    assert_eq!(
        three.to_string(),
        "between client, server and third, both ways"
    );
}

/// Of each case of the packet suite, what only it is told.
#[test]
fn every_packet_case_is_read_and_refuses_what_is_not_its_own() {
    let parse_case = |options: &str| {
        let text = format!(
            "name: p\nseed: 1\nrepetitions: 1\nhosts: {{ a: {{ at: local }} }}\nsuites:\n  packet:\n    - {{ {options} }}\n"
        );
        parse(&text)
    };
    for options in [
        "case: rtt, rate: 20k, gaps: exponential, window: 64",
        "case: latency, sizes: [8B, 1KiB]",
        "case: bandwidth, sizes: [1KiB], window: 8",
        "case: bidirectional, sizes: [1KiB], window: 8",
        "case: overhead, sizes: [1KiB], window: 8",
        "case: completion, sizes: [64B, 1KiB]",
        "case: buffer-reuse, sizes: [4KiB, 32KiB], buffers: [1, 10], reuse: [0, 100], window: 8",
        "case: hot-spot, size: 64B, slaves: 2",
    ] {
        let experiment = parse_case(&format!("{options}, levels: [none]"));
        let experiment = experiment.unwrap_or_else(|error| panic!("{options}: {error}"));
        let case = &experiment.suites.packet[0];
        assert!(!case.is_closed_rtt(), "{options}");
    }
    for (options, said) in [
        ("case: rtt, sizes: [64B]", "the case rtt has no `sizes`"),
        ("case: rtt, window: 8", "the case rtt has no `window`"),
        ("case: rtt, gaps: fixed", "give a `rate`"),
        ("case: latency, size: 64B", "the case latency has no `size`"),
        ("case: latency, rate: 1k", "the case latency has no `rate`"),
        (
            "case: bandwidth, slaves: 2",
            "the case bandwidth has no `slaves`",
        ),
        (
            "case: bandwidth, window: 0",
            "a window has 1 to 4096 messages",
        ),
        (
            "case: completion, wait: poll",
            "the case completion has no `wait`",
        ),
        (
            "case: latency, sizes: [64B, 64KiB]",
            "a message over udp has 8 to 65507 bytes",
        ),
        (
            "case: buffer-reuse, sizes: [8B, 9B, 10B]",
            "one size for latency and one for bandwidth",
        ),
        ("case: hot-spot, slaves: 33", "there are 1 to 32 slaves"),
    ] {
        let error = parse_case(options).unwrap_err().to_string();
        assert!(error.contains(said), "{options}: {error}");
    }
}

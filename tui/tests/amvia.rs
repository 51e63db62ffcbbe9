//! `jitterlab amvia serve`, `call` and `status`, and the measuring commands: what is printed, and the exit status.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::Lab;
use common::amvia::{Server, amvia, error, text};
use common::experiments::{folder, lab, lines};
use jitterlab_skip::built;
use serde_json::Value;

/// Calls at once are made under two names: each gets its own reply.
#[test]
fn calls_at_once_get_their_own_replies() {
    let server = Server::start(&["--listen", "udp://127.0.0.1:0"]);
    let to = server.target();
    let start = |time| {
        Command::new(env!("CARGO_BIN_EXE_jitterlab"))
            .args(["amvia", "call", &to, "--handler", "wait", "--data", time])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let calls = ["100ms", "200ms", "300ms"].map(|time| (time, start(time)));
    for (time, call) in calls {
        let called = call.wait_with_output().unwrap();
        assert!(called.status.success(), "{called:?}");
        let waited = format!("reply: waited {}\n", time.replace("ms", " ms"));
        assert!(text(&called).ends_with(&waited), "{called:?}");
    }
}

#[test]
fn a_call_says_what_became_of_it() {
    let server = Server::start(&["--listen", "udp://127.0.0.1:0"]);
    let to = server.target();
    let called = amvia(&["call", &to, "--data", "hello"]);
    assert_eq!(called.status.code(), Some(0), "{called:?}");
    assert!(text(&called).starts_with(&format!("{to}: 1 <ACKED, PROCESSED>\n")));
    assert!(text(&called).ends_with("reply: hello\n"));

    let many = amvia(&["call", &to, "--count", "200", "--format", "json"]);
    let many: Value = serde_json::from_slice(&many.stdout).unwrap();
    assert_eq!(many["states"]["<ACKED, PROCESSED>"], 200);
    assert_eq!(many["round_trips_ns"].as_array().unwrap().len(), 200);

    let unknown = amvia(&["call", &to, "--handler", "99"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown).contains("1 <ACK_NOT_FOUND, REQUEST_SENT>"));

    let refused = amvia(&["call", &to, "--protocol", "two-way"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(error(&refused).contains("refuses: the peer speaks another protocol"));
    let other = amvia(&["call", &to.replace("server@", "other@")]);
    assert_eq!(other.status.code(), Some(3));
    assert!(error(&other).contains("refuses: the peer has no such endpoint"));
}

/// Every request would fail like the first one.
#[test]
fn a_server_that_is_not_there_is_asked_once() {
    let server = Server::start(&["--listen", "udp://127.0.0.1:0"]);
    let to = server.target();
    drop(server);
    let called = amvia(&[
        "call",
        &to,
        "--count",
        "1000000",
        "--patience",
        "10s",
        "--format",
        "json",
    ]);
    assert_eq!(called.status.code(), Some(1), "{called:?}");
    let called: Value = serde_json::from_slice(&called.stdout).unwrap();
    assert_eq!(called["states"]["<NOT_ACKED, NOT_RUN>"], 1, "{called}");
}

#[test]
fn a_server_killed_while_its_handler_ran_leaves_the_truth_in_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (own, theirs) = (log("client.log"), log("server.log"));
    let serve = [
        "--listen",
        "udp://127.0.0.1:0",
        "--durability",
        "process",
        "--log",
        &theirs,
    ];
    let mut server = Server::start(&serve);
    let to = server.target();
    let mut call = Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .args([
            "amvia",
            "call",
            &to,
            "--durability",
            "process",
            "--log",
            &own,
        ])
        .args([
            "--handler",
            "wait",
            "--data",
            "1000s",
            "--patience",
            "1000s",
        ])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !status(&theirs).contains("<ACKED, HANDLER_STARTED>") {
        assert!(call.try_wait().unwrap().is_none());
    }
    // Who runs tells how its peers are, and each log which transactions it has with them.
    let peers = |log: &str| {
        let said = amvia(&["status", log, "--format", "json"]);
        let said: Value = serde_json::from_slice(&said.stdout).unwrap();
        said["peers"].clone()
    };
    while peers(&own)[0]["state"] != "connected" {
        assert!(call.try_wait().unwrap().is_none());
    }
    let (of_client, of_server) = (peers(&own), peers(&theirs));
    assert_eq!(of_client[0]["name"], "server");
    assert_eq!(of_client[0]["address"], *server.1);
    assert!(of_client[0]["incarnation"].is_u64(), "{of_client}");
    assert_eq!(of_client[0]["sent"], 1);
    assert_eq!(of_server[0]["received"], 1);
    assert_eq!(of_server.as_array().unwrap().len(), 1);
    assert!(status(&own).contains(&format!("server  {}  ", server.1)));
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    call.kill().unwrap();
    call.wait().unwrap();
    assert!(status(&own).contains("REQUEST"), "{}", status(&own));
    assert!(status(&own).contains("how its peers are is not known"));
    assert_eq!(peers(&own)[0]["state"], Value::Null);

    let at = server.1.clone();
    let again = ["--listen", &at, "--durability", "process", "--log", &theirs];
    let _server = Server::start(&again);
    let asked = amvia(&["call", &to, "--durability", "process", "--log", &own]);
    assert_eq!(asked.status.code(), Some(0), "{asked:?}");
    let said = text(&asked);
    assert!(
        said.contains("of earlier lives: 1 <NOT_ACKED, INDETERMINATE>"),
        "{said}"
    );
    assert!(said.contains(": 1 <ACKED, PROCESSED>"), "{said}");
    assert!(status(&own).ends_with("no transaction that is not released\n"));
}

/// One that was connected may have run the request: after its timeouts the state is unknown.
#[test]
fn a_server_that_is_killed_leaves_an_unknown_within_the_timeouts() {
    let server = Server::start(&["--listen", "udp://127.0.0.1:0"]);
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("client.log");
    let to = server.target();
    let mut call = Command::new(env!("CARGO_BIN_EXE_jitterlab"));
    call.args(["amvia", "call", &to, "--count", "1000000000"])
        .args(["--patience", "3s", "--format", "json"])
        .args(["--durability", "process", "--log"])
        .arg(&log);
    let call = call.stdout(Stdio::piped()).spawn().unwrap();
    while !status(log.to_str().unwrap()).contains("REQUEST_") {}
    drop(server);
    let called = call.wait_with_output().unwrap();
    assert_eq!(called.status.code(), Some(1), "{called:?}");
    let called: Value = serde_json::from_slice(&called.stdout).unwrap();
    let unknown = called["unknown"].as_array().unwrap();
    let last = unknown.last().unwrap();
    let timeouts = last["timeouts_ns"].as_f64().unwrap();
    // Seven from the floor of a millisecond, each twice as long.
    assert!(timeouts >= 127e6, "{timeouts}");
    assert!(last["after_ns"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_log_is_set_aside_for_an_endpoint_with_other_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("server.log");
    let log = log.to_str().unwrap();
    let at = ["--listen", "udp://127.0.0.1:0", "--durability", "process"];
    let serve = |window| [&at[..], &["--log", log, "--window", window]].concat();
    let first = Server::start(&serve("4"));
    let busy = amvia(&["status", log, "--set-aside"]);
    assert_eq!(busy.status.code(), Some(2), "{busy:?}");
    assert!(error(&busy).contains("is in use by another process"));
    drop(first);
    let refused = amvia(&[&["serve"][..], &serve("5")].concat());
    assert!(error(&refused).contains("or set it aside"), "{refused:?}");

    let aside = amvia(&["status", log, "--set-aside"]);
    assert_eq!(aside.status.code(), Some(0), "{aside:?}");
    let name = format!("{log}.aside-1");
    assert_eq!(text(&aside), format!("{name}\n"));
    assert!(status(&name).starts_with("endpoint "));
    let _second = Server::start(&serve("5"));
    let gone = amvia(&["status", &format!("{log}.no"), "--set-aside"]);
    assert_eq!(gone.status.code(), Some(2), "{gone:?}");
}

fn status(log: &str) -> String {
    text(&amvia(&["status", log]))
}

#[test]
fn cases_of_the_suite_are_measured_against_a_server_that_is_started() {
    for transport in ["udp", "shm"] {
        let over = ["--transport", transport, "--format", "json"];
        let riding = ["--protocol", "amvia-riding", "--count", "300"];
        let rtt = amvia(&[&["rtt"], &over[..], &riding].concat());
        let rtt: Value = serde_json::from_slice(&rtt.stdout).unwrap();
        assert_eq!(rtt["case"], "rtt");
        assert_eq!(rtt["protocol"], "amvia-riding");
        assert_eq!(rtt["rtt_ns"]["n"], 300);

        let amudp = [
            "--protocol",
            "amudp",
            "--size",
            "32,4KiB",
            "--duration",
            "5ms",
        ];
        let bandwidth = amvia(&[&["bandwidth"], &over[..], &amudp].concat());
        let bandwidth: Value = serde_json::from_slice(&bandwidth.stdout).unwrap();
        assert_eq!(bandwidth["points"].as_array().unwrap().len(), 2);
        assert!(bandwidth["points"][1]["bytes_per_second"].as_f64().unwrap() > 0.0);
    }
    let server = Server::start(&["--listen", "udp://127.0.0.1:0", "--wait", "poll"]);
    let to = ["--to", &server.1, "--transport", "udp", "--count", "100"];
    let measured = amvia(&[&["rtt"], &to[..]].concat());
    assert!(text(&measured).starts_with("rtt of amvia over udp, 32 B: 100 transactions"));
    for wrong in ["tcp", "shm"] {
        let to = ["rtt", "--to", &server.1, "--transport", wrong];
        let refused = amvia(&to);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn faults_are_made_detected_and_told() {
    let faults = ["--faults", "ber=1e-4,loss=1%", "--max-rto", "1ms"];
    let listen = ["--listen", "udp://127.0.0.1:0"];
    let server = Server::start(&[listen, [faults[0], faults[1]]].concat());
    let to = server.target();
    let call = ["call", &to, "--count", "300", "--patience", "60s"];
    let said = amvia(&[&call[..], &faults, &["--format", "json"]].concat());
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let of = |key: &str| said["faults"][key].as_u64().unwrap();
    assert_eq!(said["states"]["<ACKED, PROCESSED>"], 300, "{said}");
    assert!(of("frames") >= 300 && of("lost") > 0, "{said}");
    assert!(of("damaged") > 0 && of("flipped_bits") >= of("damaged"));
    assert!(of("refused") > 0, "{said}");

    let said = text(&amvia(&[&call[..], &faults].concat()));
    assert!(
        said.contains(" damaged, ") && said.contains("and refused\n"),
        "{said}"
    );
    let without = amvia(&["call", &to, "--patience", "60s", "--format", "json"]);
    let without: Value = serde_json::from_slice(&without.stdout).unwrap();
    assert!(without["faults"].is_null());
}

#[test]
fn cases_are_measured_with_faults_of_both_ends() {
    for transport in ["udp", "shm"] {
        let over = ["--transport", transport, "--format", "json"];
        let faults = [
            "--faults",
            "loss=5%",
            "--min-rto",
            "1ms",
            "--max-rto",
            "500ms",
        ];
        let rtt = amvia(&[&["rtt"], &over[..], &faults, &["--count", "2000"]].concat());
        let rtt: Value = serde_json::from_slice(&rtt.stdout).unwrap();
        assert!(
            rtt["faults"].as_str().unwrap().starts_with("loss=5%,seed="),
            "{rtt}"
        );
        // Some 100 of 2,000 requests are lost, and as many replies, which are asked for again.
        assert!(rtt["retransmissions"].as_u64() > Some(50), "{rtt}");
        assert!(rtt["rtt_ns"]["max"].as_f64() >= Some(1e6), "{rtt}");
        // Replies are lost, too: the server makes the faults that it is told.
        assert!(rtt["rtt_ns"]["mean"].as_f64() >= Some(75e3), "{rtt}");

        // A busy machine makes some 400 transactions in that time.
        let little = ["--size", "32", "--duration", "1s"];
        let bandwidth = amvia(&[&["bandwidth"], &over[..], &faults, &little].concat());
        let bandwidth: Value = serde_json::from_slice(&bandwidth.stdout).unwrap();
        assert!(
            bandwidth["points"][0]["retransmissions"].as_u64() > Some(0),
            "{bandwidth}"
        );
    }
    // What is late is not lost.
    let late = [
        "--faults",
        "delay=100us",
        "--transport",
        "shm",
        "--protocol",
        "two-way",
        "--blocks",
        "2",
    ];
    let loggp = text(&amvia(&[&["loggp"], &late[..]].concat()));
    let trip = loggp.lines().find(|line| line.starts_with("round trip"));
    let mut trip = trip.unwrap().split_whitespace().skip(2);
    let number: f64 = trip.next().unwrap().parse().unwrap();
    let is_late = match trip.next() {
        Some("us") => number >= 200.0,
        unit => unit == Some("ms"),
    };
    assert!(is_late, "{loggp}");
    // These tests run as ordinary work.
    let without = "\nmeasured without real-time priority: ";
    assert!(loggp.contains(without), "{loggp}");

    for (wrong, says) in [
        (["--faults", "lose=1%"], "is not one of ber=RATE"),
        (["--max-rto", "1us"], "is above the longest, 1us"),
    ] {
        let refused = amvia(&["rtt", "--transport", "shm", wrong[0], wrong[1]]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(error(&refused).contains(says), "{}", error(&refused));
    }
}

#[test]
fn what_failures_cost_is_told_by_model_simulation_and_experiment() {
    let few = [
        "--transport",
        "shm",
        "--ber",
        "1e-4",
        "--measured",
        "1k",
        "--simulated",
        "2k",
    ];
    let told = [
        "--protocol",
        "two-way,amvia-riding",
        "--up",
        "60s",
        "--repair",
        "3s",
    ];
    let said = amvia(&[&["performability", "--format", "json"], &few[..], &told].concat());
    // 1: the experiment was disturbed.
    assert!(matches!(said.status.code(), Some(0 | 1)), "{said:?}");
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let reports = said.as_array().unwrap();
    assert_eq!(reports.len(), 2);
    for (report, protocol) in reports.iter().zip(["two-way", "amvia-riding"]) {
        assert_eq!(
            (&report["case"], &report["protocol"]),
            (&"performability".into(), &protocol.into())
        );
        assert!(
            report["excess"][0]["losses"].as_u64() > Some(50),
            "{report}"
        );
        let yields = report["performability"].as_array().unwrap();
        let repaired = yields.last().unwrap();
        assert_eq!(
            (&repaired["assumed"], &repaired["repair_s"]),
            (&"as told".into(), &3.0.into())
        );
    }

    let component = [
        "--component",
        "wire,application",
        "--chance",
        "0.1",
        "--protocol",
        "amudp",
    ];
    let said = amvia(&[&["performability"], &few[..], &component].concat());
    for row in ["bits 1e-4", "wire 1e-1", "application 1e-1", "a bad cable"] {
        assert!(text(&said).contains(row), "{row}: {}", text(&said));
    }
    for wrong in [
        ["--transport", "tcp"],
        ["--component", "disk"],
        ["--chance", "0.1"],
        ["--repair", "3s"],
        ["--size", "9KiB"],
    ] {
        let refused = amvia(&["performability", wrong[0], wrong[1]]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn what_failures_cost_goes_from_an_experiment_to_its_report() {
    let lab = lab(
        "name: failures\nseed: 3\nrepetitions: 1\nhosts: { here: { at: local } }\nlevels: { injected: { delays: [5us] } }\n\
         suites:\n  amvia:\n    - { case: performability, transports: [shm], protocols: [two-way, amvia], ber: [1e-4], \
         transactions: 1000 }\n",
    );
    let output = lab.run("run e.yaml --headless");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let folder = folder(&lab);
    let records = lines(&folder.join("runs.jsonl"));
    assert_eq!(records.len(), 4);
    for record in &records {
        assert_eq!(record["outcome"], "done", "{record}");
        let result = &record["result"]["amvia"];
        assert_eq!(result["case"], "performability");
        assert!(
            result["excess"][0]["losses"].as_u64() > Some(50),
            "{result}"
        );
        let is_injected = record["level"]["kind"] == "delay";
        assert_eq!(
            record["injection"]["delayed"].as_u64() > Some(0),
            is_injected,
            "{record}"
        );
        // A request and a reply are late by 5 us each.
        let error_free = result["excess"][0]["error_free_ns"].as_f64().unwrap();
        assert!(!is_injected || error_free >= 10e3, "{record}");
    }
    let reported = lab.run(&format!("report {}", folder.display()));
    assert_eq!(reported.status.code(), Some(0), "{}", error(&reported));
    let file = |name: &str| std::fs::read_to_string(folder.join("report").join(name)).unwrap();
    // The columns that are not intervals, and a line for each way.
    assert!(file("performability_excess.csv").starts_with("case,transport,protocol,"));
    assert_eq!(file("performability_excess.csv").lines().count(), 1 + 4);
    for figure in ["bits-shm", "throughput-shm", "stages"] {
        assert!(
            file(&format!("amvia-{figure}.svg")).contains("<svg"),
            "{figure}"
        );
    }
    assert!(file("index.html").contains("yields most"));
}

/// There is no call that could be caught: the layer itself takes the delays, and counts them where those of calls are counted.
#[test]
fn what_is_injected_is_injected_over_shared_memory_too() {
    built();
    let lab = Lab::new();
    let program = env!("CARGO_BIN_EXE_jitterlab");
    for mode in ["spin", "defer"] {
        let rtt =
            "amvia rtt --transport shm --protocol two-way --warmup 0s --count 100 --format json";
        let inject = format!("inject run --delay 200us --mode {mode} --report {mode}.json");
        let output = lab.run(&format!("{inject} -- {program} {rtt}"));
        assert!(output.status.success(), "{output:?}");
        let measured: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(
            measured["rtt_ns"]["min"].as_f64().unwrap() >= 200e3,
            "{mode}: {measured}"
        );
        let report: Value = serde_json::from_str(&lab.read(&format!("{mode}.json"))).unwrap();
        assert!(
            report["delays"].as_u64().unwrap() >= 100,
            "{mode}: {report}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = manifest.to_str().unwrap();
    for (arguments, says) in [
        (
            vec!["call", "server"],
            "the address of server is unknown: write server@ADDRESS, or give --names and --key",
        ),
        (vec!["status", manifest], "is not a log of active messages"),
        (
            vec![
                "serve",
                "--listen",
                "udp://127.0.0.1:0",
                "--log",
                "/nowhere/a.log",
            ],
            "a log in a file needs durability process or power",
        ),
        (
            vec![
                "serve",
                "--listen",
                "udp://127.0.0.1:0",
                "--durability",
                "power",
            ],
            "a log that survives its process needs a file: name one as the log, or choose durability none",
        ),
    ] {
        let refused = amvia(&arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {refused:?}");
        assert!(
            error(&refused).contains(says),
            "{arguments:?}: {}",
            error(&refused)
        );
        assert_eq!(error(&refused).lines().count(), 1, "{}", error(&refused));
    }
}

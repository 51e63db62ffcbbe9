//! `jitterlab amvia serve`, `call` and `status`: what is printed, and the exit status.

mod common;

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use common::experiments::{folder, lab, lines, until};
use common::{Lab, build_library};
use jitterlab_skip::skip;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde_json::Value;

struct Server(Child, String);

impl Server {
    fn start(options: &[&str]) -> Server {
        Server::start_by(Command::new(env!("CARGO_BIN_EXE_jitterlab")), options)
    }

    /// The program is the last word of `program`.
    fn start_by(mut program: Command, options: &[&str]) -> Server {
        let mut child = program
            .args(["amvia", "serve", "--until-stdin-closes"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Server(child, said["listening"].as_str().unwrap().into())
    }

    fn target(&self) -> String {
        format!("server@{}", self.1)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn amvia(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .arg("amvia")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

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
    server.0.kill().unwrap();
    server.0.wait().unwrap();
    call.kill().unwrap();
    call.wait().unwrap();
    assert!(status(&own).contains("REQUEST"), "{}", status(&own));

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

        let little = ["--size", "32", "--duration", "20ms"];
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
        (["--faults", "lose=1%"], "is none of ber=RATE"),
        (["--max-rto", "1us"], "above its ceiling"),
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
    build_library();
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
            "where is server? say server@ADDRESS, or --names and --key",
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
            "a log of durability none is no file",
        ),
        (
            vec![
                "serve",
                "--listen",
                "udp://127.0.0.1:0",
                "--durability",
                "power",
            ],
            "a log that survives its process is a file: name it",
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

/// jitterlab by `chrt` with this policy and priority; none where that may not give it.
fn scheduled(policy: &str, priority: &str) -> Option<Command> {
    let chrt = || {
        let mut chrt = Command::new("chrt");
        chrt.args([policy, priority]);
        chrt
    };
    let may = chrt().arg("true").output();
    may.is_ok_and(|may| may.status.success()).then(|| {
        let mut program = chrt();
        program.arg(env!("CARGO_BIN_EXE_jitterlab"));
        program
    })
}

/// The CPUs that this process may run on.
fn cpus() -> Vec<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let cpus = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap());
    cpus.collect()
}

/// It polls at real-time priority and never leaves its CPU: what it starts to watch stdin would never run with the same.
#[test]
fn a_server_with_real_time_priority_ends_with_its_stdin() {
    let Some(program) = scheduled("-f", "20") else {
        return skip("there is no chrt that may give real-time priority");
    };
    let [cpu, _, ..] = cpus()[..] else {
        return skip("a server that polls at real-time priority leaves no CPU to the test");
    };
    let cpu = cpu.to_string();
    let polls = ["--wait", "poll", "--listen", "udp://127.0.0.1:0", "--cpu"];
    let mut server = Server::start_by(program, &[&polls[..], &[&cpu]].concat());
    // It answers, so it polls.
    let called = amvia(&["call", &server.target(), "--data", "hello"]);
    assert_eq!(called.status.code(), Some(0), "{called:?}");
    drop(server.0.stdin.take());
    let server = RefCell::new(server);
    until(|| server.borrow_mut().0.try_wait().unwrap().is_some());
}

/// The CPUs that each thread of a process may run on, as the system writes them.
fn allowed(pid: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let status = threads.into_iter().flatten().flatten().map(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let allowed = status
            .split("Cpus_allowed_list:")
            .nth(1)
            .unwrap_or_default();
        allowed.lines().next().unwrap_or_default().trim().into()
    });
    status.collect()
}

#[test]
fn the_threads_of_performability_are_kept_on_their_cpus() {
    let few = [
        "performability",
        "--transport",
        "shm",
        "--protocol",
        "two-way",
        "--ber",
        "1e-4",
        "--measured",
        "200",
        "--simulated",
        "200",
    ];
    let refuses = |options: &[&str], says: &str| {
        let refused = amvia(&[&few[..], options].concat());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(error(&refused).contains(says), "{}", error(&refused));
    };
    refuses(&["--cpu", "0"], "--server-cpu <SERVER_CPU>");
    refuses(
        &["--cpu", "0", "--server-cpu", "0"],
        "have to differ, because both threads poll",
    );
    let [first, second] = match &cpus()[..] {
        [first, .., last] => [first, last].map(ToString::to_string),
        _ => return skip("two threads that poll need two CPUs"),
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .arg("amvia")
        .args(few)
        .args(["--cpu", &first, "--server-cpu", &second])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until(|| {
        let allowed = allowed(child.id());
        [&first, &second].iter().all(|cpu| allowed.contains(cpu))
    });
    // 1: the experiment was disturbed.
    assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)));
}

#[test]
fn loggp_with_real_time_priority_is_not_said_to_be_without() {
    let Some(mut loggp) = scheduled("-f", "20") else {
        return skip("there is no chrt that may give real-time priority");
    };
    loggp.args(["amvia", "loggp", "--transport", "shm", "--blocks", "2"]);
    let loggp = text(&loggp.output().unwrap());
    assert!(loggp.starts_with("loggp of amvia over shm"), "{loggp}");
    assert!(!loggp.contains("real-time priority"), "{loggp}");
}

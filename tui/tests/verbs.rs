//! `jitterlab packet` over verbs, from outside: on a machine without libibverbs, and over a device that is not there
//! (`injector/preload/tests/fixtures/mock_rdma.c`). Soft-RoCE is tested in the guest (`images/scenarios/verbs.sh`).

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use common::{Lab, text};
use jitterlab_skip::built;
use serde_json::Value;

const RUN: &str = "packet run --case rtt --iterations 50 --warmup-iterations 5 --timeout 2s";
/// The name by which every program knows libibverbs.
const LIBRARY: &str = "libibverbs.so.1";

#[test]
fn a_machine_without_libibverbs_says_so() {
    let lab = Lab::new();
    // A file that is no library stands before the one that this machine may have.
    lab.write(LIBRARY, "");
    lab.write(
        "h.yaml",
        "hosts: { a: { at: local }, b: { at: local } }\nverbs: { operation: send }\n",
    );
    let run = |arguments: &str| -> Output {
        let mut command = lab.command(arguments);
        command
            .env("LD_LIBRARY_PATH", lab.path(""))
            .output()
            .unwrap()
    };
    let message = jitterlab_verbs::Error::NoLibrary.to_string();
    for command in [
        &format!("{RUN} --transport verbs"),
        &format!("{RUN} --transport verbs --to 127.0.0.1:1"),
        "packet serve --transport verbs --bind 127.0.0.1:0",
        "load run --transport verbs --level 1 --duration 1ms",
    ] {
        let output = run(command);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{command}");
        assert_eq!(stderr.lines().count(), 1, "{command}: {stderr}");
        assert!(stderr.contains(&message), "{command}: {stderr}");
    }
    let output = run("validate h.yaml --transport verbs");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stderr).contains(&message), "{output:?}");
    let suite: Value = serde_json::from_slice(&run("packet list --format json").stdout).unwrap();
    assert_eq!(
        suite["cases"][0]["transports"],
        serde_json::json!(["udp", "tcp", "verbs", "shm"])
    );
    assert_eq!(suite["verbs"].as_array().unwrap().len(), 4);
    assert_eq!(suite["ports"], serde_json::json!([]));
    assert_eq!(suite["no_ports"], message);
    // Whatever needs no verbs goes on.
    let output = run(&format!("{RUN} --transport udp"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// A folder with a device that processes of this machine talk over.
struct Mock(Lab);

impl Mock {
    fn new() -> Self {
        let lab = Lab::new();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../injector/preload/tests/fixtures/mock_rdma.c");
        let compiled = Command::new("cc")
            .args(["-D_GNU_SOURCE", "-shared", "-fPIC", "-o"])
            .arg(lab.path(LIBRARY))
            .arg(fixtures)
            .status()
            .expect("a C compiler and libibverbs-dev are needed for this test");
        assert!(compiled.success());
        Mock(lab)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.0.command(arguments);
        command.env("LD_LIBRARY_PATH", self.0.path(""));
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn json(&self, arguments: &str) -> Value {
        let output = self.run(arguments);
        assert_eq!(text(&output.stderr), "", "{arguments}");
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn says(&self, arguments: &str, status: i32, part: &str) {
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains(part), "{arguments}: {stderr}");
    }

    /// A server, and where it listens.
    fn serve(&self, options: &str) -> (Served, String) {
        self.listen(&format!(
            "packet serve --transport verbs --bind 127.0.0.1:0 {options}"
        ))
    }

    /// What listens after this command, and where.
    fn listen(&self, command: &str) -> (Served, String) {
        let mut child = self
            .command(command)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.as_mut().unwrap());
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        (Served(child), ready["listening"].as_str().unwrap().into())
    }
}

/// A server that is ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn every_operation_is_measured_at_every_size() {
    let mock = Mock::new();
    for operation in ["write", "write-imm", "send"] {
        for (size, inline) in [
            (1, "auto"),
            (7, "off"),
            (64, "auto"),
            (200, "on"),
            (4096, "auto"),
        ] {
            let report = mock.json(&format!(
                "{RUN} --transport verbs --operation {operation} --size {size} --inline {inline} \
                 --format json"
            ));
            assert_eq!(report["transport"], "verbs");
            assert_eq!(report["wait"], "poll");
            assert_eq!(
                (&report["rtt_ns"]["n"], &report["lost"]),
                (&50.into(), &0.into())
            );
            let path = &report["path"];
            assert_eq!(path["device"], "mock0");
            assert_eq!(path["port"], 1);
            assert_eq!(path["operation"], operation);
            assert_eq!(path["service"], "rc");
            assert_eq!(path["inline"], inline != "off" && size <= 220, "{size}");
            assert_eq!(path["mtu"], 4096);
            assert!(path["gid_index"].is_null());
        }
    }
    let said = text(&mock.run(&format!("{RUN} --transport verbs")).stdout);
    let start = "ping-pong over verbs (write, rc, inline, mock0), 64 B, poll, closed loop: 50 round trips, 0 lost";
    assert!(said.starts_with(start), "{said}");
}

/// More messages than a queue takes, and more than a byte can count.
#[test]
fn long_runs_use_their_queues_again_and_again() {
    let mock = Mock::new();
    for operation in ["write", "write-imm", "send"] {
        let report = mock.json(&format!(
            "packet run --case rtt --iterations 600 --warmup-iterations 0 --timeout 5s \
             --transport verbs --operation {operation} --inline off --format json"
        ));
        assert_eq!(report["rtt_ns"]["n"], 600, "{operation}");
    }
}

/// Every case but those for which the device would need several processes to work on one queue pair.
#[test]
fn every_case_is_measured() {
    let mock = Mock::new();
    let short = "--warmup-iterations 16 --timeout 5s --format json";
    for operation in ["write", "write-imm", "send"] {
        for (case, points) in [
            ("latency --iterations 60 --size 1,4KiB", 2),
            ("bandwidth --iterations 300 --size 1,4KiB --window 8", 2),
            ("bandwidth --iterations 60 --size 64 --window 1", 1),
            ("bidirectional --duration 100ms --size 16 --window 8", 1),
            ("overhead --iterations 60 --size 64 --window 8", 1),
            // As many buffers as there are marks of writes.
            (
                "buffer-reuse --iterations 300 --size 64 --buffers 255 --reuse 50 --window 8",
                2,
            ),
            ("hot-spot --iterations 60 --size 8 --slaves 2", 2),
        ] {
            let report = mock.json(&format!(
                "packet run --transport verbs --operation {operation} {short} --case {case}"
            ));
            let at = format!("{operation} {case}");
            assert_eq!(report["points"].as_array().unwrap().len(), points, "{at}");
            assert_eq!(report["path"]["operation"], operation, "{at}");
            for point in report["points"].as_array().unwrap() {
                let lost = [&point["lost"], &point["missing"], &point["out"]["missing"]];
                assert!(
                    lost.iter().all(|lost| lost.is_null() || **lost == 0),
                    "{at}: {point}"
                );
                let back = &point["back_bytes_per_second"];
                assert!(
                    back.is_null() || back.as_f64().unwrap() > 0.0,
                    "{at}: {point}"
                );
            }
        }
    }
    let said = text(
        &mock
            .run("packet run --transport verbs --case bandwidth --wait block")
            .stderr,
    );
    assert!(
        said.contains("bandwidth over verbs needs `--wait poll`"),
        "{said}"
    );
}

#[test]
fn a_server_outlives_whoever_comes() {
    let mock = Mock::new();
    let (_served, to) = mock.serve("");
    let run = format!("{RUN} --transport verbs --to {to} --format json");
    // Words of somebody else, words that stop, and a client that is killed in the middle of a run.
    for words in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"jlverbs3"] {
        TcpStream::connect(&to).unwrap().write_all(words).unwrap();
    }
    let mut client = mock
        .command(&format!(
            "packet run --case rtt --duration 1000s --transport verbs --to {to}"
        ))
        .spawn()
        .unwrap();
    while sockets_to(&to) < 2 {
        assert!(client.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!(mock.json(&run)["rtt_ns"]["n"], 50);
    assert_eq!(mock.json(&run)["rtt_ns"]["n"], 50);
}

/// Both ends of connections to an address of this machine that are established.
fn sockets_to(address: &str) -> usize {
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    let entry = format!(":{port:04X} ");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let connections = table.lines().filter(|line| line.contains(" 01 "));
    connections.filter(|line| line.contains(&entry)).count()
}

#[test]
fn a_server_that_is_killed_ends_the_run() {
    let mock = Mock::new();
    let (mut served, to) = mock.serve("");
    let client = mock
        .command(&format!(
            "packet run --case rtt --duration 1000s --transport verbs --to {to}"
        ))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while sockets_to(&to) < 2 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    served.0.kill().unwrap();
    let output = client.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_cannot_be_is_said() {
    let mock = Mock::new();
    let run = format!("{RUN} --transport verbs");
    for (options, part) in [
        (
            "--wait block",
            "because nothing wakes a receiver that sleeps",
        ),
        (
            "--service ud",
            "the service ud carries the operation `send` only",
        ),
        ("--operation send --service ud --size 4", "8 to 4096 bytes"),
        ("--operation read", "`read` is not an operation"),
        ("--mtu 1500", "`1500` is not a path MTU"),
        ("--size 0", "1 to 16777216 bytes"),
    ] {
        let output = mock.run(&format!("{run} {options}"));
        assert_eq!(output.status.code(), Some(2), "{options}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains(part), "{options}: {stderr}");
    }
    mock.says(
        &format!("{run} --device foo"),
        2,
        "there is no RDMA device foo; there is mock0",
    );
    mock.says(
        &format!("{run} --gid-index 3"),
        2,
        "mock0 has no GID with the index 3",
    );
    mock.says(
        &format!("{run} --inline on --size 1000"),
        2,
        "mock0 does not take messages of 1000 bytes inline",
    );
    mock.says(&format!("{run} --size 200KiB"), 2, "1 to 131072 bytes");
    let (_served, to) = mock.serve("--mtu 256");
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    mock.says(
        &format!("{run} --to {free}"),
        3,
        &format!("start `jitterlab packet serve --transport verbs --bind {free}`"),
    );
    let report = mock.json(&format!("{run} --to {to} --format json"));
    assert_eq!(report["path"]["mtu"], 256);
    // One that sleeps cannot see writes.
    let (_served, to) = mock.listen("packet serve --transport tcp --bind 127.0.0.1:0");
    mock.says(
        &format!("{run} --to {to}"),
        3,
        "is not `jitterlab packet serve`",
    );
}

#[test]
fn the_list_has_every_way_and_every_port() {
    let mock = Mock::new();
    let suite = mock.json("packet list --format json");
    assert_eq!(
        suite["cases"][0]["transports"],
        serde_json::json!(["udp", "tcp", "verbs", "shm"])
    );
    let ways: Vec<String> = suite["verbs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|way| format!("{} {} {}", way["operation"], way["service"], way["waits"]))
        .collect();
    assert_eq!(
        ways,
        [
            r#""write" "rc" ["poll"]"#,
            r#""write-imm" "rc" ["block","poll"]"#,
            r#""send" "rc" ["block","poll"]"#,
            r#""send" "ud" ["block","poll"]"#,
        ]
    );
    assert_eq!(suite["ports"][0]["device"], "mock0");
    assert_eq!(suite["ports"][0]["active"], true);
}

#[test]
fn load_is_written_to_its_sink_and_counted_there() {
    let mock = Mock::new();
    let run = "load run --transport verbs --format json";
    for message in [8, 4096, 100 << 10] {
        let produced = mock.json(&format!(
            "{run} --level 50 --duration 300ms --bandwidth 5MiB --message {message}"
        ));
        assert_eq!(produced["transport"], "verbs");
        let count = |name: &str| produced[name].as_u64().unwrap();
        let sent = count("sent_messages");
        assert!(sent > 0, "{produced}");
        assert_eq!(count("received_messages"), sent, "{produced}");
        assert_eq!(count("received_bytes"), sent * message, "{produced}");
        assert_eq!(count("lost_messages"), 0, "{produced}");
    }
    let none = mock.json(&format!(
        "{run} --level 0 --duration 1ms --bandwidth 5MiB --device mock0"
    ));
    assert_eq!(none["message"], 4096);
    assert_eq!(none["sent_messages"], 0);
    // More messages than may be under way, for as long as the bandwidth is measured and at all of it.
    let full = mock.json(&format!("{run} --level 100 --duration 300ms"));
    assert_eq!(full["bandwidth_measured"], true);
    assert!(full["bandwidth"].as_f64().unwrap() > 1e6, "{full}");
    assert!(full["sent_messages"].as_u64().unwrap() > 1_000, "{full}");
    assert_eq!(full["received_messages"], full["sent_messages"], "{full}");
    mock.says(
        "load run --transport verbs --level 1 --device foo",
        2,
        "there is no RDMA device foo; there is mock0",
    );
}

#[test]
fn a_sink_of_load_that_is_killed_ends_it_and_one_without_the_device_refuses() {
    let mock = Mock::new();
    let (served, to) = mock.listen("load serve --bind 127.0.0.1:0 --device foo");
    mock.says(
        &format!("load run --transport verbs --level 1 --to {to}"),
        3,
        &format!(
            "the sink at {to} takes no load over verbs: there is no RDMA device foo; there is mock0"
        ),
    );
    drop(served);
    let (mut served, to) = mock.listen("load serve --bind 127.0.0.1:0");
    let run = "load run --transport verbs --level 50 --bandwidth 5MiB --duration 1000s --announce";
    let mut load = mock
        .command(&format!("{run} --to {to}"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stderr = BufReader::new(load.stderr.take().unwrap());
    stderr.read_line(&mut said).unwrap();
    assert_eq!(said, "sending\n");
    served.0.kill().unwrap();
    assert_eq!(load.wait().unwrap().code(), Some(3));
    said.clear();
    stderr.read_line(&mut said).unwrap();
    let start = format!("jitterlab: the sink at {to} stopped answering: ");
    assert!(said.starts_with(&start), "{said}");
}

/// The hooks stand before libibverbs although the program opens it by itself.
#[test]
fn sends_are_delayed_under_injection() {
    built();
    let mock = Mock::new();
    mock.0
        .done("dist make --shape constant --mean 1us -o t.dist");
    mock.0.write("s.seed", "1");
    for operation in ["write", "send"] {
        let output = mock.run(&format!(
            "inject run --table t.dist --seed s.seed --hook verbs --report {operation} -- {} {RUN} \
             --transport verbs --operation {operation}",
            env!("CARGO_BIN_EXE_jitterlab")
        ));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report: Value = serde_json::from_str(&mock.0.read(operation)).unwrap();
        let sent = [
            &report["calls"]["ibv_post_send"],
            &report["delays"],
            &report["asked_ns"],
        ];
        assert_eq!(sent, [55, 55, 55_000], "{report}");
    }
}

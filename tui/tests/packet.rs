//! `jitterlab packet`, from outside.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Stdio};
use std::thread;

use common::{Lab, text};
use jitterlab_experiment::samples;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A server that is ended with the test.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(lab: &Lab, arguments: &str) -> Self {
        let mut child = lab
            .mortal(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.as_mut().unwrap());
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let address = ready["listening"].as_str().unwrap().parse().unwrap();
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const RUN: &str = "packet run --case rtt --iterations 50 --warmup-iterations 5 --timeout 2s";

/// A round trip of the open loop counts from another moment than one of the closed loop: files of both are not compared.
#[test]
fn open_and_closed_loops_are_not_compared() {
    let lab = Lab::new();
    for name in ["closed.csv", "closed.parquet"] {
        let run = format!("{RUN} --transport udp --samples {name} --format json");
        assert_eq!(lab.json(&run)["loop"], "closed");
    }
    for name in ["open.csv", "open.parquet"] {
        let run = format!(
            "{RUN} --transport tcp --rate 5k --gaps exponential --seed 3 --window 32 --samples {name}"
        );
        let report = lab.json(&format!("{run} --format json"));
        let open = &report["loop"]["open"];
        assert_eq!(
            (figure(open, "rate_asked"), &open["gaps"]),
            (5e3, &"exponential".into())
        );
        assert_eq!(
            (&open["seed"], &open["window"], &open["unsent"]),
            (&3.into(), &32.into(), &0.into())
        );
        assert_eq!(report["rtt_ns"]["n"], 50);
    }
    for (a, b) in [
        ("closed.csv", "open.parquet"),
        ("closed.parquet", "open.csv"),
    ] {
        let [one, other] = [a, b].map(|name| name.split('.').next().unwrap());
        lab.refuses(
            &format!("stats compare {a} {b}"),
            &format!(
                "{a} was measured in the {one} loop and {b} in the {other} loop, and the two cannot be compared: the open \
                 loop counts a round trip from when its message was due, the closed loop from when it was sent; measure both in the same loop"
            ),
        );
    }
    lab.done("stats compare open.csv open.parquet");
    let run = format!("{RUN} --transport udp --rate 20000 --window 16");
    let said = lab.done(&run);
    assert!(
        said.contains(", 64 B, block, open loop: 50 round trips"),
        "{said}"
    );
    assert!(
        said.contains("20,000 messages a second asked for, "),
        "{said}"
    );
    assert!(said.contains(" fixed gaps; 0 not sent; at most "), "{said}");
}

fn figure(value: &Value, name: &str) -> f64 {
    value[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name}: {value}"))
}

#[test]
fn every_transport_and_way_to_wait_is_measured() {
    let lab = Lab::new();
    for transport in ["udp", "tcp"] {
        for wait in ["block", "poll"] {
            let run = format!("{RUN} --transport {transport} --wait {wait} --format json");
            let report = lab.json(&format!("{run} --size 256 --cpu 0"));
            let words = ["case", "transport", "wait"].map(|name| report[name].as_str().unwrap());
            assert_eq!(words, ["rtt", transport, wait]);
            let counts = ["size", "discarded", "lost", "reordered", "duplicates"]
                .map(|name| report[name].as_u64().unwrap());
            assert_eq!(counts, [256, 5, 0, 0, 0]);
            assert_eq!(report["memory_full"], false);
            assert_eq!(report["cpus"], serde_json::json!([0]));

            let rtt = &report["rtt_ns"];
            assert_eq!(rtt["n"], 50);
            let order = ["min", "median", "p90", "p99", "p999", "max"].map(|q| figure(rtt, q));
            assert!(order.is_sorted() && order[0] > 0.0, "{rtt}");
            assert!(figure(rtt, "mean") >= order[0] && figure(rtt, "mean") <= order[5]);
            assert!(figure(rtt, "std") >= 0.0);
            assert_eq!(figure(&report, "one_way_median_ns"), order[1] / 2.0);
            assert!(figure(&report, "clock_read_ns") > 0.0);
            assert!(figure(&report, "clock_resolution_ns") > 0.0);
            assert!(report["clock"].is_string());
        }
    }
}

/// Every case, over every socket, both ways to wait: what it is called, and how many points it has.
#[test]
fn every_case_is_measured() {
    let lab = Lab::new();
    let short = "--iterations 200 --warmup-iterations 16 --timeout 2s --format json";
    for transport in ["udp", "tcp"] {
        for (case, points) in [
            ("latency --size 16,64", 2),
            ("bandwidth --size 16,64 --window 8", 2),
            ("bidirectional --size 16,64 --window 8", 2),
            ("overhead --size 64 --window 8", 1),
            ("completion", 2),
            ("buffer-reuse --buffers 1,9 --reuse 50 --window 8", 3),
            ("hot-spot --slaves 2", 2),
        ] {
            let report = lab.json(&format!(
                "packet run --transport {transport} {short} --case {case}"
            ));
            let name = case.split(' ').next().unwrap();
            assert_eq!(
                (&report["case"], &report["transport"]),
                (&name.into(), &transport.into())
            );
            assert_eq!(
                report["points"].as_array().unwrap().len(),
                points,
                "{report}"
            );
            let points = report["points"].to_string();
            assert!(points.contains(r#""memory_full":false"#), "{report}");
        }
    }
    let suite = lab.json("packet list --format json");
    let cases: Vec<&str> = suite["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["case"].as_str().unwrap())
        .collect();
    assert_eq!(
        cases,
        [
            "rtt",
            "latency",
            "bandwidth",
            "bidirectional",
            "overhead",
            "completion",
            "buffer-reuse",
            "hot-spot"
        ]
    );
}

#[test]
fn people_are_shown_a_table() {
    let lab = Lab::new();
    let said = lab.done(
        "packet run --case bandwidth --transport tcp --window 4 --size 64,4KiB --iterations 0.1k",
    );
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "bandwidth over tcp, block, 4 under way");
    let names: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(names[..3], ["size", "bandwidth", "messages/s"]);
    assert!(lines[4].starts_with("clock: "), "{said}");
    let sizes: Vec<&str> = lines[2..4]
        .iter()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(sizes, ["64B", "4KiB"]);
}

#[test]
fn people_are_told_whether_it_is_a_round_trip() {
    let lab = Lab::new();
    let said = lab.done(&format!("{RUN} --transport udp"));
    let start = "ping-pong over udp, 64 B, block, closed loop: 50 round trips, 0 lost, 0 reordered, 0 duplicates\n\
                 RTT: least ";
    assert!(said.starts_with(start), "{said}");
    assert!(
        said.contains("\none-way (half the RTT), median: "),
        "{said}"
    );
}

#[test]
fn samples_are_kept_all_and_in_order() {
    let lab = Lab::new();
    let run = format!("{RUN} --transport tcp --format json --samples");
    for name in ["s.csv", "s.parquet"] {
        let report = lab.json(&format!("{run} {name}"));
        let kept = samples::read(&lab.path(name)).unwrap();
        assert_eq!(kept.len(), 50);
        let rtt = &report["rtt_ns"];
        let least = kept.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = kept.iter().copied().fold(0.0, f64::max);
        assert_eq!((least, greatest), (figure(rtt, "min"), figure(rtt, "max")));
    }
    let said = lab.read("s.csv");
    let notes: Vec<&str> = said
        .lines()
        .take_while(|line| line.starts_with('#'))
        .collect();
    assert_eq!(
        notes,
        [
            "# meaning: RTT, ns, in the order of measurement",
            "# case: rtt",
            "# transport: tcp",
            "# size: 64",
            "# loop: closed"
        ]
    );
}

#[test]
fn a_file_that_cannot_be_written_takes_no_result_along() {
    let lab = Lab::new();
    let run = format!("{RUN} --transport tcp --format json --samples /dev/full");
    let output = lab.command(&run).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write samples /dev/full"), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["rtt_ns"]["n"], 50);
}

#[test]
fn a_duration_is_measured_for() {
    let lab = Lab::new();
    let run = "packet run --case rtt --transport udp --warmup 1ms --duration 20ms --format json";
    let report = lab.json(run);
    let rtt = &report["rtt_ns"];
    // What was measured, and no more than one round trip beyond, fits into the time.
    let sum = figure(rtt, "mean") * figure(rtt, "n");
    assert!(sum - figure(rtt, "max") < 20e6 && sum > 0.0, "{rtt}");
    assert!(report["discarded"].as_u64().unwrap() > 0);
}

#[test]
fn a_server_serves_many_clients_until_it_is_ended() {
    let lab = Lab::new();
    for transport in ["udp", "tcp"] {
        let serve = format!("packet serve --transport {transport} --bind 127.0.0.1:0");
        for signal in [Signal::SIGTERM, Signal::SIGINT] {
            let mut server = Server::start(&lab, &serve);
            for wait in ["block", "poll"] {
                let to = server.address;
                lab.done(&format!(
                    "{RUN} --transport {transport} --wait {wait} --to {to}"
                ));
            }
            kill(Pid::from_raw(server.child.id() as i32), signal).unwrap();
            server.child.wait().unwrap();
        }
        let mut server = Server::start(&lab, &format!("{serve} --until-stdin-closes"));
        drop(server.child.stdin.take());
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_loopback_host_without_a_port_is_served_here() {
    let lab = Lab::new();
    for to in ["127.0.0.1", "127.0.0.2", "localhost"] {
        lab.done(&format!("{RUN} --transport udp --to {to} --server-cpu 0"));
    }
}

/// The loader complains of a library that is not there in every process that is told to load it.
#[test]
fn what_is_injected_into_the_client_is_not_into_its_server() {
    let lab = Lab::new();
    let mut command = lab.command(&format!("{RUN} --transport udp"));
    command
        .env("LD_PRELOAD", "/no/library.so")
        .env(jitterlab_injector::environment::TABLE, "/no/table.dist");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let complaints = text(&output.stderr);
    assert_eq!(
        complaints.matches("/no/library.so").count(),
        1,
        "{complaints}"
    );
}

/// Fails with exit status 3, nothing on stdout, no file, and one line of message.
fn fails(lab: &Lab, arguments: &str) -> String {
    let output = lab.run(arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{arguments}: {stderr}");
    assert_eq!(text(&output.stdout), "", "{arguments}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(!lab.path("s.csv").exists());
    stderr
}

#[test]
fn nobody_there_is_said_with_what_to_start() {
    let lab = Lab::new();
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = free.local_addr().unwrap();
    drop(free);
    for transport in ["udp", "tcp"] {
        let said = fails(
            &lab,
            &format!("{RUN} --transport {transport} --to {to} --samples s.csv"),
        );
        let hint = format!("start `jitterlab packet serve --transport {transport} --bind {to}`");
        assert!(said.contains(&hint), "{said}");
    }
}

/// An echo over UDP that loses every message whose number `lose` picks. The first words of a client, which it
/// says twice, are always answered: with a word of ours at their end, and then with its opposite.
fn lossy_echo(lose: impl Fn(u32) -> bool + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        for word in [1, !1u64] {
            let (length, client) = socket.recv_from(&mut buffer).unwrap();
            buffer[length - 8..length].copy_from_slice(&word.to_le_bytes());
            socket.send_to(&buffer[..length], client).unwrap();
        }
        for number in 1.. {
            let (length, client) = socket.recv_from(&mut buffer).unwrap();
            if !lose(number) {
                socket.send_to(&buffer[..length], client).unwrap();
            }
        }
    });
    address
}

#[test]
fn losses_are_counted_and_are_no_samples() {
    let lab = Lab::new();
    // The five of the warm-up come first.
    let to = lossy_echo(|number| [10, 20, 30].contains(&number));
    let run = "packet run --case rtt --iterations 50 --warmup-iterations 5 --timeout 200ms";
    let report = lab.json(&format!(
        "{run} --transport udp --to {to} --format json --samples s.csv"
    ));
    let [lost, reordered] = ["lost", "reordered"].map(|name| report[name].as_u64().unwrap());
    let n = report["rtt_ns"]["n"].as_u64().unwrap();
    // An answer that this machine was late with is counted, too.
    assert!(lost >= 3 && n + lost + reordered == 50, "{report}");
    assert_eq!(samples::read(&lab.path("s.csv")).unwrap().len() as u64, n);
}

#[test]
fn a_server_that_goes_away_ends_the_run() {
    let lab = Lab::new();
    let to = lossy_echo(|number| number > 100);
    let run = "packet run --case rtt --transport udp --duration 1000s --timeout 5ms";
    let said = fails(&lab, &format!("{run} --to {to} --samples s.csv"));
    assert!(
        // Not so silent, where this machine stands still.
        said.contains(" for 100ms. Before that, the peer answered "),
        "{said}"
    );
}

/// However well the other one answers.
#[test]
fn a_slave_that_goes_away_ends_the_run() {
    let lab = Lab::new();
    let alive = Server::start(&lab, "packet serve --transport udp --bind 127.0.0.1:0");
    let dead = lossy_echo(|number| number > 20);
    let said = fails(
        &lab,
        &format!(
            "packet run --case hot-spot --transport udp --iterations 100 --timeout 5ms --to {} --to {dead}",
            alive.address
        ),
    );
    assert!(
        said.contains(&format!("the slave at {dead} failed: "))
            && said.contains(" for 100ms. Before that, the peer answered "),
        "{said}"
    );
}

#[test]
fn a_server_that_is_killed_ends_the_run() {
    let lab = Lab::new();
    let mut server = Server::start(&lab, "packet serve --transport tcp --bind 127.0.0.1:0");
    let run = "packet run --case rtt --transport tcp --duration 1000s";
    let mut client = lab
        .command(&format!("{run} --to {} --samples s.csv", server.address))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The client is there when the server has taken its connection.
    let served = format!("/proc/{}/fd", server.child.id());
    while sockets(&served) < 2 {
        thread::sleep(std::time::Duration::from_millis(1));
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert_eq!(client.wait().unwrap().code(), Some(3));
    let mut said = String::new();
    client.stderr.unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!lab.path("s.csv").exists());
}

fn sockets(folder: &str) -> usize {
    let links = std::fs::read_dir(folder).unwrap();
    links
        .filter_map(|link| std::fs::read_link(link.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}

#[test]
fn wrong_options_of_a_server_are_refused() {
    let lab = Lab::new();
    lab.refuses(
        "packet serve --transport udp --bind localhost",
        "error: invalid value 'localhost' for '--bind <BIND>': `localhost` is not an IP address with a port, as in `127.0.0.1:7411`",
    );
    lab.refuses(
        "packet serve --transport udp --bind 127.0.0.1:0 --cpu 4096",
        "cannot stay on CPU 4096, because this machine does not have it or does not allow it",
    );
    // Taken already.
    let server = Server::start(&lab, "packet serve --transport tcp --bind 127.0.0.1:0");
    let said = fails(
        &lab,
        &format!("packet serve --transport tcp --bind {}", server.address),
    );
    let start = format!("jitterlab: cannot listen on {}: ", server.address);
    assert!(said.starts_with(&start), "{said}");
}

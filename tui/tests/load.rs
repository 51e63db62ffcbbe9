//! `jitterlab load`, from outside.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;

use common::{Lab, text};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;

const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Messages of 1,400 bytes, each of which takes 280 us of the bandwidth.
const RUN: &str = "load run --bandwidth 5000000 --duration 200ms --level 50";

fn start_sink(lab: &Lab, options: &str) -> (Child, SocketAddr) {
    let mut child = lab
        .mortal(&format!("load serve --bind 127.0.0.1:0 {options}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.as_mut().unwrap());
    stdout.read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    (child, ready["listening"].as_str().unwrap().parse().unwrap())
}

fn number(value: &Value, name: &str) -> u64 {
    value[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: {value}"))
}

#[test]
fn the_load_that_was_produced_is_reported() {
    let lab = Lab::new();
    for transport in ["udp", "tcp"] {
        let run = format!("{RUN} --transport {transport} --seed 7 --cpu 0 --format json");
        let produced = lab.json(&run);
        assert_eq!(produced["transport"], *transport);
        assert_eq!(produced["level"], 50.0);
        assert_eq!(produced["bandwidth"], 5e6);
        assert_eq!(produced["bandwidth_measured"], false);
        let [sent, received, lost] = ["sent_messages", "received_messages", "lost_messages"]
            .map(|name| number(&produced, name));
        assert!(sent > 0 && sent == received + lost, "{produced}");
        assert_eq!(
            number(&produced, "sent_bytes"),
            sent * number(&produced, "message")
        );
        let tenths = produced["sent_bytes_each_100ms"].as_array().unwrap();
        let sum: u64 = tenths.iter().map(|bytes| bytes.as_u64().unwrap()).sum();
        assert_eq!(sum, number(&produced, "sent_bytes"));
        let seconds = produced["seconds"].as_f64().unwrap();
        let share = number(&produced, "received_bytes") as f64 / seconds / 5e6;
        let level = produced["produced_level"].as_f64().unwrap();
        assert!((level - 100.0 * share).abs() < 1e-9, "{produced}");
    }
}

#[test]
fn people_are_told_what_was_asked_and_what_was_produced() {
    let lab = Lab::new();
    let said = lab.done("load run --transport udp --level 0 --duration 1ms --bandwidth 1MiB");
    let seconds = said
        .split_once("sent in ")
        .and_then(|(_, rest)| rest.split_once(','))
        .unwrap()
        .0;
    assert_eq!(
        said,
        format!(
            "load over udp, 1400 B messages: 0 % asked, 0 % produced of 1.049 MB/s (given)\n\
             0 messages sent in {seconds}, 0 arrived, 0 lost, 0 refused; longest gap 0 ns\n"
        )
    );
}

#[test]
fn a_sink_counts_until_it_is_ended() {
    let lab = Lab::new();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let (mut sink, to) = start_sink(&lab, "");
        for transport in ["udp", "tcp"] {
            lab.done(&format!("{RUN} --transport {transport} --to {to}"));
        }
        kill(Pid::from_raw(sink.id() as i32), signal).unwrap();
        sink.wait().unwrap();
    }
    let (mut sink, _) = start_sink(&lab, "--until-stdin-closes");
    drop(sink.stdin.take());
    assert_eq!(sink.wait().unwrap().code(), Some(0));
}

/// A sink of this test: it opens a place for datagrams, waits for `datagrams` of them, calls `then`,
/// and says that as many have arrived.
fn own_sink(datagrams: u64, then: impl FnOnce() + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(LOCAL).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let place = UdpSocket::bind(LOCAL).unwrap();
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let port = place.local_addr().unwrap().port();
        writeln!(stream.get_mut(), "{{\"port\":{port}}}").unwrap();
        for _ in 0..datagrams {
            place.recv(&mut [0; 2_000]).unwrap();
        }
        then();
        loop {
            stream.read_line(&mut line).unwrap();
            let counts = format!(
                "{{\"messages\":{datagrams},\"bytes\":{}}}",
                datagrams * 1_400
            );
            if writeln!(stream.get_mut(), "{counts}").is_err() {
                return;
            }
        }
    });
    address
}

#[test]
fn a_load_that_is_interrupted_tells_what_it_was() {
    let lab = Lab::new();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (tell, process) = std::sync::mpsc::channel::<u32>();
        let to = own_sink(10, move || {
            kill(Pid::from_raw(process.recv().unwrap() as i32), signal).unwrap();
        });
        let run = "load run --transport udp --level 50 --duration 1000s --bandwidth 1MiB";
        let child = lab
            .command(&format!("{run} --format json --to {to}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        tell.send(child.id()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
        let produced: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(number(&produced, "received_messages"), 10);
        let sent = number(&produced, "sent_messages");
        assert!(sent >= 10, "{produced}");
        assert_eq!(number(&produced, "lost_messages"), sent - 10);
    }
}

/// Starts a load that says when it begins, and waits for that.
fn sending(command: &mut Command) -> (Child, BufReader<ChildStderr>) {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut said).unwrap();
    assert_eq!(said, "sending\n");
    (child, stderr)
}

/// A terminal sends Ctrl-C to the whole group of processes, and with it to the sink that was started.
#[test]
fn ctrl_c_does_not_end_the_sink_before_it_has_counted() {
    let lab = Lab::new();
    let run = "load run --transport udp --level 50 --duration 1000s --bandwidth 1MiB --announce";
    let mut command = lab.mortal(&format!("{run} --format json"));
    let (child, mut stderr) = sending(command.process_group(0));
    killpg(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let produced: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(produced["transport"], "udp");
}

#[test]
fn a_load_says_when_it_begins_and_is_stopped_between_two_messages() {
    let lab = Lab::new();
    // From one message to the next it is minutes.
    let run = "load run --transport udp --level 1 --duration 1000s --bandwidth 10 --announce";
    let (child, _stderr) = sending(&mut lab.command(&format!("{run} --format json")));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let produced: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(produced["seconds"].as_f64().unwrap() < 1000.0);
}

/// Fails with exit status 3, nothing on stdout, and one line of message.
fn fails(lab: &Lab, arguments: &str) -> String {
    let output = lab.run(arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{arguments}: {stderr}");
    assert_eq!(text(&output.stdout), "", "{arguments}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

#[test]
fn nobody_there_is_said_with_what_to_start() {
    let lab = Lab::new();
    let free = TcpListener::bind(LOCAL).unwrap().local_addr().unwrap();
    let said = fails(&lab, &format!("{RUN} --transport udp --to {free}"));
    let start = format!(
        "jitterlab: no sink answers at {free}; start `jitterlab load serve --bind {free}` there: "
    );
    assert!(said.starts_with(&start), "{said}");
}

/// What others that listen say to whom connects, at once or when they have heard a line, and whether they then hang up.
#[test]
fn whoever_else_listens_is_said_to_be_no_sink() {
    let lab = Lab::new();
    for (words, heard_first, hangs_up, said) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n<h1>no</h1>"[..],
            true,
            true,
            "it says `HTTP/1.1 400 Bad Request`",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n",
            false,
            false,
            "it says `SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3`",
        ),
        (
            b"\x00\x01\xff\x1b[2J\n",
            false,
            false,
            "it says `\u{fffd}\u{fffd}\u{fffd}\u{fffd}[2J`",
        ),
        (
            b"{\"port\":\"x\"}\n",
            true,
            false,
            "it says `{\"port\":\"x\"}`",
        ),
        (b"{\"po", true, true, "it says `{\"po`"),
        (b"\n", true, false, "it says ``"),
        (b"", false, false, "it says nothing"),
    ] {
        let listener = TcpListener::bind(LOCAL).unwrap();
        let to = listener.local_addr().unwrap();
        let other = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = [0; 4096];
            if heard_first {
                let _ = stream.read(&mut line);
            }
            stream.write_all(words).unwrap();
            // Until the other end has gone.
            while !hangs_up && stream.read(&mut line).is_ok_and(|read| read > 0) {}
        });
        let start = format!(
            "jitterlab: the program at {to} is not `jitterlab load serve` of this version: {said}\n"
        );
        assert_eq!(
            fails(&lab, &format!("{RUN} --transport tcp --to {to}")),
            start
        );
        other.join().unwrap();
    }
}

#[test]
fn a_sink_that_is_killed_ends_the_load() {
    let lab = Lab::new();
    for transport in ["udp", "tcp"] {
        let (mut sink, to) = start_sink(&lab, "");
        let run = "load run --duration 1000s --bandwidth 5000000 --level 50";
        let mut load = lab
            .command(&format!("{run} --transport {transport} --to {to}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The sink has a thread for the sender, and one for what it sends.
        let threads = format!("/proc/{}/task", sink.id());
        while std::fs::read_dir(&threads).unwrap().count() < 3 {
            thread::sleep(std::time::Duration::from_millis(1));
        }
        sink.kill().unwrap();
        sink.wait().unwrap();
        assert_eq!(load.wait().unwrap().code(), Some(3));
        let mut said = String::new();
        load.stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        let start = format!("jitterlab: the sink at {to} stopped answering: ");
        assert!(
            said.starts_with(&start) && said.lines().count() == 1,
            "{said}"
        );
    }
}

/// Options after `load run --transport udp`, and what is said.
const WRONG: [(&str, &str); 14] = [
    (
        "",
        "error: the following required arguments were not provided:",
    ),
    (
        "--level 101",
        "error: invalid value '101' for '--level <LEVEL>': `101` is not a percentage from 0 to \
         100, as in `60` or `60%`",
    ),
    (
        "--level=-1",
        "error: invalid value '-1' for '--level <LEVEL>': `-1` is not a percentage from 0 to 100, \
         as in `60` or `60%`",
    ),
    (
        "--level nan",
        "error: invalid value 'nan' for '--level <LEVEL>': `nan` is not a percentage from 0 to \
         100, as in `60` or `60%`",
    ),
    (
        "--level 10 --message 0",
        "--message has to be 8 to 65507 bytes over udp",
    ),
    (
        "--level 10 --message 64KiB",
        "--message has to be 8 to 65507 bytes over udp",
    ),
    ("--level 10 --bandwidth 0", "--bandwidth has to be above 0"),
    (
        "--level 10 --bandwidth 10Gbps",
        "error: invalid value '10Gbps' for '--bandwidth <BANDWIDTH>': `10Gbps` is not a bandwidth; write a number and one of kbit, \
         Mbit, Gbit, or of kB/s, MB/s, GB/s, KiB, MiB, GiB, as in `10Gbit`",
    ),
    (
        "--level 10 --duration 0s",
        "error: invalid value '0s' for '--duration <DURATION>': the time has to be at least 1us",
    ),
    (
        "--level 10 --duration 90000s",
        "error: invalid value '90000s' for '--duration <DURATION>': the time has to be at most one day",
    ),
    (
        "--level 10 --seed -1",
        "error: unexpected argument '-1' found",
    ),
    (
        "--level 10 --to nowhere.invalid",
        "nowhere.invalid is not a host or HOST:PORT that can be resolved",
    ),
    (
        "--level 10 --server-cpu 1000",
        "the server for this measurement did not come up: cannot stay on CPU 1000, because this machine does not have it or does not allow it",
    ),
    (
        "--level 10 --server-cpu 0 --to 127.0.0.1:1",
        "--server-cpu is only for a server that this command starts; start the server that --to \
         names with --cpu",
    ),
];

#[test]
fn wrong_options_are_refused() {
    let lab = Lab::new();
    for (options, message) in WRONG {
        lab.refuses(&format!("load run --transport udp {options}"), message);
    }
    lab.refuses(
        "load run --transport shm --level 1",
        "error: invalid value 'shm' for '--transport <TRANSPORT>': `shm` is not a transport of load; write udp, tcp, verbs or mpi",
    );
    lab.refuses(
        "load run --transport udp --level 1 --device rxe0",
        "--device is for --transport verbs, not for udp",
    );
    lab.refuses(
        "load run --transport verbs --level 1 --message 4",
        "--message has to be 8 to 1048576 bytes over verbs",
    );
    lab.refuses(
        "load serve --bind 127.0.0.1",
        "error: invalid value '127.0.0.1' for '--bind <BIND>': `127.0.0.1` is not an IP address with a port, as in `127.0.0.1:7411`",
    );
}

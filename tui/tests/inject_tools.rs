//! What other tools measure under `jitterlab inject run`: sockperf and qperf report the delay.

mod common;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::{Lab, text};
use jitterlab_skip::built;

/// A folder with a table of 50 us and a seed.
fn lab() -> Lab {
    built();
    let lab = Lab::new();
    lab.done("dist make --shape constant --mean 50us -o 50us.dist");
    lab.write("s.seed", "7\n");
    lab
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Runs what follows on one processor, ahead of what else is there where that is allowed. On one,
/// because two that wake each other up, out of a sleep that is deeper the longer the delay, take
/// another 10 us or 60, as it happens. Ahead, because another program there takes its share out of
/// one that spins and not out of one that sleeps, and a mean, all that qperf tells, has it in it.
fn one_processor() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.split("Cpus_allowed_list:").nth(1).unwrap();
    let first: String = allowed
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let ahead = ["chrt", "--fifo", "1"];
    let is_allowed = Command::new(ahead[0])
        .args(&ahead[1..])
        .arg("true")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let ahead = if is_allowed {
        ahead.join(" ")
    } else {
        String::new()
    };
    format!("taskset -c {first} {ahead}")
}

/// A server, once it has its port; ended with the test.
struct Server(Child);

impl Server {
    fn start(line: &str, port: u16, table: &str) -> Self {
        let line = format!("{} {line}", one_processor());
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut server = Command::new(words[0])
            .args(&words[1..])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {line}: {error}"));
        let entry = format!(":{port:04X} ");
        let has_port = || {
            [table.to_string(), format!("{table}6")]
                .iter()
                .any(|table| {
                    let sockets = std::fs::read_to_string(format!("/proc/net/{table}"));
                    sockets.unwrap_or_default().contains(&entry)
                })
        };
        while !has_port() {
            assert!(server.try_wait().unwrap().is_none(), "{line} did not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        Server(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The number after `label` in what a program printed.
fn number_after(output: &str, label: &str) -> f64 {
    let after = output
        .split(label)
        .nth(1)
        .unwrap_or_else(|| panic!("no {label:?} in {output}"));
    let number = after.trim_start_matches([' ', '=', '\t']);
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.');
    number[..end.unwrap_or(number.len())].parse().unwrap()
}

/// What a program measures under 50 us of delay on one side, less what it measures without, has to
/// be 50 us more, but for what a shared machine adds: of interleaved runs the least of each kind,
/// because other programs only ever make a run slower, until the two have settled.
fn expect_50_us_more(lab: &Lab, mode: &str, program: &str, rtt_us: impl Fn(&str) -> f64) {
    // One such measurement at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let program = format!("{} {program}", one_processor());
    let words: Vec<&str> = program.split_whitespace().collect();
    let (mut least_alone, mut least_injected) = (f64::INFINITY, f64::INFINITY);
    for pairs in 1..=20 {
        let alone = Command::new(words[0]).args(&words[1..]).output().unwrap();
        let injected = lab.run(&format!(
            "inject run --table 50us.dist --seed s.seed --hook socket --mode {mode} -- {program}"
        ));
        assert!(injected.status.success(), "{}", text(&injected.stderr));
        least_alone = least_alone.min(rtt_us(&text(&alone.stdout)));
        least_injected = least_injected.min(rtt_us(&text(&injected.stdout)));
        if pairs >= 2 && (45.0..80.0).contains(&(least_injected - least_alone)) {
            return;
        }
    }
    panic!("{mode}: {least_injected} us, and {least_alone} us without");
}

#[test]
fn sockperf_reports_what_was_injected() {
    let lab = lab();
    let port = free_port();
    let address = format!("-i 127.0.0.1 -p {port}");
    let _server = Server::start(&format!("sockperf server {address}"), port, "udp");
    let client = format!("sockperf ping-pong {address} -t 1 --full-rtt");
    for mode in ["spin", "defer"] {
        expect_50_us_more(&lab, mode, &client, |output| {
            number_after(output, "percentile 50.000 =")
        });
    }
}

#[test]
fn qperf_reports_what_was_injected() {
    let lab = lab();
    let port = free_port();
    let _server = Server::start(&format!("qperf -lp {port}"), port, "tcp");
    let client = format!("qperf -lp {port} -t 1 -un 127.0.0.1 tcp_lat");
    for mode in ["spin", "defer"] {
        // It reports half a round trip, and the mean.
        expect_50_us_more(&lab, mode, &client, |output| 2.0 * qperf_us(output));
    }
}

/// The latency that `qperf` reports, in microseconds.
fn qperf_us(output: &str) -> f64 {
    let value = number_after(output, "latency");
    let scale = [(" ns", 1e-3), (" us", 1.0), (" ms", 1e3)];
    let unit = scale.iter().find(|(unit, _)| output.contains(unit));
    value * unit.unwrap_or_else(|| panic!("{output}")).1
}

//! Our ping-pong against sockperf's, on the loopback of this machine: the same size, the same way
//! to wait at both ends, the same two CPUs, in interleaved pairs. A pair during which the CPUs came to be nearer to
//! each other, or farther apart, is left out: its two rounds did not have the same path. Of a pair's 99.9 % points the
//! ratio scatters by a tenth and more, which is why there are so many. Takes three quarters of an hour.
//!
//!     cargo bench -p jitterlab-packet --bench sockperf [-- udp|tcp] [-- block|poll]

mod distance;
mod peers;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::cases::rtt::{Length, Report, Rtt};
use jitterlab_packet::transport::{Link, Transport, Wait};
use jitterlab_stats::bootstrap::{Bootstrap, Interval};

use distance::{distance, is_same};
use peers::{CLIENT_CPU, SERVER_CPU, end, on_cpu, ourselves, quantile_of, serve};

const PAIRS: usize = 120;
/// Pairs that may be left out for each that is kept.
const LEFT_OUT: usize = 10;
const SIZE: Bytes = Bytes(64);
/// Sockperf discards the first 400 and the last 50 ms of the time that it is given.
/// It takes no less than a second, and the shorter a pair, the sooner both its rounds have the same path.
const SECONDS: u64 = 1;
const WARMUP: Nanos = Nanos(400_000_000);
const MEASURED: Nanos = Nanos(SECONDS * 1_000_000_000 - 450_000_000);
const PORT: &str = "17411";

/// Round trips of one run, in microseconds.
#[derive(Debug)]
struct Round {
    n: u64,
    median: f64,
    p999: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", transport] => serve(transport.parse().unwrap()),
        ["ask", transport, wait, to] => ask(
            transport.parse().unwrap(),
            wait.parse().unwrap(),
            to.parse().unwrap(),
        ),
        _ => compare(&words),
    }
}

fn compare(only: &[&str]) {
    let wanted = |kind: &[&str], name| only.iter().all(|o| !kind.contains(o) || *o == name);
    println!(
        "RTT of {SIZE} messages in us on loopback, client on CPU {CLIENT_CPU}, server on CPU \
         {SERVER_CPU}: medians over {PAIRS} interleaved pairs of {SECONDS} s, as far from each other\n\
         throughout each pair (others are left out);\n\
         ratio: ours / sockperf's, median of the pairs [95 % interval, by bootstrap]\n"
    );
    println!(
        "{:14} {:>9} {:>9} {:>22}   {:>9} {:>9} {:>22}   {:>9} {:>9}   CPUs apart, ns",
        "", "median", "sockperf", "ratio", "99.9 %", "sockperf", "ratio", "n a pair", "sockperf"
    );
    for transport in Transport::SOCKETS {
        for wait in [Wait::Block, Wait::Poll] {
            if wanted(&["udp", "tcp"], transport.name()) && wanted(&["block", "poll"], wait.name())
            {
                compare_one(transport, wait);
            }
        }
    }
}

fn compare_one(transport: Transport, wait: Wait) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut tried, mut far) = (0, Vec::new());
    while ours.len() < PAIRS {
        assert!(
            tried < PAIRS * (1 + LEFT_OUT),
            "the CPUs are never as far from each other for as long as a pair takes"
        );
        let (our, their, distances) = pair(transport, wait, tried % 2 == 0);
        let is_kept = is_same(&distances);
        eprintln!(
            "{transport} {} pair {tried}: {our:?}, sockperf {their:?}, CPUs {distances:.0?} ns apart{}",
            wait.name(),
            if is_kept { "" } else { ": left out" }
        );
        tried += 1;
        if is_kept {
            ours.push(our);
            theirs.push(their);
            far.push(distances[1]);
        }
    }
    let column = |pick: fn(&Round) -> f64| {
        let median = |rounds: &[Round]| middle(rounds.iter().map(pick).collect());
        let ratios: Vec<f64> = std::iter::zip(&ours, &theirs)
            .map(|(our, their)| pick(our) / pick(their))
            .collect();
        let ratio = Bootstrap::default()
            .percentile(&ratios, |ratios| quantile_of(ratios, 0.5))
            .unwrap();
        let Interval {
            estimate,
            low,
            high,
        } = ratio;
        let ratio = format!("{estimate:.3} [{low:.3}, {high:.3}]");
        format!("{:9.3} {:9.3} {ratio:>22}", median(&ours), median(&theirs))
    };
    println!(
        "{:14} {}   {}   {:9.0} {:9.0}   {:4.0} ({:.0} to {:.0}), {} left out",
        format!("{transport}, {}", wait.name()),
        column(|round| round.median),
        column(|round| round.p999),
        middle(ours.iter().map(|round| round.n as f64).collect()),
        middle(theirs.iter().map(|round| round.n as f64).collect()),
        quantile_of(&far, 0.5),
        quantile_of(&far, 0.0),
        quantile_of(&far, 1.0),
        tried - PAIRS,
    );
}

/// A round of each, and how far apart the CPUs were before, between and after them. Who goes first alternates, so
/// that a drift of the machine favours nobody.
fn pair(transport: Transport, wait: Wait, is_ours_first: bool) -> (Round, Round, [f64; 3]) {
    let before = distance();
    if is_ours_first {
        let our = our_round(transport, wait);
        let between = distance();
        let their = their_round(transport, wait);
        (our, their, [before, between, distance()])
    } else {
        let their = their_round(transport, wait);
        let between = distance();
        let our = our_round(transport, wait);
        (our, their, [before, between, distance()])
    }
}

fn middle(values: Vec<f64>) -> f64 {
    quantile_of(&values, 0.5)
}

fn our_round(transport: Transport, wait: Wait) -> Round {
    let mut command = ourselves(SERVER_CPU, &["serve", transport.name()]);
    let (server, listening) = start(&mut command, "127");
    let asked = ourselves(CLIENT_CPU, &["ask", transport.name(), wait.name()])
        .arg(listening)
        .output()
        .unwrap();
    end(server);
    let said = String::from_utf8(asked.stdout).unwrap();
    let numbers: Vec<f64> = said
        .split_whitespace()
        .map(|w| w.parse().unwrap())
        .collect();
    let [n, median, p999] = numbers[..] else {
        panic!("our client failed");
    };
    Round {
        n: n as u64,
        median,
        p999,
    }
}

fn ask(transport: Transport, wait: Wait, to: SocketAddr) {
    let case = Rtt {
        link: Link::of(transport),
        size: SIZE,
        wait,
        warmup: Length::Time(WARMUP),
        length: Length::Time(MEASURED),
        timeout: Nanos(100_000_000),
    };
    let outcome = case.run(to).unwrap();
    let rtt = Report::of(&case, &outcome).unwrap().point.rtt_ns;
    println!("{} {} {}", rtt.n, rtt.median / 1e3, rtt.p999 / 1e3);
}

fn their_round(transport: Transport, wait: Wait) -> Round {
    let arguments = |role, command: &mut Command| {
        command.args([role, "-i", "127.0.0.1", "-p", PORT]);
        if transport == Transport::Tcp {
            command.arg("--tcp");
        }
        if wait == Wait::Poll {
            command.arg("--nonblocked");
        }
    };
    // Line by line, or it would not be heard that it is ready.
    let mut command = on_cpu(SERVER_CPU, "stdbuf");
    command.args(["-oL", "sockperf"]);
    arguments("server", &mut command);
    let (server, _) = start(&mut command, "[tid");
    let mut command = on_cpu(CLIENT_CPU, "sockperf");
    arguments("ping-pong", &mut command);
    command.args(["--full-rtt", "-t", &SECONDS.to_string(), "-m"]);
    let said = command.arg(SIZE.0.to_string()).output().unwrap().stdout;
    end(server);
    let said = String::from_utf8(said).unwrap();
    let after = |words: &str| -> f64 {
        // The last of them: the first count is of the whole run, the warm-up with it.
        let (_, rest) = said
            .rsplit_once(words)
            .unwrap_or_else(|| panic!("no {words}: {said}"));
        let end = rest.find(|c: char| c != ' ' && c != '=' && c != '.' && !c.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())]
            .trim_matches([' ', '='])
            .parse()
            .unwrap()
    };
    Round {
        n: after("ReceivedMessages=") as u64,
        median: after("percentile 50.000"),
        p999: after("percentile 99.900"),
    }
}

/// Starts a server and waits for the line on which it says that it is ready.
fn start(command: &mut Command, ready: &str) -> (Child, String) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains(ready))
        .expect("the server did not come up");
    // The rest of its output is read, so that it is never held up by it.
    std::thread::spawn(move || lines.for_each(drop));
    (child, line)
}

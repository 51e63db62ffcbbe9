//! The part of bursts in latency that a replay keeps: `cargo bench --workspace --bench planted [-- REPETITIONS [SECONDS]]`.
//!
//! A ping-pong goes over a network that holds each message for up to 60 us, another time each; in bursts (50 ms of each 200 ms)
//! it holds each for 80 us longer. The round trips are recorded, and then replayed over it without bursts: by time and by message, and
//! drawn from a table of the same delays. The autocorrelation of the ranks of round trips is printed for each, and how far it is from that
//! under the bursts.

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{iter, thread};

use common::Lab;
use core_affinity::CoreId;
use jitterlab_skip::built;
use jitterlab_stats::autocorrelation::{LAGS, of_ranks};
use jitterlab_stats::sorted;
use jitterlab_stats::summary::{mean, quantile};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

/// The CPU that all of it runs on. Two CPUs would show how long a CPU takes to wake.
const CPU: usize = 1;
const PERIOD: Duration = Duration::from_millis(200);
const BURST: Duration = Duration::from_millis(50);
/// The time that a message is held longer in a burst.
const LONGER: Duration = Duration::from_micros(80);
/// A message is held for less than this without a burst: by more than this machine drifts, since what it does by itself is in no recording.
const HELD: Duration = Duration::from_micros(60);
const KINDS: [&str; 5] = [
    "no bursts",
    "bursts",
    "replayed by time",
    "replayed by message",
    "drawn from a table",
];

static HAS_BURSTS: AtomicBool = AtomicBool::new(false);

fn main() {
    // `cargo bench` adds an option of its own.
    let words: Vec<u32> = std::env::args()
        .filter_map(|word| word.parse().ok())
        .collect();
    let repetitions = words.first().copied().unwrap_or(10);
    let seconds = words.get(1).copied().unwrap_or(4);
    built();
    let lab = Lab::new();
    let (_server, behind) = server(&lab);
    let address = network(&behind, &HAS_BURSTS);
    let ping_pong = |inject: &str, samples: &str| -> Vec<f64> {
        let run = format!(
            "packet run --case rtt --transport udp --to {address} --cpu {CPU} --duration {seconds}s --warmup 50ms --samples {samples}"
        );
        match inject {
            "" => lab.done(&run),
            _ => lab.done(&format!(
                "inject run {inject} -- {} {run}",
                env!("CARGO_BIN_EXE_jitterlab")
            )),
        };
        let text = lab.read(samples);
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let mut all: [Vec<[f64; 3]>; 5] = Default::default();
    for repetition in 1..=repetitions {
        let without = ping_pong("", "none.csv");
        HAS_BURSTS.store(true, Ordering::Relaxed);
        let bursts = ping_pong("", "bursts.csv");
        HAS_BURSTS.store(false, Ordering::Relaxed);
        lab.done("dist record bursts.csv --baseline none.csv -o bursts.recording");
        let median = quantile(&sorted(&without).unwrap(), 0.5);
        let excess = bursts
            .iter()
            .map(|rtt| format!("{}\n", (rtt - median).max(0.0)));
        lab.write("excess.csv", excess.collect::<String>());
        lab.done("dist make --samples excess.csv -o bursts.dist");
        lab.write("seed", format!("{repetition}"));
        let by_time = ping_pong("--replay bursts.recording --seed seed", "time.csv");
        let by_message = ping_pong(
            "--replay bursts.recording --by-message --seed seed",
            "message.csv",
        );
        let drawn = ping_pong("--table bursts.dist --seed seed", "drawn.csv");
        for (kind, samples) in [without, bursts, by_time, by_message, drawn]
            .iter()
            .enumerate()
        {
            let ranks = of_ranks(samples, &LAGS).unwrap();
            println!(
                "{repetition} {}: {} samples, mean {:.1} us, {ranks:.2?}",
                KINDS[kind],
                samples.len(),
                mean(samples).unwrap() / 1e3
            );
            all[kind].push([ranks[0], ranks[1], ranks[2]]);
        }
    }
    for (kind, name) in KINDS.iter().enumerate() {
        let apart =
            || iter::zip(&all[kind], &all[1]).map(|(a, b)| [0, 1, 2].map(|lag| a[lag] - b[lag]));
        let mean =
            [0, 1, 2].map(|lag| apart().map(|it| it[lag]).sum::<f64>() / f64::from(repetitions));
        let near = apart()
            .filter(|it| it.iter().all(|x| x.abs() <= 0.1))
            .count();
        println!(
            "{name}: mean difference from the bursts at lags {LAGS:?} {mean:.2?}; within 0.1 at all of them: {near} of {repetitions}"
        );
    }
}

/// A server of the ping-pong, which ends with the pipe of its stdin, and its address.
fn server(lab: &Lab) -> (Child, String) {
    let mut server = lab
        .command(&format!(
            "packet serve --transport udp --bind 127.0.0.1:0 --cpu {CPU} --until-stdin-closes"
        ))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    (server, said["listening"].as_str().unwrap().into())
}

/// A network to the server, which has bursts while it is told so, and its address.
fn network(server: &str, has_bursts: &'static AtomicBool) -> SocketAddr {
    let near = UdpSocket::bind("127.0.0.1:0").unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    far.connect(server).unwrap();
    let address = near.local_addr().unwrap();
    let (near, far, last) = (Arc::new(near), Arc::new(far), Arc::new(Mutex::new(address)));
    thread::spawn({
        let (near, far, last) = (near.clone(), far.clone(), last.clone());
        move || {
            assert!(core_affinity::set_for_current(CoreId { id: CPU }));
            let mut answer = [0; 2048];
            loop {
                let length = far.recv(&mut answer).unwrap();
                let client = *last.lock().unwrap();
                near.send_to(&answer[..length], client).unwrap();
            }
        }
    });
    thread::spawn(move || {
        assert!(core_affinity::set_for_current(CoreId { id: CPU }));
        let (begin, mut message) = (Instant::now(), [0; 2048]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        loop {
            let (length, client) = near.recv_from(&mut message).unwrap();
            let start = Instant::now();
            let in_period = start.duration_since(begin).as_nanos() % PERIOD.as_nanos();
            let is_longer = has_bursts.load(Ordering::Relaxed) && in_period < BURST.as_nanos();
            let held = HELD.mul_f64(random.random()) + LONGER * u32::from(is_longer);
            while start.elapsed() < held {}
            *last.lock().unwrap() = client;
            far.send(&message[..length]).unwrap();
        }
    });
    address
}

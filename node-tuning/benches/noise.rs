//! The probe against oslat of rt-tests, in interleaved rounds on one CPU, and against a disturbance that
//! writes down its own truth.
//!
//!     cargo bench -p jitterlab-node-tuning --bench noise [-- oslat|disturbance] [CPU]
//!
//! oslat runs at ordinary priority, as the probe does.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jitterlab_injector::clock::Clock;
use jitterlab_injector::units::Nanos;
use jitterlab_node_tuning::cpus::{Cpu, CpuSet};
use jitterlab_node_tuning::noise::affinity::{available, pin};
use jitterlab_node_tuning::noise::probe::{Probe, Spun, iteration_ns};
use jitterlab_stats::sorted;
use jitterlab_stats::summary::quantile;
use serde_json::Value;

const ROUNDS: usize = 4;
const SECONDS: u64 = 2;
/// oslat has buckets of a microsecond. What is at least this long, both count alike.
const LEAST_US: u64 = 2;
/// The first and last of oslat's buckets that are asked for.
const BUCKETS: u64 = 1_024;

/// One round of either.
struct Round {
    iteration_ns: f64,
    gaps_per_s: f64,
    longest_us: f64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let named = |part: &str| words.iter().any(|word| word == part);
    let given = words.iter().find_map(|word| word.parse().ok());
    let cpu = given.or_else(|| available(Path::new("/")).ok()?.last());
    let cpu: Cpu = cpu.expect("no CPU to measure");
    println!(
        "CPU {cpu}; the loop takes {:.1} ns an iteration",
        iteration_ns()
    );
    if !named("disturbance") {
        beside_oslat(cpu);
    }
    if !named("oslat") {
        disturbed(cpu);
    }
}

fn probe(cpu: Cpu, threshold_ns: u64) -> Probe {
    Probe {
        cpus: CpuSet::from_iter([cpu]),
        duration: Nanos(SECONDS * 1_000_000_000),
        threshold: Nanos(threshold_ns),
        intervals: 20,
        kept: 100_000,
    }
}

fn beside_oslat(cpu: Cpu) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Who goes first alternates, so that a drift of the machine favours nobody.
        for first in [true, false] {
            if first == (round % 2 == 0) {
                ours.push(our_round(cpu));
            } else {
                theirs.extend(oslat_round(cpu));
            }
        }
    }
    println!("\n{ROUNDS} rounds of {SECONDS} s each, medians [least, greatest]");
    println!("{:26} {:>34} {:>34}", "", "jitterlab", "oslat");
    let row = |name: &str, pick: fn(&Round) -> f64| {
        println!(
            "{name:26} {:>34} {:>34}",
            spread(&ours, pick),
            spread(&theirs, pick)
        );
    };
    row("iteration, ns", |round| round.iteration_ns);
    row("gaps of 2 us and more, /s", |round| round.gaps_per_s);
    row("longest, us", |round| round.longest_us);
}

fn spread(rounds: &[Round], pick: fn(&Round) -> f64) -> String {
    if rounds.is_empty() {
        return "could not run".into();
    }
    let values: Vec<f64> = rounds.iter().map(pick).collect();
    let values = sorted(&values).expect("figures are finite");
    let [least, middle, greatest] = [0.0, 0.5, 1.0].map(|share| quantile(&values, share));
    format!("{middle:.1} [{least:.1}, {greatest:.1}]")
}

fn our_round(cpu: Cpu) -> Round {
    let spun = spin(&probe(cpu, 300));
    let clock = Clock::global();
    let seconds = clock.ticks_to_ns_f64(spun.end - spun.begin) / 1e9;
    let lengths = spun
        .record
        .gaps()
        .iter()
        .map(|gap| clock.ticks_to_ns(gap.length));
    let long = lengths.filter(|&ns| ns >= LEAST_US * 1_000).count();
    let undisturbed = clock.ticks_to_ns_f64(spun.end - spun.begin - spun.record.lost());
    Round {
        iteration_ns: undisturbed / (spun.iterations - spun.record.count()) as f64,
        gaps_per_s: long as f64 / seconds,
        longest_us: clock.ticks_to_ns_f64(spun.record.longest()) / 1e3,
    }
}

fn spin(probe: &Probe) -> Spun {
    let (_, mut spun) = probe.run(|| ()).expect("the probe runs");
    spun.remove(0)
}

/// oslat's buckets: the one called `n` counts iterations of n − 1 up to n microseconds. Its cost of an iteration
/// follows from their number.
fn oslat_round(cpu: Cpu) -> Option<Round> {
    let file = tempfile::NamedTempFile::new().ok()?;
    let done = Command::new("oslat")
        .args(["--cpu-list", &cpu.to_string()])
        .args(["--duration", &SECONDS.to_string()])
        .args(["--bucket-size", &BUCKETS.to_string()])
        .arg(format!("--json={}", file.path().display()))
        .arg("--quiet")
        .output()
        .inspect_err(|error| eprintln!("cannot run oslat, of Debian's rt-tests: {error}"))
        .ok()?;
    if !done.status.success() {
        eprintln!("oslat failed: {}", String::from_utf8_lossy(&done.stderr));
        return None;
    }
    let said: Value = serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()?;
    let thread = &said["thread"]["0"];
    let seconds = thread["duration"].as_f64()?;
    let buckets: Vec<(u64, f64)> = thread["histogram"]
        .as_object()?
        .iter()
        .filter_map(|(name, count)| Some((name.parse().ok()?, count.as_f64()?)))
        .collect();
    let sum = |from: u64, to: u64, worth: fn(f64, f64) -> f64| -> f64 {
        let within = buckets
            .iter()
            .filter(|(name, _)| (from..=to).contains(name));
        within.map(|&(name, count)| worth(name as f64, count)).sum()
    };
    // The last bucket has no middle: for the little that is in it, its least is taken.
    let lost_ns = sum(LEAST_US, BUCKETS, |name, count| (name - 0.5) * 1e3 * count);
    Some(Round {
        iteration_ns: (seconds * 1e9 - lost_ns) / sum(1, 1, |_, count| count),
        gaps_per_s: sum(LEAST_US + 1, BUCKETS, |_, count| count) / seconds,
        longest_us: thread["max"].as_f64()?,
    })
}

/// A turn of the timer thread: from when to when, on the probe's clock, it held the CPU.
struct Turn {
    begin: u64,
    end: u64,
}

const TURNS_A_SECOND: u64 = 100;
const TURN: Nanos = Nanos(20_000);

/// A timer thread on the probe's CPU: 100 times a second it holds it for 20 us. Between two such turns it has
/// one in which it only reads the clock twice. A gap also holds the way from the probe to the thread and back,
/// and the gap of an empty turn holds nothing else; so the difference of the two is what the turn took.
fn disturbed(cpu: Cpu) {
    let clock = Clock::global();
    let stop = AtomicBool::new(false);
    let (spun, turns) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| timer_thread(cpu, &stop));
        let spun = spin(&probe(cpu, 300));
        stop.store(true, Ordering::Relaxed);
        (
            spun,
            thread.join().expect("the timer thread does not panic"),
        )
    });
    let gaps = spun.record.gaps();
    let holding = |turn: &Turn| {
        let place = gaps
            .partition_point(|gap| gap.start <= turn.begin)
            .checked_sub(1)?;
        (turn.end <= gaps[place].start + gaps[place].length).then_some(place)
    };
    let us = |ticks: u64| clock.ticks_to_ns_f64(ticks) / 1e3;
    println!(
        "\ntimer thread, {TURNS_A_SECOND} turns of {TURN} a second, as many empty ones between them"
    );
    let mut lengths = Vec::new();
    for (name, parity) in [("empty", 0), ("20 us", 1)] {
        let turns = turns.iter().skip(parity).step_by(2);
        let during = |turn: &&Turn| turn.begin >= spun.begin && turn.end <= spun.end;
        let turns: Vec<&Turn> = turns.filter(during).collect();
        let mut found: Vec<usize> = turns.iter().copied().filter_map(holding).collect();
        found.dedup();
        let held = middle(turns.iter().map(|turn| us(turn.end - turn.begin)));
        let gap = middle(found.iter().map(|&place| us(gaps[place].length)));
        println!(
            "{name}: {} turns, found in {} gaps ({:+.1} %); medians: held the CPU {held:.2} us, gap {gap:.2} us",
            turns.len(),
            found.len(),
            (found.len() as f64 / turns.len() as f64 - 1.0) * 100.0,
        );
        lengths.push((held, gap));
    }
    let [(empty, empty_gap), (held, gap)] = lengths[..] else {
        return;
    };
    let (expected, seen) = (held - empty, gap - empty_gap);
    println!(
        "difference: held {expected:.2} us, found {seen:.2} us ({:+.1} %)",
        (seen / expected - 1.0) * 100.0
    );
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    sorted(&values).map_or(f64::NAN, |values| quantile(&values, 0.5))
}

/// Empty turns and others, alternately.
fn timer_thread(cpu: Cpu, stop: &AtomicBool) -> Vec<Turn> {
    pin(cpu).expect("the probe is there as well");
    let clock = Clock::global();
    let mut turns = Vec::with_capacity(10_000);
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        next += Duration::from_nanos(500_000_000 / TURNS_A_SECOND);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let hold = if turns.len() % 2 == 0 { 0 } else { TURN.0 };
        let begin = clock.now();
        let end = clock.wait_until(begin + clock.ns_to_ticks(hold));
        turns.push(Turn { begin, end });
    }
    turns
}

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

use jitterlab_base::clock::Clock;
use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::cpus::{Cpu, CpuSet};
use jitterlab_node_tuning::noise::affinity::{available, pin};
use jitterlab_node_tuning::noise::probe::{Probe, Spun, iteration_ns};
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::hodges_lehmann::shift;
use jitterlab_stats::sorted;
use jitterlab_stats::summary::quantile;
use serde_json::Value;

const ROUNDS: usize = 5;
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
        disturbance(cpu);
    }
}

fn probe(cpu: Cpu, seconds: u64) -> Probe {
    Probe {
        cpus: CpuSet::from_iter([cpu]),
        duration: Nanos(seconds * 1_000_000_000),
        threshold: Nanos(300),
        intervals: 20,
        kept: 100_000,
    }
}

fn beside_oslat(cpu: Cpu) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // The one that goes first alternates, so that a drift of the machine favours nobody.
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
    let spun = spin(&probe(cpu, SECONDS));
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
    empty: bool,
    begin: u64,
    end: u64,
}

const TURNS_A_SECOND: u64 = 100;
const TURN: Nanos = Nanos(20_000);
/// The way to the thread and back takes 20 to 70 us in a virtual machine, with quartiles 10 to 20 us apart: a
/// thousand turns of each kind tell their difference to about 3 % of a turn, two hundred only to 7 %.
const DISTURBED_SECONDS: u64 = 10;

/// A timer thread on the probe's CPU: 100 times a second it holds it for 20 us, and as often it has an empty
/// turn, in which it only reads the clock twice. A gap also holds the timer's interrupt and the way to the
/// thread and back, and the gap of an empty turn holds nothing else; so the difference of the two is what the
/// turn itself took.
fn disturbance(cpu: Cpu) {
    println!(
        "\ntimer thread, {TURNS_A_SECOND} turns of {TURN} a second, and as many empty ones; rounds of \
         {DISTURBED_SECONDS} s, 95 % intervals"
    );
    let mut errors = Vec::new();
    for _ in 0..ROUNDS {
        let [empty, full] = disturbed(cpu);
        let held = full.held_us - empty.held_us;
        let found = shift(&full.gaps_us, &empty.gaps_us, 0.95).expect("gaps were found");
        let Interval {
            estimate,
            low,
            high,
        } = found.interval;
        let error = |us: f64| (us / held - 1.0) * 100.0;
        println!(
            "{} turns in {} gaps ({:+.1} %), {} empty ones in {}; {held:.2} us held, found as {estimate:.2} us: \
             {:+.1} % [{:+.1}, {:+.1}]; median gaps {:.2} and {:.2} us",
            full.turns,
            full.gaps_us.len(),
            (full.gaps_us.len() as f64 / full.turns as f64 - 1.0) * 100.0,
            empty.turns,
            empty.gaps_us.len(),
            error(estimate),
            error(low),
            error(high),
            middle(full.gaps_us.iter().copied()),
            middle(empty.gaps_us.iter().copied()),
        );
        errors.push(error(estimate));
    }
    println!("median of the rounds: {:+.1} %", middle(errors.into_iter()));
}

/// Turns of one kind, how long they held the CPU in the median, and the gaps in which they are.
struct Found {
    turns: usize,
    held_us: f64,
    gaps_us: Vec<f64>,
}

/// The empty turns of a round, and the others.
fn disturbed(cpu: Cpu) -> [Found; 2] {
    let clock = Clock::global();
    let stop = AtomicBool::new(false);
    let (spun, turns) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| timer_thread(cpu, &stop));
        let spun = spin(&probe(cpu, DISTURBED_SECONDS));
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
    [true, false].map(|empty| {
        let wanted =
            |turn: &&Turn| turn.empty == empty && turn.begin >= spun.begin && turn.end <= spun.end;
        let turns: Vec<&Turn> = turns.iter().filter(wanted).collect();
        let mut found: Vec<usize> = turns.iter().copied().filter_map(holding).collect();
        found.dedup();
        Found {
            turns: turns.len(),
            held_us: middle(turns.iter().map(|turn| us(turn.end - turn.begin))),
            gaps_us: found.iter().map(|&place| us(gaps[place].length)).collect(),
        }
    })
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    sorted(&values).map_or(f64::NAN, |values| quantile(&values, 0.5))
}

/// Pairs of an empty turn and another, in an order that follows nothing: what else has a period on the machine,
/// as its tick, has then the same part in both.
fn timer_thread(cpu: Cpu, stop: &AtomicBool) -> Vec<Turn> {
    pin(cpu).expect("the probe is there as well");
    let clock = Clock::global();
    let mut turns = Vec::with_capacity(10_000);
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        next += Duration::from_nanos(500_000_000 / TURNS_A_SECOND);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let empty = (turns.len() % 2 == 0) == empty_first(turns.len() as u64 / 2);
        let begin = clock.now();
        let end = match empty {
            true => clock.now(),
            false => clock.wait_until(begin + clock.ns_to_ticks(TURN.0)),
        };
        turns.push(Turn { empty, begin, end });
    }
    turns
}

/// A bit for each pair (Knuth's multiplicative hash, "The Art of Computer Programming", volume 3, 6.4).
fn empty_first(pair: u64) -> bool {
    pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0
}

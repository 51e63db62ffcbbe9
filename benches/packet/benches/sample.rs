//! The cost of taking and keeping a sample, above the two readings of the clock that it is made of
//! (goal: under 5 ns). The messages go nowhere: the connection answers from memory.
//!
//!     cargo bench -p jitterlab-packet --bench sample
//!
//! With `--once SAMPLES` that many are taken once, and with `--live` they are published on a page: the difference of two runs
//! under callgrind is what a sample takes in instructions.

use std::hint::black_box;
use std::io;

use jitterlab_base::clock::Clock;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::cases::rtt::{Length, Outcome, Rtt};
use jitterlab_packet::transport::{Connection, Link, Wait};
use jitterlab_stats::sorted;
use jitterlab_stats::summary::quantile;

const SAMPLES: u64 = 200_000;
const ROUNDS: usize = 50;

/// Gives back the number that was sent last.
struct Memory(u64);

impl Connection for Memory {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.0 = number;
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        Ok(Some(self.0))
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let is_live = arguments.iter().any(|argument| argument == "--live");
    let _followed = is_live.then(jitterlab_live::follow_own);
    if let Some(at) = arguments.iter().position(|argument| argument == "--once") {
        let samples = arguments[at + 1].parse().expect("a number of samples");
        black_box(run(&case(samples)));
        return;
    }
    compare(Clock::global(), &case(SAMPLES));
}

fn case(samples: u64) -> Rtt {
    Rtt {
        link: Link::Udp,
        size: Bytes(64),
        wait: Wait::Block,
        warmup: Length::Messages(0),
        length: Length::Messages(samples),
        timeout: Nanos(1_000_000),
    }
}

fn run(case: &Rtt) -> Outcome {
    let clock = Clock::global();
    case.run_on(Box::new(Memory(0)), || clock.now()).unwrap()
}

fn compare(clock: &Clock, case: &Rtt) {
    let (mut readings, mut cases) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        readings.push(per_sample(clock, || {
            for _ in 0..SAMPLES {
                black_box(clock.now());
                black_box(clock.now());
            }
        }));
        // Making the memory for samples, touching it, and turning ticks into nanoseconds in the end
        // are part of the price.
        cases.push(per_sample(clock, || {
            black_box(run(case));
        }));
    }
    let above: Vec<f64> = std::iter::zip(&cases, &readings)
        .map(|(case, reading)| case - reading)
        .collect();
    println!("{SAMPLES} samples, {ROUNDS} rounds; ns a sample: median [quartiles]");
    for (name, times) in [
        ("two readings", &readings),
        ("a sample", &cases),
        ("above", &above),
    ] {
        let times = sorted(times).unwrap();
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(&times, share));
        println!("{name:14} {middle:6.2} [{low:.2}, {high:.2}]");
    }
}

fn per_sample(clock: &Clock, work: impl FnOnce()) -> f64 {
    let start = clock.now();
    work();
    clock.ticks_to_ns_f64(clock.now() - start) / SAMPLES as f64
}

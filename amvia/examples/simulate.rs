//! Simulates eight endpoints over a bad network, 10^7 transactions with kills; with a file of round trips in ns, a line each
//! (`jitterlab packet run --case rtt --samples FILE.csv`), then also how many retransmissions are needless without loss.
//!
//! `cargo run -p jitterlab-amvia --release --example simulate -- [FILE.csv]`

#[path = "../tests/simulation/host.rs"]
mod host;
#[path = "../tests/simulation/world.rs"]
mod world;

use std::time::Instant;

use jitterlab_amvia::protocol::{Config, Nanos, Protocol};
use jitterlab_amvia::transaction::InitiatorState;
use world::{Latency, Plan, simulate};

fn main() -> Result<(), std::io::Error> {
    let plan = Plan {
        config: Config {
            window: 8,
            message: 64,
            ..Config::default()
        },
        seed: 1,
        endpoints: 8,
        transactions: 10_000_000,
        outstanding: 8,
        latency: Latency::Uniform(5_000, 50_000, 3_000_000),
        lost: 0.10,
        doubled: 0.05,
        kills_per_second: 10.0,
        away: 300_000_000,
        slow_one_in: 100,
        slow_time: 20_000_000,
    };
    if let Some(path) = std::env::args().nth(1) {
        needless(&plan, &std::fs::read_to_string(path)?);
    }
    let begin = Instant::now();
    let outcome = simulate(plan);
    println!(
        "10^7 transactions, {} events, {:.1} s",
        outcome.events,
        begin.elapsed().as_secs_f64()
    );
    println!(
        "history {:016x}, simulated time {:.1} s",
        outcome.history,
        outcome.time as f64 / 1e9
    );
    println!(
        "{} kills, {} handlers killed",
        outcome.kills, outcome.killed_handlers
    );
    println!(
        "{} handlers ran twice, {} states untrue",
        outcome.doubled_runs, outcome.untrue
    );
    for state in InitiatorState::ALL {
        println!("{:>10} {state}", outcome.told[usize::from(state.code())]);
    }
    Ok(())
}

/// Prints the share of needless retransmissions for floors of the timeout, where nothing is lost.
fn needless(plan: &Plan, samples: &str) {
    let round_trips: Vec<Nanos> = samples
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    println!(
        "{} round trips; needless retransmissions a request, without loss:",
        round_trips.len()
    );
    for protocol in [Protocol::Amvia, Protocol::TwoWay] {
        for floor in [0, 200_000, 1_000_000] {
            let config = Config {
                protocol,
                min_rto: floor,
                ..plan.config.clone()
            };
            let outcome = simulate(Plan {
                config,
                transactions: 1_000_000,
                latency: Latency::Recorded(round_trips.clone()),
                lost: 0.0,
                doubled: 0.0,
                kills_per_second: 0.0,
                slow_time: 0,
                ..plan.clone()
            });
            let share = 100.0 * outcome.needless as f64 / outcome.requests as f64;
            println!("{protocol:>8}, floor {:>4} us: {share:.4} %", floor / 1_000);
        }
    }
}

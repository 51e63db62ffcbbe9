//! Endpoints that make requests of each other over a bad network, and are killed: simulated, so that a seed is a history.

mod host;
mod world;

use jitterlab_amvia::protocol::{Config, Nanos, Protocol};
use jitterlab_amvia::transaction::InitiatorState;
use world::{Latency, Outcome, Plan, simulate};

fn bad_network(protocol: Protocol, seed: u64) -> Plan {
    Plan {
        config: Config {
            protocol,
            window: 8,
            message: 64,
            reply_wait: 30_000_000,
            ..Config::default()
        },
        seed,
        endpoints: 8,
        transactions: 100_000,
        outstanding: 8,
        latency: Latency::Uniform(5_000, 50_000, 3_000_000),
        lost: 0.10,
        doubled: 0.05,
        kills_per_second: 30.0,
        away: 300_000_000,
        slow_one_in: 100,
        slow_time: 20_000_000,
    }
}

fn told(outcome: &Outcome, state: InitiatorState) -> u64 {
    outcome.told[usize::from(state.code())]
}

#[test]
fn each_request_ends_in_a_true_state_however_bad_the_network() {
    for protocol in [Protocol::Amvia, Protocol::TwoWay] {
        let outcome = simulate(bad_network(protocol, 1));
        assert_eq!(
            (outcome.doubled_runs, outcome.untrue),
            (0, 0),
            "{protocol}: {outcome:?}"
        );
        assert!(outcome.kills > 20, "{protocol}: {} kills", outcome.kills);
        let indeterminate = told(&outcome, InitiatorState::Indeterminate);
        assert!(
            indeterminate <= outcome.killed_handlers,
            "{protocol}: {outcome:?}"
        );
        assert!(
            told(&outcome, InitiatorState::Processed) > 98_000,
            "{protocol}: {outcome:?}"
        );
    }
}

#[test]
fn amudp_ends_each_request_in_a_true_state_while_nobody_is_killed() {
    let outcome = simulate(Plan {
        kills_per_second: 0.0,
        ..bad_network(Protocol::Amudp, 1)
    });
    assert_eq!(
        (outcome.doubled_runs, outcome.untrue),
        (0, 0),
        "{outcome:?}"
    );
    assert!(
        told(&outcome, InitiatorState::Processed) > 99_000,
        "{outcome:?}"
    );
}

#[test]
fn without_loss_the_floor_of_the_timeout_keeps_needless_retransmissions_rare() {
    let lines = include_str!("round_trips.csv").lines();
    let round_trips: Vec<Nanos> = lines
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.parse().unwrap())
        .collect();
    let needless = |min_rto| {
        let plan = bad_network(Protocol::Amvia, 1);
        let outcome = simulate(Plan {
            config: Config {
                min_rto,
                ..plan.config.clone()
            },
            latency: Latency::Recorded(round_trips.clone()),
            lost: 0.0,
            doubled: 0.0,
            kills_per_second: 0.0,
            slow_time: 0,
            ..plan
        });
        outcome.needless as f64 / outcome.requests as f64
    };
    let default = needless(Config::default().min_rto);
    assert!(default <= 0.001, "{default}");
    assert!(needless(0) > default);
}

#[test]
fn a_seed_is_a_history() {
    let run = |seed| {
        simulate(Plan {
            transactions: 5_000,
            ..bad_network(Protocol::Amvia, seed)
        })
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).history, run(8).history);
}

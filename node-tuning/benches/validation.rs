//! The time that a large cluster takes to schedule and to judge, and the worth of the verdict in simulated
//! ones: `cargo bench -p jitterlab-node-tuning --bench validation`.

#[path = "../tests/simulated/mod.rs"]
mod simulated;

use std::time::Instant;

use jitterlab_node_tuning::validation::judge::{Limits, judge};
use jitterlab_node_tuning::validation::tournament;
use simulated::{Cluster, slow_nodes, slow_pairs};

const LIMITS: Limits = Limits {
    alpha: 0.05,
    minimum_effect: 0.05,
};
const TRIES: u64 = 500;

fn main() {
    large();
    println!(
        "share of {TRIES} simulated tries, in percent; noise of one measurement, in percent of the RTT"
    );
    println!(
        "hosts noise jumps  false alarms: nodes pairs   found: 10 % node, 10 % pair (and nothing else)"
    );
    for nodes in [4, 5, 8, 16] {
        let noises = [0.01, 0.02, 0.03, 0.05, 0.1].map(|noise| (noise, 0.0));
        for (noise, jumps) in noises.into_iter().chain([(0.03, 0.1)]) {
            let quiet = Cluster {
                noise,
                jumps,
                ..Cluster::quiet(nodes)
            };
            let slow_node = Cluster {
                slow_nodes: vec![(1, 0.1)],
                ..quiet.clone()
            };
            let slow_pair = Cluster {
                slow_pairs: vec![((1, 3), 0.1)],
                ..quiet.clone()
            };
            println!(
                "{nodes:5} {:5.0} {:5.0} {:20.1} {:5.1} {:19.1} {:10.1}",
                100.0 * noise,
                100.0 * jumps,
                share(&quiet, |nodes, _| !nodes.is_empty()),
                share(&quiet, |_, pairs| !pairs.is_empty()),
                share(&slow_node, |nodes, pairs| nodes == [1] && pairs.is_empty()),
                share(&slow_pair, |nodes, pairs| nodes.is_empty()
                    && pairs == [(1, 3)]),
            );
        }
    }
}

/// The percentage of the tries whose outliers are such.
fn share(cluster: &Cluster, such: impl Fn(&[usize], &[(usize, usize)]) -> bool) -> f64 {
    let is_such = |&seed: &u64| {
        let judgement = cluster.judged(seed, LIMITS);
        such(&slow_nodes(&judgement), &slow_pairs(&judgement))
    };
    100.0 * (0..TRIES).filter(is_such).count() as f64 / TRIES as f64
}

fn large() {
    let start = Instant::now();
    let rounds = tournament::rounds(1_000);
    println!(
        "1000 hosts: {} rounds made in {:.2?}",
        rounds.len(),
        start.elapsed()
    );
    let start = Instant::now();
    let schedule = tournament::schedule(1_000, 10, 1);
    println!(
        "  10 repetitions of them in random order, {} measurements: {:.2?}",
        schedule
            .iter()
            .map(|round| round.matches.len())
            .sum::<usize>(),
        start.elapsed()
    );
    let cluster = Cluster {
        slow_nodes: vec![(17, 0.1)],
        ..Cluster::quiet(1_000)
    };
    let measurements = cluster.measured(1);
    let start = Instant::now();
    let judgement = judge(1_000, &measurements, LIMITS);
    let took = start.elapsed();
    match judgement {
        Ok(judgement) => println!(
            "  judged in {took:.2?}: outliers {:?}",
            slow_nodes(&judgement)
        ),
        Err(error) => println!("  {error}"),
    }
}

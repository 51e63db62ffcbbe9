//! The schedule: every run once, in blocks, in an order that the seed alone decides.

use std::collections::BTreeSet;
use std::path::Path;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::Phase;
use jitterlab_experiment::schedule::{Run, schedule};
use jitterlab_experiment::spec::Experiment;
use proptest::prelude::*;

fn experiment(
    seed: u64,
    repetitions: u32,
    loads: usize,
    shapes: usize,
    injects: bool,
) -> Experiment {
    let loads: Vec<String> = (1..=loads).map(|i| (i * 10).to_string()).collect();
    let shapes = &["uniform", "lognormal", "scale25"][..shapes];
    let injected = if injects {
        format!(
            "  injected: {{ percent: [{}], transport: udp, shapes: [{}] }}\n",
            loads.join(", "),
            shapes.join(", ")
        )
    } else {
        String::new()
    };
    let text = format!(
        "name: e\nseed: {seed}\nrepetitions: {repetitions}\n\
         hosts: {{ a: {{ at: local }} }}\n\
         load: {{ transport: udp, from: a, to: a, message: 1400B }}\n\
         levels:\n  load: [{}]\n{injected}\
         suites:\n\
         \x20 packet:\n\
         \x20   - {{ case: rtt, transports: [udp, tcp], from: a, to: a, size: 64B, warmup: 1ms, duration: 5ms, wait: block }}\n\
         \x20 application:\n\
         \x20   - {{ name: app, client: {{ on: a, command: [\"true\"] }}, levels: [none, injected] }}\n",
        loads.join(", ")
    );
    Experiment::parse(&text, Path::new("e.yaml")).unwrap()
}

fn ids(runs: &[Run]) -> Vec<String> {
    runs.iter().map(Run::id).collect()
}

proptest! {
    #[test]
    fn every_condition_is_once_in_every_block(
        seed: u64, repetitions in 1u32..5, loads in 1usize..5, shapes in 1usize..=3, injects: bool
    ) {
        let experiment = experiment(seed, repetitions, loads, shapes, injects);
        let runs = schedule(&experiment, experiment.repetitions.first());
        let injected = if injects { loads * shapes } else { 0 };
        let conditions = 2 * (1 + loads + injected) + 1 + injected;
        prop_assert_eq!(runs.len(), conditions * repetitions as usize);
        let unique: BTreeSet<String> = ids(&runs).into_iter().collect();
        prop_assert_eq!(unique.len(), runs.len());
        for id in &unique {
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
            prop_assert!(id.chars().all(plain), "{}", id);
        }
        // Phase by phase, block by block; and nothing is injected before it can be fitted.
        let order: Vec<(Phase, u32)> = runs.iter().map(|run| (run.phase, run.block)).collect();
        prop_assert!(order.is_sorted());
        for run in &runs {
            if let Level::Injected { .. } = run.level {
                prop_assert_eq!(run.phase, Phase::Inject);
            }
        }
        prop_assert_eq!(ids(&runs), ids(&schedule(&experiment, experiment.repetitions.first())));
    }
}

#[test]
fn another_seed_or_block_has_another_order() {
    let (one, two) = (experiment(1, 2, 4, 3, true), experiment(2, 2, 4, 3, true));
    assert_ne!(
        ids(&schedule(&one, one.repetitions.first())),
        ids(&schedule(&two, two.repetitions.first()))
    );
    let runs = schedule(&one, one.repetitions.first());
    let block = |number: u32| -> Vec<String> {
        let of_block = |run: &&Run| run.phase == Phase::Inject && run.block == number;
        let id = |run: &Run| run.id().replace(&format!(".r{number}"), "");
        runs.iter().filter(of_block).map(id).collect()
    };
    assert_ne!(block(1), block(2));
}

//! As many repetitions as it takes: how often a change that is there is found, and one that is not.

use std::path::Path;

use jitterlab_experiment::enough::{ALPHA, Enough, POWER, begun, enough};
use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::RunRecord;
use jitterlab_experiment::schedule::schedule;
use jitterlab_experiment::spec::{Experiment, Repetitions};
use jitterlab_stats::repeated;
use jitterlab_stats::special::phi_inverse;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const FILE: &str = "name: e
seed: 1
repetitions: auto
hosts: { a: { at: local } }
load: { transport: udp, from: a, to: a, message: 1400B }
levels:
  load: [40]
  injected: { percent: [40], transport: udp, shapes: [uniform, empirical] }
suites:
  packet:
    - { case: rtt, transports: [udp], from: a, to: a, size: 64B, warmup: 1ms, duration: 5ms, wait: block }
  application:
    - { name: app, client: { on: a, command: [\"true\"] }, levels: [none, injected] }
";

fn experiment(more: &str) -> Experiment {
    Experiment::parse(&format!("{FILE}{more}"), Path::new("e.yaml")).unwrap()
}

fn record(level: &str, block: u32, runtime_s: f64) -> RunRecord {
    let line = format!(
        r#"{{"version":{},"run":"application-app.{block}.{}","phase":"inject","block":{block},"repetition":{block},"attempt":1,
        "suite":"application","case":"app","transport":null,"level":{level},"outcome":"done","reason":null,"started":"","seconds":2.0,
        "samples":null,"n":null,"result":{{"application":{{"runtime_s":{runtime_s},"program_s":1.0,"npb":null}}}},"load":null,"injection":null}}"#,
        RunRecord::VERSION,
        level.len()
    );
    serde_json::from_str(&line).unwrap()
}

/// An application whose runtime varies by `std` from run to run, and is so much slower under constant and under varied delays.
struct World {
    random: Xoshiro256PlusPlus,
    std: f64,
    slower: [f64; 3],
}

impl World {
    fn new(seed: u64, std: f64, slower: [f64; 2]) -> Self {
        World {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            std,
            slower: [1.0, slower[0], slower[1]],
        }
    }

    fn block(&mut self, block: u32) -> Vec<RunRecord> {
        let level =
            |shape: Member| serde_json::to_string(&Level::Injected { percent: 40, shape }).unwrap();
        let levels = [
            serde_json::to_string(&Level::None).unwrap(),
            level(Member::Uniform),
            level(Member::Empirical),
        ];
        let mut runtime = |slower: f64| {
            let z = phi_inverse(self.random.random_range(f64::MIN_POSITIVE..1.0));
            slower * (self.std * z).exp()
        };
        let runtimes = self.slower.map(&mut runtime);
        let runs = levels.iter().zip(runtimes);
        runs.map(|(level, runtime)| record(level, block, runtime))
            .collect()
    }

    /// Runs until there is enough.
    fn run(&mut self, experiment: &Experiment) -> (Vec<RunRecord>, Enough) {
        let mut records = Vec::new();
        for block in 1.. {
            records.extend(self.block(block));
            if block >= Repetitions::PILOT {
                let enough = enough(experiment, &records).unwrap();
                if block >= enough.repetitions {
                    return (records, enough);
                }
            }
        }
        unreachable!()
    }
}

/// p of the level against the base, by block.
fn p(records: &[RunRecord], level: usize, base: usize) -> f64 {
    let runtime = |record: &RunRecord| {
        record
            .result
            .as_ref()
            .unwrap()
            .application()
            .unwrap()
            .runtime_s
    };
    let ratios: Vec<f64> = records
        .chunks(3)
        .map(|block| runtime(&block[level]) / runtime(&block[base]))
        .collect();
    repeated::paired(&ratios, 0.95).unwrap().p
}

/// `EXPERIMENTS=2000` tries more of them, which takes minutes; docs/experiment.md has their shares.
#[test]
fn power_and_false_findings_are_those_that_were_planned() {
    let experiments = std::env::var("EXPERIMENTS").map_or(300, |number| number.parse().unwrap());
    // What chance makes of a share of so many, in 999 of 1,000 cases.
    let scatter = |share: f64| 3.3 * (share * (1.0 - share) / experiments as f64).sqrt();
    let experiment = experiment("");
    // By variation at a fixed mean, 5 %; by the mean only, 5 %; nothing.
    for (name, slower) in [
        ("variation", [1.0, 1.05]),
        ("mean", [1.05, 1.05]),
        ("null", [1.0, 1.0]),
    ] {
        let (mut found, mut blocks) = (0, 0);
        for seed in 0..experiments {
            let (records, _) = World::new(seed, 0.045, slower).run(&experiment);
            found += u64::from(p(&records, 2, 1) < ALPHA);
            blocks += records.len() as u64 / 3;
        }
        let share = found as f64 / experiments as f64;
        println!(
            "{name}: {:.1} blocks; variation found in {:.1} %",
            blocks as f64 / experiments as f64,
            100.0 * share
        );
        if name == "variation" {
            assert!((share - POWER).abs() < 0.03 + scatter(POWER), "{share}");
        } else {
            let (low, high) = (0.035 - scatter(0.035), 0.065 + scatter(0.065));
            assert!((low..=high).contains(&share), "{name}: {share}");
        }
    }
}

#[test]
fn the_time_allowed_is_a_limit_and_what_it_resolves_is_said() {
    let unlimited = experiment("");
    let mut world = World::new(1, 0.2, [1.0, 1.0]);
    let records: Vec<RunRecord> = (1..=8).flat_map(|block| world.block(block)).collect();
    let free = enough(&unlimited, &records).unwrap();
    assert!(
        free.needed > 100 && free.repetitions == free.needed,
        "{free:?}"
    );
    assert!(free.resolves_percent <= 5.0 + 1e-9, "{free:?}");
    // 24 runs of 2 s were done; three more blocks take 18 s.
    let limited = enough(&experiment("at_most: 66s\n"), &records).unwrap();
    assert_eq!((limited.repetitions, limited.needed), (11, free.needed));
    assert!(limited.resolves_percent > 10.0, "{limited:?}");
    assert!(
        limited.decided_by.starts_with("application app, "),
        "{limited:?}"
    );
    // The pilot is done in any case.
    let short = enough(&experiment("at_most: 1s\n"), &records).unwrap();
    assert_eq!(short.repetitions, 8);
    // A larger change takes fewer.
    let coarse = enough(&experiment("resolve: 50 %\n"), &records).unwrap();
    assert!(coarse.needed < free.needed / 10, "{coarse:?} {free:?}");
    assert_eq!(enough(&unlimited, &[]), None);
}

#[test]
fn what_is_compared_is_repeated_and_packets_are_not() {
    let experiment = experiment("");
    assert_eq!(begun(&experiment, &[]), 8);
    let runs = schedule(&experiment, 11);
    let of = |suite: &str, block: u32| {
        runs.iter()
            .filter(|run| run.block == block && run.id().starts_with(suite))
            .count()
    };
    assert_eq!((of("packet", 8), of("packet", 9)), (4, 0));
    assert_eq!((of("application", 8), of("application", 11)), (3, 3));
}

//! First passages and closed networks: against the model checker Storm (`reference/storm.py`), and against what has to hold.

use std::path::Path;

use jitterlab_stats::Error;
use jitterlab_stats::first_passage::{Passage, SemiMarkov, State, Time};
use jitterlab_stats::mva::{Demand, analyse, analyse_constant};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

/// How close a value has to be to that of Storm.
const CLOSE: f64 = 1e-6;

fn storm() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/storm.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn place(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

/// A chance, as in "1/3" or "0.25".
fn chance(text: &str) -> f64 {
    match text.split_once('/') {
        Some((above, below)) => above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap(),
        None => text.parse().unwrap(),
    }
}

#[track_caller]
fn close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap();
    assert!(
        (ours - theirs).abs() <= CLOSE * theirs.abs(),
        "{what}: {ours} is not {theirs}"
    );
}

/// A process with these steps: from, to, chance, time.
fn process(steps: &[(usize, usize, f64, Time)]) -> (SemiMarkov, Vec<State>) {
    let mut process = SemiMarkov::default();
    let last = steps.iter().map(|step| step.0.max(step.1)).max().unwrap();
    let states: Vec<State> = (0..=last).map(|_| process.state()).collect();
    for &(from, to, chance, time) in steps {
        process.step(states[from], states[to], chance, time);
    }
    (process, states)
}

#[test]
fn passages_are_those_of_storm() {
    let reference = storm();
    let passages = list(&reference["passages"]);
    assert!(passages.len() > 5);
    for case in passages {
        let name = case["name"].as_str().unwrap();
        let steps = list(&case["steps"]).iter().map(|step| {
            (
                place(&step[0]),
                place(&step[1]),
                chance(step[2].as_str().unwrap()),
                Time::fixed(step[3].as_f64().unwrap()),
            )
        });
        let (process, states) = process(&steps.collect::<Vec<_>>());
        let ends: Vec<State> = list(&case["ends"])
            .iter()
            .map(|end| states[place(end)])
            .collect();
        let passage = process.passage(states[0], &ends).unwrap();
        close(passage.mean, &case["mean"], name);
        for (&end, theirs) in ends.iter().zip(list(&case["chances"])) {
            close(
                process.passage(states[0], &[end]).unwrap().chance,
                theirs,
                name,
            );
        }
        let visited = states[place(&case["visited"])];
        let visits = process.gathered(states[0], |state| f64::from(state == visited));
        close(visits.unwrap(), &case["visits"], name);
    }
}

#[test]
fn networks_are_those_of_storm() {
    let reference = storm();
    let networks = list(&reference["networks"]);
    assert!(networks.len() > 5);
    for case in networks {
        let demands: Vec<f64> = list(&case["demands"])
            .iter()
            .map(|demand| demand.as_f64().unwrap())
            .collect();
        let think = case["think"].as_f64().unwrap();
        let network = analyse(&demands, think, place(&case["customers"]) as u32).unwrap();
        close(network.throughput, &case["throughput"], "throughput");
        for (&queue, theirs) in network.queues.iter().zip(list(&case["queues"])) {
            close(queue, theirs, "queue");
        }
    }
}

/// A question that is asked again after `wait` until it is answered, which takes `answer`.
fn repeated(lost: f64, answer: Time, wait: Time) -> Passage {
    let (process, states) = process(&[(0, 1, 1.0 - lost, answer), (0, 0, lost, wait)]);
    process.passage(states[0], &[states[1]]).unwrap()
}

/// The throughput of a network by the convolution of Buzen (CACM 16, 1973), where who thinks is a station without waiting.
fn by_convolution(demands: &[f64], think: f64, customers: usize) -> f64 {
    let mut constants = vec![1.0; customers + 1];
    for n in 1..=customers {
        constants[n] = constants[n - 1] * think / n as f64;
    }
    for demand in demands {
        for n in 1..=customers {
            constants[n] += demand * constants[n - 1];
        }
    }
    constants[customers - 1] / constants[customers]
}

proptest! {
    #[test]
    fn a_geometric_number_of_waits_has_its_moments(lost in 0.0..0.999f64, answer in 0.0..1e3f64, wait in 0.0..1e3f64) {
        let odds = lost / (1.0 - lost);
        for (time, variance) in [(Time::fixed(wait), 0.0), (Time::exponential(wait), wait * wait)] {
            let passage = repeated(lost, Time::fixed(answer), time);
            let mean = answer + odds * wait;
            // The number of waits has the variance odds (1 + odds).
            let spread = odds * (1.0 + odds) * wait * wait + odds * variance;
            prop_assert!((passage.mean - mean).abs() <= 1e-9 * mean);
            // The square of the mean is taken away from it.
            prop_assert!((passage.variance - spread).abs() <= 1e-9 * (spread + mean * mean));
            prop_assert_eq!(passage.chance, 1.0);
        }
    }

    #[test]
    fn ends_share_the_chance_and_the_time(weights in vec(0.01..1.0f64, 20), times in vec(0.0..9.0f64, 20)) {
        // Four states, each of which leads to each and to an end; the ends are 4 to 7.
        let mut steps = Vec::new();
        for from in 0..4 {
            let own = &weights[from * 5..][..5];
            let sum: f64 = own.iter().sum();
            for to in 0..5 {
                let end = if to < 4 { to } else { 4 + from };
                steps.push((from, end, own[to] / sum, Time::fixed(times[from * 5 + to])));
            }
        }
        let (process, states) = process(&steps);
        let all = process.passage(states[0], &states[4..]).unwrap();
        let each: Vec<Passage> = states[4..]
            .iter()
            .map(|&end| process.passage(states[0], &[end]).unwrap())
            .collect();
        let chance: f64 = each.iter().map(|passage| passage.chance).sum();
        let mean: f64 = each.iter().map(|passage| passage.chance * passage.mean).sum();
        prop_assert!((chance - 1.0).abs() < 1e-12);
        prop_assert!((mean - all.mean).abs() <= 1e-9 * all.mean);
        let ends = process.gathered(states[0], |state| f64::from(states[4..].contains(&state)));
        prop_assert!((ends.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn mean_values_are_those_of_the_convolution(demands in vec(0.01..10.0f64, 1..6), think in 0.0..20.0f64, customers in 1..40usize) {
        let network = analyse(&demands, think, customers as u32).unwrap();
        let theirs = by_convolution(&demands, think, customers);
        prop_assert!((network.throughput - theirs).abs() <= 1e-9 * theirs);
        // Little's law, over the stations and those who think.
        let inside: f64 = network.queues.iter().sum();
        prop_assert!((inside + network.throughput * think - customers as f64).abs() < 1e-9 * customers as f64);
        let busiest = demands.iter().copied().fold(0.0, f64::max);
        prop_assert!(network.utilisation(busiest) <= 1.0 + 1e-12);
    }
}

proptest! {
    /// Constant times wait less than exponential ones, and no station is busy for more than all of the time.
    #[test]
    fn constant_times_lie_between_exponential_ones_and_the_bounds(
        demands in vec((0.01..10.0f64, 0.0..3.0f64), 1..6), think in 0.0..20.0f64, customers in 1..40u32,
    ) {
        let alone: Vec<f64> = demands.iter().map(|&(awaited, _)| awaited).collect();
        let just = |awaited: &f64| Demand { awaited: *awaited, beside: 0.0 };
        let constant = analyse_constant(&alone.iter().map(just).collect::<Vec<_>>(), think, customers).unwrap();
        let exponential = analyse(&alone, think, customers).unwrap();
        prop_assert!(constant.throughput >= exponential.throughput * (1.0 - 1e-12));
        let most = f64::from(customers) / (think + alone.iter().sum::<f64>());
        prop_assert!(constant.throughput <= most * (1.0 + 1e-12));
        // Work that nobody waits for takes time of the stations, too.
        let both: Vec<Demand> = demands.iter().map(|&(awaited, beside)| Demand { awaited, beside }).collect();
        let loaded = analyse_constant(&both, think, customers).unwrap();
        prop_assert!(loaded.throughput <= constant.throughput * (1.0 + 1e-12));
        for demand in &both {
            prop_assert!(loaded.utilisation(demand.awaited + demand.beside) <= 1.0 + 1e-12);
        }
        // One customer waits for itself alone.
        let one = analyse_constant(&both, think, 1).unwrap();
        let busiest = both.iter().map(|it| it.awaited + it.beside).fold(0.0, f64::max);
        let free = 1.0 / (think + alone.iter().sum::<f64>());
        prop_assert!((one.throughput - free.min(1.0 / busiest)).abs() <= 1e-12 * free);
    }
}

#[test]
fn two_stations_with_constant_times_are_busy_with_few_customers() {
    let demands = [Demand {
        awaited: 1.0,
        beside: 0.0,
    }; 2];
    let at = |customers| {
        analyse_constant(&demands, 0.0, customers)
            .unwrap()
            .throughput
    };
    // By hand: of one customer 1/2, of two 2 / (2 (1 + 1/2 - 1/4)).
    assert_eq!((at(1), at(2)), (0.5, 0.8));
    assert!(at(16) > 0.99);
}

#[test]
fn a_chance_that_is_all_but_nothing_loses_no_digit() {
    let (process, states) = process(&[
        (0, 0, 1.0, Time::fixed(1.0)),
        (0, 1, 1e-18, Time::fixed(1.0)),
    ]);
    let passage = process.passage(states[0], &[states[1]]).unwrap();
    assert!((passage.mean * 1e-18 - 1.0).abs() < 1e-12);
}

#[test]
fn what_is_no_process_is_refused() {
    let one = Time::fixed(1.0);
    for steps in [
        vec![(0, 1, 0.9, one)],
        vec![(0, 1, 1.5, one), (0, 0, -0.5, one)],
        vec![(0, 1, 1.0, Time::fixed(-1.0))],
        vec![(0, 1, 1.0, one), (1, 0, 1.0, one)],
        vec![(0, 1, f64::NAN, one)],
    ] {
        let (process, states) = process(&steps);
        let refused = process.passage(states[0], &[states[1]]);
        assert!(matches!(refused, Err(Error::Parameter { .. })), "{steps:?}");
    }
}

#[test]
fn what_is_no_network_is_refused() {
    for (demands, think, customers) in [
        (&[-1.0][..], 0.0, 1),
        (&[1.0], f64::NAN, 1),
        (&[0.0, 0.0], 0.0, 2),
        (&[1.0], 1.0, 0),
    ] {
        assert!(analyse(demands, think, customers).is_err());
        let demands: Vec<Demand> = demands
            .iter()
            .map(|&awaited| Demand {
                awaited,
                beside: 0.0,
            })
            .collect();
        assert!(analyse_constant(&demands, think, customers).is_err());
    }
}

//! What `judge` makes of clusters whose truth is known: they are made from a seed.

mod simulated;

use jitterlab_node_tuning::validation::judge::{Error, Limits, Measurement, Unit, judge};
use proptest::prelude::*;
use simulated::{Cluster, slow_nodes, slow_pairs};

const LIMITS: Limits = Limits {
    alpha: 0.05,
    minimum_effect: 0.05,
};
/// Without a minimum effect only the tests stand between noise and a verdict.
const TESTS_ALONE: Limits = Limits {
    alpha: 0.05,
    minimum_effect: 0.0,
};

/// In how many of 200 seeded tries a node and a pair are taken for outliers.
fn alarms(cluster: &Cluster, limits: Limits) -> (u32, u32) {
    let judgements = (0..200).map(|seed| cluster.judged(seed, limits));
    judgements.fold((0, 0), |(nodes, pairs), judgement| {
        (
            nodes + u32::from(!slow_nodes(&judgement).is_empty()),
            pairs + u32::from(!slow_pairs(&judgement).is_empty()),
        )
    })
}

#[test]
fn false_alarms_are_as_rare_as_alpha_says() {
    // Alpha is 5 %, half of it for nodes and half for pairs: 5 and 5 of 200. What the model takes off
    // makes the rest a little smaller than it is, which shows where nodes are few.
    for (nodes, most) in [(3, 10), (4, 10), (5, 15), (8, 10)] {
        let (of_nodes, of_pairs) = alarms(&Cluster::quiet(nodes), TESTS_ALONE);
        assert!(
            of_nodes <= most && of_pairs <= most,
            "{nodes}: {of_nodes}, {of_pairs}"
        );
    }
}

#[test]
fn a_minimum_effect_above_the_noise_lets_hardly_any_false_alarm_through() {
    let cluster = Cluster {
        noise: 0.02,
        disturbed: 0.05,
        drift: 0.005,
        ..Cluster::quiet(8)
    };
    let (of_nodes, of_pairs) = alarms(&cluster, LIMITS);
    assert!(of_nodes + of_pairs <= 2, "{of_nodes}, {of_pairs}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn one_slow_node_is_found_and_nothing_else(seed: u64, nodes in 5usize..12, slow: prop::sample::Index) {
        let slow = slow.index(nodes);
        let cluster = Cluster {
            slow_nodes: vec![(slow, 0.1)],
            drift: 0.005,
            ..Cluster::quiet(nodes)
        };
        let judgement = cluster.judged(seed, LIMITS);
        prop_assert_eq!(slow_nodes(&judgement), [slow]);
        prop_assert!(slow_pairs(&judgement).is_empty());
        let effect = judgement.nodes[slow].slowdown.unwrap().effect;
        prop_assert!((effect.estimate - 0.1).abs() < 0.03, "{:?}", effect);
    }

    #[test]
    fn one_slow_pair_is_found_and_its_nodes_are_not_blamed(
        seed: u64, nodes in 5usize..12, a: prop::sample::Index, step: prop::sample::Index, by in 0.1f64..3.0
    ) {
        let a = a.index(nodes);
        let b = (a + 1 + step.index(nodes - 1)) % nodes;
        let pair = (a.min(b), a.max(b));
        let cluster = Cluster {
            slow_pairs: vec![(pair, by)],
            drift: 0.005,
            ..Cluster::quiet(nodes)
        };
        let judgement = cluster.judged(seed, LIMITS);
        prop_assert!(slow_nodes(&judgement).is_empty());
        prop_assert_eq!(slow_pairs(&judgement), [pair]);
    }

    #[test]
    fn two_slow_nodes_and_a_slow_pair_do_not_hide_each_other(seed: u64, by in 0.1f64..1.0) {
        let cluster = Cluster {
            slow_nodes: vec![(1, by), (5, 0.1)],
            slow_pairs: vec![((2, 7), 0.15)],
            ..Cluster::quiet(9)
        };
        let judgement = cluster.judged(seed, LIMITS);
        prop_assert_eq!(slow_nodes(&judgement), [1, 5]);
        prop_assert_eq!(slow_pairs(&judgement), [(2, 7)]);
    }

    #[test]
    fn a_verdict_does_not_depend_on_the_unit_of_time(seed: u64, scale in 0.001f64..1000.0) {
        let cluster = Cluster { slow_nodes: vec![(3, 0.1)], ..Cluster::quiet(6) };
        let measurements = cluster.measured(seed);
        let scaled: Vec<Measurement> = measurements
            .iter()
            .map(|&m| Measurement { rtt_ns: m.rtt_ns * scale, ..m })
            .collect();
        let (one, other) = (judge(6, &measurements, LIMITS), judge(6, &scaled, LIMITS));
        prop_assert_eq!(slow_nodes(&one.unwrap()), slow_nodes(&other.unwrap()));
    }
}

#[test]
fn what_few_hosts_can_tell() {
    let slow_node = |nodes| Cluster {
        slow_nodes: vec![(0, 0.2)],
        ..Cluster::quiet(nodes)
    };
    let two = slow_node(2).judged(1, LIMITS);
    assert_eq!((two.unit, two.pairs_testable), (Unit::None, false));
    assert!(two.nodes.iter().all(|verdict| verdict.slowdown.is_none()));
    assert_eq!(two.pairs.len(), 1);
    for (nodes, unit) in [
        (3, Unit::Repetition),
        (5, Unit::Repetition),
        (6, Unit::Pair),
    ] {
        let judgement = slow_node(nodes).judged(1, LIMITS);
        assert_eq!(judgement.unit, unit, "{nodes}");
        assert_eq!(slow_nodes(&judgement), [0], "{nodes}");
        assert!(slow_pairs(&judgement).is_empty(), "{nodes}");
    }
    // Of three, one slow pair is the same as one fast node.
    let slow_pair = |nodes| Cluster {
        slow_pairs: vec![((0, 1), 0.2)],
        ..Cluster::quiet(nodes)
    };
    let three = slow_pair(3).judged(1, LIMITS);
    assert!(!three.pairs_testable && slow_nodes(&three).is_empty());
    let four = slow_pair(4).judged(1, LIMITS);
    assert!(four.pairs_testable && slow_nodes(&four).is_empty());
    assert_eq!(slow_pairs(&four), [(0, 1)]);
}

#[test]
fn one_repetition_of_eight_hosts_tells_nodes_and_no_pairs() {
    let cluster = Cluster {
        slow_nodes: vec![(2, 0.1)],
        slow_pairs: vec![((4, 6), 0.5)],
        repetitions: 1,
        ..Cluster::quiet(8)
    };
    let judgement = cluster.judged(1, LIMITS);
    assert_eq!(slow_nodes(&judgement), [2]);
    assert!(!judgement.pairs_testable && slow_pairs(&judgement).is_empty());
}

#[test]
fn what_was_not_measured_is_not_judged_and_the_rest_is() {
    let cluster = Cluster {
        slow_nodes: vec![(2, 0.1)],
        ..Cluster::quiet(9)
    };
    // Node 8 was never there, and node 7 went in the middle.
    let mut measurements = cluster.measured(3);
    measurements.retain(|m| {
        let has = |node| m.pair.0 == node || m.pair.1 == node;
        !has(8) && (m.moment < 40 || !has(7))
    });
    let judgement = judge(9, &measurements, LIMITS).unwrap();
    assert_eq!(slow_nodes(&judgement), [2]);
    assert_eq!(
        (judgement.nodes[8].pairs, judgement.nodes[8].slowdown),
        (0, None)
    );
    assert_eq!(judgement.nodes[7].pairs, 7);
    // Of the four that are left of ten, one is slow.
    let cluster = Cluster {
        slow_nodes: vec![(2, 0.2)],
        ..Cluster::quiet(10)
    };
    let mut measurements = cluster.measured(3);
    measurements.retain(|m| m.pair.0 < 4 && m.pair.1 < 4);
    let judgement = judge(10, &measurements, LIMITS).unwrap();
    assert_eq!(judgement.unit, Unit::Repetition);
    assert_eq!(slow_nodes(&judgement), [2]);
    let nothing = judge(3, &[], LIMITS).unwrap();
    assert_eq!((nothing.typical_ns, nothing.pairs.len()), (0.0, 0));
}

#[test]
fn what_is_no_measurement_is_refused() {
    let measurement = |pair, rtt_ns| Measurement {
        pair,
        moment: 0,
        rtt_ns,
    };
    for (pair, rtt_ns) in [
        ((0, 1), 0.0),
        ((0, 1), -1.0),
        ((0, 1), f64::NAN),
        ((0, 1), f64::INFINITY),
    ] {
        let judged = judge(2, &[measurement(pair, rtt_ns)], LIMITS);
        assert!(matches!(judged, Err(Error::Latency { .. })), "{rtt_ns}");
    }
    for pair in [(0, 0), (0, 2), (7, 1)] {
        let judged = judge(2, &[measurement(pair, 1.0)], LIMITS);
        assert!(matches!(judged, Err(Error::Pair { .. })), "{pair:?}");
    }
    for alpha in [0.0, 1.0, f64::NAN] {
        let limits = Limits { alpha, ..LIMITS };
        assert!(
            matches!(judge(2, &[], limits), Err(Error::Limit { .. })),
            "{alpha}"
        );
    }
    for minimum_effect in [-0.1, f64::NAN, f64::INFINITY] {
        let limits = Limits {
            minimum_effect,
            ..LIMITS
        };
        assert!(matches!(judge(2, &[], limits), Err(Error::Limit { .. })));
    }
}

//! A validation against a kept one: which nodes and pairs have become slower since?
//!
//! In each repetition every pair is measured once. What each takes more than in the median of then, the additive model takes apart: what all pairs
//! take more, what each node adds, and what each pair has beyond. Each of these is one figure a repetition, then and now, and their ratio is held
//! against a gate. So a node that has become slower is named, and not its partners.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_stats::Error;
use jitterlab_stats::gate::{Decision, Gate};

use super::additive::{Model, median};

/// A measurement of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The two nodes, the smaller number first.
    pub pair: (usize, usize),
    /// The repetition.
    pub repetition: u32,
    /// Median RTT in nanoseconds.
    pub rtt_ns: f64,
}

/// The drift of a cluster: ratios of now to then.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// A pair whose nodes add nothing; none below [`NODES`].
    pub typical: Option<Decision>,
    /// The part of each node in its pairs; none below [`NODES`], and of a node that was measured with fewer than two others.
    pub nodes: Vec<Option<Decision>>,
    /// The part of each pair beyond its nodes; below [`NODES`], all of its time.
    pub pairs: BTreeMap<(usize, usize), Decision>,
    /// Pairs that were measured then and not now, or the other way round.
    pub not_compared: Vec<(usize, usize)>,
}

/// With so many nodes or more, their own part is told from what pairs have beyond.
pub const NODES: usize = 4;

/// Holds the measurements of `nodes` nodes against those of then, by the share `gate`. All decisions are read together at the level
/// `alpha`.
///
/// # Errors
/// The gate is 0, or `alpha` is not between 0 and 1.
pub fn drift(
    nodes: usize,
    then: &[Measured],
    now: &[Measured],
    gate: f64,
    alpha: f64,
) -> Result<Drift, Error> {
    let levels = levels(then);
    let measured = |it: &[Measured]| it.iter().map(|one| one.pair).collect::<BTreeSet<_>>();
    let (of_then, of_now) = (measured(then), measured(now));
    let [then, now] = [then, now].map(|it| Figures::of(nodes, it, &levels));
    let pairs: Vec<(usize, usize)> = of_then.intersection(&of_now).copied().collect();
    let are_told = nodes >= NODES;
    let others = if are_told { 1 + nodes } else { 0 };
    let gate = Gate::new(gate, alpha, pairs.len() + others)?;
    let node = |node: usize| {
        let [then, now] = [&then, &now].map(|it| &it.nodes[node]);
        let is_known = are_told && !then.is_empty() && !now.is_empty();
        is_known.then(|| gate.decide_by_ranks(then, now))
    };
    Ok(Drift {
        typical: are_told.then(|| gate.decide_by_ranks(&then.typical, &now.typical)),
        nodes: (0..nodes).map(node).collect(),
        pairs: pairs
            .into_iter()
            .map(|pair| {
                (
                    pair,
                    gate.decide_by_ranks(&then.pairs[&pair], &now.pairs[&pair]),
                )
            })
            .collect(),
        not_compared: of_then.symmetric_difference(&of_now).copied().collect(),
    })
}

/// The level of each pair, in logarithms: the median of its repetitions. Pairs differ in it, by their cables and switches.
fn levels(measured: &[Measured]) -> BTreeMap<(usize, usize), f64> {
    let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for one in measured {
        values.entry(one.pair).or_default().push(one.rtt_ns.ln());
    }
    let level = |(pair, values)| Some((pair, median(values)?));
    values.into_iter().filter_map(level).collect()
}

/// Figures of a validation, one a repetition: factors to the levels of then.
struct Figures {
    typical: Vec<f64>,
    nodes: Vec<Vec<f64>>,
    pairs: BTreeMap<(usize, usize), Vec<f64>>,
}

impl Figures {
    fn of(nodes: usize, measured: &[Measured], levels: &BTreeMap<(usize, usize), f64>) -> Self {
        let mut repetitions: BTreeMap<u32, BTreeMap<(usize, usize), f64>> = BTreeMap::new();
        for one in measured {
            // Pairs that have no level were not measured then.
            if let Some(level) = levels.get(&one.pair) {
                let values = repetitions.entry(one.repetition).or_default();
                values.insert(one.pair, one.rtt_ns.ln() - level);
            }
        }
        let mut figures = Figures {
            typical: Vec::new(),
            nodes: vec![Vec::new(); nodes],
            pairs: BTreeMap::new(),
        };
        for values in repetitions.values() {
            figures.add(nodes, values);
        }
        figures
    }

    fn add(&mut self, nodes: usize, values: &BTreeMap<(usize, usize), f64>) {
        let model = Model::fit(nodes, values);
        self.typical.push(model.typical.exp());
        for (node, figures) in self.nodes.iter_mut().enumerate() {
            let pairs = values.keys().filter(|(a, b)| *a == node || *b == node);
            // If a node has one pair alone, the excess of that pair cannot be told between its two nodes.
            if pairs.count() > 1 {
                figures.push(model.node[node].exp());
            }
        }
        for (&pair, &value) in values {
            let figure = match nodes >= NODES {
                true => model.residual(pair, value),
                false => value,
            };
            self.pairs.entry(pair).or_default().push(figure.exp());
        }
    }
}

#[cfg(test)]
mod tests {
    use jitterlab_stats::gate::Slower;
    use jitterlab_stats::special::phi_inverse;

    use super::*;

    /// Forty repetitions of all pairs, which scatter by 2 %, are slower by such a factor, and disturbed by 40 % now and then.
    fn measured(nodes: usize, seed: u64, slower: impl Fn(usize, usize) -> f64) -> Vec<Measured> {
        let mut state = seed;
        let mut uniform = || {
            // SplitMix64 (Steele, Lea and Flood 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut measured = Vec::new();
        for repetition in 0..40 {
            for b in 0..nodes {
                for a in 0..b {
                    let noise = phi_inverse(uniform().clamp(1e-9, 1.0 - 1e-9));
                    // Nodes and pairs differ from the beginning.
                    let own = 20_000.0 + 300.0 * (a * b) as f64;
                    let disturbed = if uniform() < 0.04 { 1.4 } else { 1.0 };
                    let rtt_ns = own * slower(a, b) * disturbed * (0.02 * noise).exp();
                    measured.push(Measured {
                        pair: (a, b),
                        repetition,
                        rtt_ns,
                    });
                }
            }
        }
        measured
    }

    /// The nodes and pairs that are slower.
    fn found(drift: &Drift) -> (Vec<usize>, Vec<(usize, usize)>) {
        let is_slower = |it: &Decision| it.slower == Slower::Yes;
        let nodes = drift.nodes.iter().enumerate();
        let nodes = nodes.filter(|(_, it)| it.as_ref().is_some_and(is_slower));
        let pairs = drift.pairs.iter().filter(|(_, it)| is_slower(it));
        (
            nodes.map(|(node, _)| node).collect(),
            pairs.map(|(&pair, _)| pair).collect(),
        )
    }

    #[test]
    fn what_has_become_slower_is_named_and_nothing_else() {
        // If there are four nodes, a slow pair is one of three pairs of each of its nodes: part of its excess is taken for theirs.
        for (nodes, of_pair) in [(4, 1.2), (8, 1.1)] {
            let then = measured(nodes, 1, |_, _| 1.0);
            let now = |slower: &dyn Fn(usize, usize) -> f64| {
                let now = measured(nodes, 2, slower);
                drift(nodes, &then, &now, 0.05, 0.05).unwrap()
            };
            let equal = now(&|_, _| 1.0);
            assert_eq!(found(&equal), (vec![], vec![]));
            assert_eq!(equal.typical.unwrap().slower, Slower::No);
            let node = now(&|a, b| if a == 3 || b == 3 { 1.1 } else { 1.0 });
            assert_eq!(found(&node), (vec![3], vec![]));
            let pair = now(&|a, b| if (a, b) == (1, 2) { of_pair } else { 1.0 });
            assert_eq!(found(&pair), (vec![], vec![(1, 2)]));
            let all = now(&|_, _| 1.1);
            assert_eq!(found(&all), (vec![], vec![]));
            assert_eq!(all.typical.unwrap().slower, Slower::Yes);
        }
    }

    #[test]
    fn of_few_nodes_pairs_are_compared_as_they_are() {
        let then = measured(2, 1, |_, _| 1.0);
        let drifted = drift(2, &then, &measured(2, 2, |_, _| 1.1), 0.05, 0.05).unwrap();
        assert_eq!(found(&drifted), (vec![], vec![(0, 1)]));
        assert_eq!((drifted.typical, drifted.nodes), (None, vec![None; 2]));
        assert!(drift(2, &then, &then, 0.0, 0.05).is_err());
    }

    #[test]
    fn pairs_that_only_one_of_both_has_are_named_and_the_others_compared() {
        let all = measured(5, 1, |_, _| 1.0);
        let without = |pair| {
            let others = all.iter().filter(|one| one.pair != pair);
            others.copied().collect::<Vec<_>>()
        };
        let drifted = drift(5, &without((1, 4)), &without((0, 2)), 0.05, 0.05).unwrap();
        assert_eq!(drifted.not_compared, [(0, 2), (1, 4)]);
        assert_eq!(drifted.pairs.len(), 8);
        assert_eq!(found(&drifted), (vec![], vec![]));
        // A pair that neither has is none of them.
        let drifted = drift(5, &without((1, 4)), &without((1, 4)), 0.05, 0.05).unwrap();
        assert!(drifted.not_compared.is_empty());
    }
}

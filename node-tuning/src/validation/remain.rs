//! The nodes that go, so that those that remain fit together.

use std::collections::BTreeMap;

use super::judge::Judgement;

/// Why a node does not remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It could not be measured: it was not reached, or stalled.
    Absent,
    /// It is an outlier.
    Outlier,
    /// Its pair with this node is an outlier or failed, and of the two it was the one to go.
    Pair(usize),
}

/// The nodes that do not remain, with the reason: those that are absent, those that are outliers, and one
/// node of each pair that is an outlier or in `failed`.
///
/// Of such pairs the node that is in most of them goes first, the slower one of two that are in as many:
/// few nodes go (the greedy choice; the fewest possible would be a minimum vertex cover).
pub fn left_out(
    judgement: &Judgement,
    absent: &[usize],
    failed: &[(usize, usize)],
) -> BTreeMap<usize, Reason> {
    let outliers = judgement.nodes.iter().filter(|node| node.outlier);
    let mut out: BTreeMap<usize, Reason> = outliers
        .map(|verdict| (verdict.node, Reason::Outlier))
        .chain(absent.iter().map(|&node| (node, Reason::Absent)))
        .collect();
    let outliers = judgement.pairs.iter().filter(|pair| pair.outlier);
    let mut bad: Vec<(usize, usize)> = outliers
        .map(|verdict| verdict.pair)
        .chain(failed.iter().copied())
        .collect();
    loop {
        bad.retain(|(a, b)| !out.contains_key(a) && !out.contains_key(b));
        let Some((node, other)) = worst(judgement, &bad) else {
            return out;
        };
        out.insert(node, Reason::Pair(other));
    }
}

/// The node that goes next, and its partner in one of the pairs.
fn worst(judgement: &Judgement, bad: &[(usize, usize)]) -> Option<(usize, usize)> {
    let mut counts: BTreeMap<usize, (u32, usize)> = BTreeMap::new();
    for &(a, b) in bad {
        for (node, other) in [(a, b), (b, a)] {
            counts.entry(node).or_insert((0, other)).0 += 1;
        }
    }
    let adds = |node: usize| {
        judgement
            .nodes
            .get(node)
            .map_or(0.0, |verdict| verdict.adds)
    };
    counts
        .into_iter()
        .max_by(|(a, (n, _)), (b, (m, _))| n.cmp(m).then(adds(*a).total_cmp(&adds(*b))))
        .map(|(node, (_, other))| (node, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::judge::{Limits, Measurement, judge};

    /// Six nodes measured three times, slow where `slow` says so.
    fn judged(slow: impl Fn(usize, usize) -> f64) -> Judgement {
        let mut measurements = Vec::new();
        for repetition in 0..5 {
            for b in 0..6 {
                for a in 0..b {
                    // The values are not all alike, as measurements never are.
                    let scatter = f64::from((repetition * 7 + a as u32 * 3 + b as u32 * 5) % 11);
                    measurements.push(Measurement {
                        pair: (a, b),
                        moment: repetition,
                        rtt_ns: 10_000.0 * (1.0 + slow(a, b)) + scatter,
                    });
                }
            }
        }
        let limits = Limits {
            alpha: 0.05,
            minimum_effect: 0.05,
        };
        judge(6, &measurements, limits).unwrap()
    }

    #[test]
    fn of_a_slow_pair_one_node_goes_and_an_outlier_takes_no_other_with_it() {
        let none = judged(|_, _| 0.0);
        assert!(left_out(&none, &[], &[]).is_empty());
        let node = judged(|a, b| if a == 2 || b == 2 { 0.2 } else { 0.0 });
        let failed = [(2, 3)];
        let out = left_out(&node, &[5], &failed);
        assert_eq!(
            out,
            BTreeMap::from([(2, Reason::Outlier), (5, Reason::Absent)])
        );
        let pair = judged(|a, b| if (a, b) == (1, 4) { 0.2 } else { 0.0 });
        let out = left_out(&pair, &[], &[]);
        assert_eq!(out.len(), 1);
        assert!(
            out == BTreeMap::from([(1, Reason::Pair(4))])
                || out == BTreeMap::from([(4, Reason::Pair(1))])
        );
    }

    #[test]
    fn the_node_in_most_bad_pairs_goes() {
        let none = judged(|_, _| 0.0);
        let out = left_out(&none, &[], &[(0, 3), (3, 5), (1, 3), (1, 2)]);
        assert_eq!(out.get(&3), Some(&Reason::Pair(0)));
        assert_eq!(out.len(), 2);
        assert!(out.contains_key(&1) || out.contains_key(&2));
    }
}

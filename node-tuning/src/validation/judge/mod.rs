//! The judgement of nodes and pairs by the measurements of pairs.

mod levelled;
mod measurement;
mod nodes;
mod pairs;
mod test;

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_base::show;
use jitterlab_stats::bootstrap::Interval;
use serde::{Deserialize, Serialize};
use thiserror::Error as ThisError;

use super::additive::Model;
use levelled::Levelled;
use measurement::Pair;

pub use measurement::Measurement;

/// The limits that make an outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Level of significance of the whole verdict: the chance that a cluster in which nothing is slow has
    /// any outlier.
    pub alpha: f64,
    /// The least slowdown that matters, as a share of the latency: 0.05 for 5 %.
    pub minimum_effect: f64,
}

/// Measurements that nothing can be said of.
#[derive(Debug, Clone, PartialEq, ThisError)]
pub enum Error {
    /// A latency that is none.
    #[error("the RTT of nodes {a} and {b} is {}; it has to be above 0", show::time(*rtt_ns))]
    Latency {
        /// One of the two.
        a: usize,
        /// The other.
        b: usize,
        /// The value that was given.
        rtt_ns: f64,
    },
    /// A pair that is none.
    #[error("nodes {a} and {b} are not a pair: a pair is two different numbers below {nodes}")]
    Pair {
        /// One of the two.
        a: usize,
        /// The other.
        b: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// A limit outside its range.
    #[error("{name} is {value}; it has to be {expected}")]
    Limit {
        /// The name.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The values that are allowed.
        expected: &'static str,
    },
}

/// The observation that the test of a node counts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A pair, by the median of its repetitions.
    Pair,
    /// A repetition of a pair: where there are too few pairs for a test to reach its level.
    Repetition,
    /// Nothing: there are too few nodes or repetitions for any test.
    None,
}

/// The verdict on all nodes and pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// RTT in nanoseconds of a pair of nodes that add nothing; 0 if nothing was measured.
    pub typical_ns: f64,
    /// The observation that tests of nodes counted.
    pub unit: Unit,
    /// Whether a pair could be found to be slow: whether a test of so few repetitions, corrected for so
    /// many pairs, can reach the level of significance at all.
    pub pairs_testable: bool,
    /// A verdict for each node, in their order.
    pub nodes: Vec<NodeVerdict>,
    /// A verdict for each pair that was measured, in their order.
    pub pairs: Vec<PairVerdict>,
}

/// The slowdown of something, and how sure it is. Shares: 0.1 is 10 % slower.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slowdown {
    /// Hodges-Lehmann shift, and its interval of confidence 1 − alpha, not corrected.
    pub effect: Interval,
    /// Mann-Whitney, one-sided: slower than the others.
    pub p: f64,
    /// The same, corrected by Holm's method for all nodes or all pairs, and doubled because there are
    /// nodes and pairs: to be held against the level of significance.
    pub p_corrected: f64,
    /// The least effect that the observations can show: the step of what was measured. A lesser one makes no outlier.
    pub resolution: f64,
}

/// The verdict on a node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NodeVerdict {
    /// The node.
    #[serde(skip)]
    pub node: usize,
    /// Pairs of it that were measured.
    pub pairs: usize,
    /// The time that it adds to its pairs by the additive model, as a share of the typical latency.
    pub adds: f64,
    /// Its pairs, less what their other nodes add, against the pairs of others; none if that cannot be
    /// tested.
    #[serde(deserialize_with = "Option::deserialize")]
    pub slowdown: Option<Slowdown>,
    /// True if it is an outlier.
    pub outlier: bool,
}

/// The verdict on a pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairVerdict {
    /// The pair; the smaller number first.
    #[serde(skip)]
    pub pair: (usize, usize),
    /// Repetitions in which it was measured.
    pub n: usize,
    /// Median of their median RTTs, in nanoseconds.
    pub rtt_ns: f64,
    /// The share by which it is slower than a typical pair, whatever the reason.
    pub relative: f64,
    /// The share of that which is left beyond what its two nodes add.
    pub beyond: f64,
    /// Its repetitions beyond its nodes, against those of its neighbours: the pairs that share a node with
    /// it. None where `beyond` is below the minimum effect (it counts in the correction all the same)
    /// or cannot be tested.
    #[serde(deserialize_with = "Option::deserialize")]
    pub slowdown: Option<Slowdown>,
    /// True if it is an outlier.
    pub outlier: bool,
}

/// The data that both verdicts are made from. Values are logarithms of nanoseconds.
struct Fitted {
    /// The number of nodes.
    nodes: usize,
    /// The number of them that have been measured.
    present: usize,
    limits: Limits,
    levelled: Levelled,
    /// The value of each pair: the median of its repetitions.
    values: BTreeMap<Pair, f64>,
    model: Model,
}

/// Judges `nodes` nodes, numbered from 0, by the measurements of their pairs.
///
/// In logarithms, so that effects are shares. What measurements that were made at about the same time have in
/// common is taken off: drift. Then each node's and each pair's share is found (by
/// median polish), and:
///
/// - a node is an outlier if its pairs, less what their other nodes add, are stochastically larger than
///   the pairs without it, less what both of their nodes add: Mann-Whitney, one-sided, corrected by
///   Holm's method for all nodes, and by at least `minimum_effect` (Hodges-Lehmann). What other nodes
///   add is taken off so that two outliers do not hide each other, and the partners of one are not taken
///   for slow;
/// - a pair is an outlier if its repetitions, less what both of its nodes add, are stochastically larger
///   than its neighbours', corrected for all pairs, and by the same effect.
///
/// Nodes and pairs have half of `alpha` each.
///
/// # Errors
/// A measurement or a limit is none.
pub fn judge(
    nodes: usize,
    measurements: &[Measurement],
    limits: Limits,
) -> Result<Judgement, Error> {
    check(nodes, measurements, limits)?;
    let levelled = Levelled::of(measurements);
    let values = levelled.values();
    let present: BTreeSet<usize> = values.keys().flat_map(|&(a, b)| [a, b]).collect();
    let fitted = Fitted {
        nodes,
        present: present.len(),
        limits,
        model: Model::fit(nodes, &values),
        levelled,
        values,
    };
    let (unit, nodes) = nodes::judge(&fitted);
    let (pairs_testable, pairs) = pairs::judge(&fitted);
    Ok(Judgement {
        typical_ns: match pairs.is_empty() {
            true => 0.0,
            false => fitted.model.typical.exp(),
        },
        unit,
        pairs_testable,
        nodes,
        pairs,
    })
}

fn check(nodes: usize, measurements: &[Measurement], limits: Limits) -> Result<(), Error> {
    let Limits {
        alpha,
        minimum_effect,
    } = limits;
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(Error::Limit {
            name: "alpha",
            value: alpha,
            expected: "between 0 and 1",
        });
    }
    if !(minimum_effect >= 0.0 && minimum_effect.is_finite()) {
        return Err(Error::Limit {
            name: "the minimum effect",
            value: minimum_effect,
            expected: "a share, 0 or more",
        });
    }
    for &Measurement { pair, rtt_ns, .. } in measurements {
        let (a, b) = pair;
        if a == b || a.max(b) >= nodes {
            return Err(Error::Pair { a, b, nodes });
        }
        if !(rtt_ns > 0.0 && rtt_ns.is_finite()) {
            return Err(Error::Latency { a, b, rtt_ns });
        }
    }
    Ok(())
}

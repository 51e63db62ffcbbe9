//! The verdict on nodes.

use super::measurement::Pair;
use super::test::{Tested, corrected, reachable};
use super::{Fitted, NodeVerdict, Unit};

/// The unit of the tests, and the verdict on each node.
pub fn judge(fitted: &Fitted) -> (Unit, Vec<NodeVerdict>) {
    let unit = unit(fitted);
    let residuals = residuals(fitted, unit);
    let mut pairs = vec![0; fitted.nodes];
    for &(i, j) in fitted.values.keys() {
        pairs[i] += 1;
        pairs[j] += 1;
    }
    let tested = (0..fitted.nodes).map(|node| test(fitted, node, &residuals));
    let verdicts = corrected(tested.collect()).into_iter().enumerate();
    let verdicts = verdicts.map(|(node, slowdown)| NodeVerdict {
        node,
        pairs: pairs[node],
        adds: fitted.model.node[node].exp_m1(),
        slowdown,
        outlier: slowdown.is_some_and(|slowdown| slowdown.convicts(fitted.limits)),
    });
    (unit, verdicts.collect())
}

/// Repetitions of one pair say little about a node: a long cable would be counted as often as it was
/// measured. They count only where a test of pairs could convict nobody.
fn unit(fitted: &Fitted) -> Unit {
    let n = fitted.present;
    if n < 3 {
        return Unit::None;
    }
    let (own, others) = (n - 1, (n - 1) * (n - 2) / 2);
    let repetitions = fitted.levelled.repetitions();
    let reached = |times| reachable(times * own, times * others, n, fitted.limits.alpha);
    if reached(1) {
        Unit::Pair
    } else if reached(repetitions) {
        Unit::Repetition
    } else {
        Unit::None
    }
}

/// The part of each observation beyond the model, with its pair; the least first, so that what is taken
/// from it is in order already.
fn residuals(fitted: &Fitted, unit: Unit) -> Vec<(Pair, f64)> {
    let residual = |pair, value| (pair, fitted.model.residual(pair, value));
    let mut residuals: Vec<(Pair, f64)> = match unit {
        Unit::Pair => {
            let values = fitted.values.iter();
            values
                .map(|(&pair, &value)| residual(pair, value))
                .collect()
        }
        Unit::Repetition => {
            let pairs = fitted.levelled.of.iter();
            pairs
                .flat_map(|(&pair, all)| all.iter().map(move |&value| residual(pair, value)))
                .collect()
        }
        Unit::None => Vec::new(),
    };
    residuals.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    residuals
}

/// A node's own observations, less what the other node adds, against those of pairs without it, less what
/// both add.
fn test(fitted: &Fitted, node: usize, residuals: &[(Pair, f64)]) -> Option<Tested> {
    let (mut own, mut others) = (Vec::new(), Vec::with_capacity(residuals.len()));
    for &((i, j), residual) in residuals {
        if i == node || j == node {
            own.push(residual + fitted.model.node[node]);
        } else {
            others.push(residual);
        }
    }
    Tested::of(own, others, fitted.limits)
}

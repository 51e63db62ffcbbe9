//! The verdict on pairs.

use super::measurement::Pair;
use super::test::{Tested, corrected, reachable};
use super::{Fitted, PairVerdict};

/// With three nodes and three pairs, the model explains everything by nodes.
const LEAST_NODES: usize = 4;

/// Whether a pair could be convicted at all, and the verdict on each pair.
pub fn judge(fitted: &Fitted) -> (bool, Vec<PairVerdict>) {
    let (n, repetitions) = (fitted.present, fitted.levelled.repetitions());
    let testable = n >= LEAST_NODES && {
        let neighbours = 2 * (n - 2) * repetitions;
        reachable(
            repetitions,
            neighbours,
            n * (n - 1) / 2,
            fitted.limits.alpha,
        )
    };
    let beyond = |pair, value| fitted.model.residual(pair, value).exp_m1();
    let tested = fitted.values.iter().map(|(&pair, &value)| {
        let candidate = testable && beyond(pair, value) >= fitted.limits.minimum_effect;
        candidate.then(|| test(fitted, pair)).flatten()
    });
    let slowdowns = corrected(tested.collect());
    let verdicts = fitted
        .values
        .iter()
        .zip(slowdowns)
        .map(|((&pair, &value), slowdown)| PairVerdict {
            pair,
            n: fitted.levelled.of[&pair].len(),
            rtt_ns: value.exp(),
            relative: (value - fitted.model.typical).exp_m1(),
            beyond: beyond(pair, value),
            slowdown,
            outlier: slowdown.is_some_and(|slowdown| slowdown.convicts(fitted.limits)),
        });
    (testable, verdicts.collect())
}

fn test(fitted: &Fitted, pair: Pair) -> Option<Tested> {
    let residuals = |pair: Pair| {
        let repetitions = fitted.levelled.of.get(&pair).into_iter().flatten();
        repetitions.map(move |&value| fitted.model.residual(pair, value))
    };
    let (i, j) = pair;
    let neighbours = (0..fitted.nodes)
        .filter(|&other| other != i && other != j)
        .flat_map(|other| [i, j].map(|end| (end.min(other), end.max(other))));
    let others = neighbours.flat_map(residuals);
    Tested::of(residuals(pair).collect(), others.collect(), fitted.limits)
}

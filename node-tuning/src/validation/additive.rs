//! The additive model of latencies: what a pair takes is what all pairs take, and what each of its two
//! nodes adds.

use std::collections::BTreeMap;

use jitterlab_stats::summary::quantile;

/// `value(i, j) = typical + node[i] + node[j] + residual(i, j)`, in logarithms, so that sums are products of
/// latencies and a difference is a share of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The value of a pair of nodes that add nothing.
    pub typical: f64,
    /// The part of each node: 0 in the median of those that have pairs, and for those that have none.
    pub node: Vec<f64>,
}

/// Passes after which the fit is left as it is.
const PASSES: usize = 100;
/// A change, in logarithms, that is none: a thousandth of a percent.
const NO_CHANGE: f64 = 1e-5;

impl Model {
    /// Fits the model to the values of pairs of `n` nodes by medians, again and again until nothing
    /// changes: Tukey's median polish (1977, "Exploratory Data Analysis", chapter 11) for a table
    /// whose rows and columns are the same and whose diagonal is empty. Up to half of a node's pairs may
    /// be anything and do not move it, and a slow node is not counted against its partners.
    pub fn fit(n: usize, pairs: &BTreeMap<(usize, usize), f64>) -> Self {
        let mut partners: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
        for (&(i, j), &value) in pairs {
            partners[i].push((j, value));
            partners[j].push((i, value));
        }
        let mut model = Model {
            typical: median(pairs.values().copied().collect()).unwrap_or(0.0),
            node: vec![0.0; n],
        };
        for _ in 0..PASSES {
            let last = model.node.clone();
            // All at once: one after the other, the first would take for its own what others add.
            let effect = |i: usize| {
                let without_other = |&(j, value): &(usize, f64)| value - model.typical - last[j];
                median(partners[i].iter().map(without_other).collect())
            };
            let effects: Vec<Option<f64>> = (0..n).map(effect).collect();
            // The common part of nodes belongs to the typical pair.
            let common = median(effects.iter().flatten().copied().collect()).unwrap_or(0.0);
            let own = |effect: Option<f64>| effect.map_or(0.0, |effect| effect - common);
            model.node = effects.into_iter().map(own).collect();
            let left = |(&(i, j), &value)| value - model.node[i] - model.node[j];
            model.typical = median(pairs.iter().map(left).collect()).unwrap_or(0.0);
            let changes = model.node.iter().zip(&last).map(|(a, b)| (a - b).abs());
            if changes.fold(0.0, f64::max) < NO_CHANGE {
                break;
            }
        }
        model
    }

    /// The part of a pair's value beyond the model.
    pub fn residual(&self, (i, j): (usize, usize), value: f64) -> f64 {
        value - self.typical - self.node[i] - self.node[j]
    }
}

/// None of nothing.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(&values, 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n: usize, value: impl Fn(usize, usize) -> f64) -> BTreeMap<(usize, usize), f64> {
        (0..n)
            .flat_map(|j| (0..j).map(move |i| (i, j)))
            .map(|(i, j)| ((i, j), value(i, j)))
            .collect()
    }

    #[test]
    fn a_slow_node_and_a_slow_pair_are_told_apart() {
        let slow = |i, j| match (i, j) {
            (2, 5) => 11.0,
            (_, 7) | (7, _) => 10.3,
            _ => 10.0,
        };
        let model = Model::fit(8, &pairs(8, slow));
        for (node, &effect) in model.node.iter().enumerate() {
            let expected = if node == 7 { 0.3 } else { 0.0 };
            assert!((effect - expected).abs() < 1e-4, "{node}: {effect}");
        }
        assert!((model.typical - 10.0).abs() < 1e-4);
        assert!((model.residual((2, 5), 11.0) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn two_slow_nodes_do_not_hide_each_other() {
        let slow = |i, j| 10.0 + if i < 2 { 0.1 } else { 0.0 } + if j < 2 { 0.1 } else { 0.0 };
        let model = Model::fit(6, &pairs(6, slow));
        for (node, &effect) in model.node.iter().enumerate() {
            let expected = if node < 2 { 0.1 } else { 0.0 };
            assert!((effect - expected).abs() < 1e-3, "{node}: {effect}");
        }
    }

    #[test]
    fn of_nothing_nothing_follows() {
        let model = Model::fit(3, &BTreeMap::new());
        assert_eq!((model.typical, model.node), (0.0, vec![0.0; 3]));
    }
}

//! The test that nodes and pairs are held against.

use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::{hodges_lehmann, holm, mann_whitney, resolution};

use super::{Limits, Slowdown};

/// Nodes are one family of tests, pairs the other: each has half of the level of significance, so that the
/// level holds for the whole verdict.
const FAMILIES: f64 = 2.0;

/// The outcome of one test, not corrected yet.
#[derive(Debug, Clone, Copy)]
pub struct Tested {
    p: f64,
    effect: Interval,
    /// The least difference that the observations can show, as a share.
    resolution: f64,
}

impl Tested {
    /// Whether `own` tends to be larger than `others`, and by how much: logarithms in any order. None
    /// where one of the two is empty.
    pub fn of(mut own: Vec<f64>, mut others: Vec<f64>, limits: Limits) -> Option<Self> {
        if own.is_empty() || others.is_empty() {
            return None;
        }
        own.sort_unstable_by(f64::total_cmp);
        others.sort_unstable_by(f64::total_cmp);
        Some(Tested {
            p: slower(&own, &others),
            effect: shift(&own, &others, limits.alpha),
            resolution: resolution::of_two_sorted(&own, &others).map_or(0.0, f64::exp_m1),
        })
    }
}

/// The outcomes of a family, corrected for all of them together, and for the other family. One that was not tested counts as a test that
/// found nothing, which can only make the correction stricter.
pub fn corrected(tested: Vec<Option<Tested>>) -> Vec<Option<Slowdown>> {
    let p: Vec<f64> = tested.iter().map(|t| t.map_or(1.0, |t| t.p)).collect();
    let corrected = holm::adjust(&p);
    tested
        .into_iter()
        .zip(corrected)
        .map(|(tested, p_corrected)| {
            tested.map(|tested| Slowdown {
                effect: tested.effect,
                p: tested.p,
                p_corrected: (FAMILIES * p_corrected).min(1.0),
                resolution: tested.resolution,
            })
        })
        .collect()
}

impl Slowdown {
    /// True if it makes an outlier: an effect that is sure, that matters, and that the clock can show.
    pub(super) fn convicts(&self, limits: Limits) -> bool {
        self.p_corrected < limits.alpha
            && self.effect.estimate >= limits.minimum_effect.max(self.resolution)
    }
}

/// Whether a test can reach its level: whether `own` observations that are all larger than `others` others
/// would, corrected for a family of `tests` tests.
pub fn reachable(own: usize, others: usize, tests: usize, alpha: f64) -> bool {
    // Two of them alike: medians leave ties, and with ties the test is the normal approximation.
    let smaller: Vec<f64> = (0..others).map(|i| i.max(1) as f64).collect();
    let larger: Vec<f64> = (others..others + own).map(|i| i as f64 + 1.0).collect();
    own > 0 && others > 0 && slower(&larger, &smaller) * tests as f64 * FAMILIES < alpha
}

/// Mann-Whitney, one-sided; both sorted.
fn slower(own: &[f64], others: &[f64]) -> f64 {
    let test = mann_whitney::test_sorted(own, others);
    if test.superiority > 0.5 {
        test.p / 2.0
    } else {
        1.0 - test.p / 2.0
    }
}

/// The share by which `own` is larger; both are sorted.
fn shift(own: &[f64], others: &[f64], alpha: f64) -> Interval {
    let logarithm = hodges_lehmann::shift_sorted(own, &thinned(others), 1.0 - alpha).interval;
    Interval {
        estimate: logarithm.estimate.exp_m1(),
        low: logarithm.low.exp_m1(),
        high: logarithm.high.exp_m1(),
    }
}

/// Evenly chosen values, if there are very many: the interval is that of the smaller sample, wider than need be.
fn thinned(sorted: &[f64]) -> Vec<f64> {
    const MOST: usize = 10_000;
    let n = sorted.len().min(MOST);
    (0..n).map(|i| sorted[i * sorted.len() / n]).collect()
}

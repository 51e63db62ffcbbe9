//! The Mann-Whitney U test: does one sample tend to be larger than another?

use crate::error::{Error, check};
use crate::sort::sorted;
use crate::special::two_sided;

/// The outcome of the test, two-sided.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct MannWhitney {
    /// U of the first sample: the number of pairs in which its member is the larger one, ties
    /// counted half.
    pub u: f64,
    /// Two-sided p.
    pub p: f64,
    /// True if p is exact (small samples without ties) or from the normal approximation with
    /// correction for ties and continuity.
    pub exact: bool,
    /// The chance that a member of the first sample exceeds one of the second, ties half:
    /// U / (n m).
    pub superiority: f64,
    /// Rank-biserial correlation, 2 U / (n m) − 1 (Kerby 2014, "The simple difference formula"):
    /// −1 if every member of the first sample is smaller, 0 if neither tends to be, 1 if larger.
    pub rank_biserial: f64,
}

/// Up to this size the exact distribution is used, if there are no ties; as in SciPy.
const EXACT_UP_TO: usize = 8;

/// The test of two independent samples in any order, in O(n log n).
///
/// # Errors
/// A sample is empty or holds something not finite.
pub fn test(a: &[f64], b: &[f64]) -> Result<MannWhitney, Error> {
    check(a, "the Mann-Whitney test", 1)?;
    check(b, "the Mann-Whitney test", 1)?;
    Ok(test_sorted(&sorted(a)?, &sorted(b)?))
}

/// The same for samples in ascending order, neither of them empty.
pub fn test_sorted(a: &[f64], b: &[f64]) -> MannWhitney {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let Ranking { u, ties, tied } = rank(a, b);
    let pairs = n * m;
    let exact = !tied && is_small(a, b);
    let p = if exact {
        exact_p(a.len(), b.len(), u)
    } else {
        normal_p(a.len(), b.len(), u, ties)
    };
    MannWhitney {
        u,
        p,
        exact,
        superiority: u / pairs,
        rank_biserial: 2.0 * u / pairs - 1.0,
    }
}

fn is_small(a: &[f64], b: &[f64]) -> bool {
    a.len().min(b.len()) <= EXACT_UP_TO && a.len().max(b.len()) <= 1_000
}

/// The least U from 1 on that the test does not reject at the two-sided level `alpha`, and the share of
/// all orders in which U is less; `None` where the test is not exact. For samples in ascending order.
pub(crate) fn exact_limit(a: &[f64], b: &[f64], alpha: f64) -> Option<(u64, f64)> {
    if !is_small(a, b) || rank(a, b).tied {
        return None;
    }
    let shares = shares(a.len(), b.len());
    // Either may be rounded: a p that is alpha is not below it.
    let alpha = alpha * (1.0 - 1e-12);
    let mut below = shares[0];
    for (u, share) in (1..).zip(&shares[1..]) {
        if 2.0 * (below + share) >= alpha {
            return Some((u, below));
        }
        below += share;
    }
    None
}

struct Ranking {
    u: f64,
    /// Sum of t³ − t over groups of t tied values: exact, because the variance is what is left of a difference.
    ties: u128,
    tied: bool,
}

/// One walk through both samples in their common order.
fn rank(a: &[f64], b: &[f64]) -> Ranking {
    let (mut i, mut j) = (0, 0);
    // Twice U: whole numbers up to 2 n m, exact below 2^53.
    let mut twice_u = 0u128;
    let mut ties = 0;
    let mut tied = false;
    while i < a.len() || j < b.len() {
        let value = match (a.get(i), b.get(j)) {
            (Some(&x), Some(&y)) => x.min(y),
            (Some(&x), None) | (None, Some(&x)) => x,
            (None, None) => break,
        };
        let from_a = a[i..].iter().take_while(|&&x| x == value).count();
        let from_b = b[j..].iter().take_while(|&&x| x == value).count();
        twice_u += from_a as u128 * (2 * j as u128 + from_b as u128);
        ties += cube_less_itself(from_a + from_b);
        tied |= from_a + from_b > 1;
        i += from_a;
        j += from_b;
    }
    Ranking {
        u: twice_u as f64 / 2.0,
        ties,
        tied,
    }
}

/// Mann and Whitney 1947; the variance under ties as in Lehmann 1975, "Nonparametrics", equation
/// 1.33.
fn normal_p(n: usize, m: usize, u: f64, ties: u128) -> f64 {
    let untied = cube_less_itself(n + m) - ties;
    if untied == 0 {
        return 1.0;
    }
    let (n, m) = (n as f64, m as f64);
    let variance = n * m / (12.0 * (n + m) * (n + m - 1.0)) * untied as f64;
    let distance = (u - n * m / 2.0).abs() - 0.5;
    two_sided(distance.max(0.0) / variance.sqrt())
}

fn cube_less_itself(t: usize) -> u128 {
    let t = t as u128;
    t * t * t - t
}

/// Both tails of the distribution of U.
fn exact_p(n: usize, m: usize, u: f64) -> f64 {
    let far = u.max((n * m) as f64 - u) as usize;
    (2.0 * shares(n, m)[far..].iter().sum::<f64>()).min(1.0)
}

/// The word for the size of a rank-biserial correlation: negligible below 0.1, small below 0.3, medium below 0.5, and large
/// from there on (Cohen 1988, "Statistical power analysis for the behavioral sciences", section 3.2).
pub fn size_of_effect(rank_biserial: f64) -> &'static str {
    match rank_biserial.abs() {
        r if r < 0.1 => "negligible",
        r if r < 0.3 => "small",
        r if r < 0.5 => "medium",
        _ => "large",
    }
}

/// The share of all orders with U = 0, 1, … n m, from the number of arrangements with each U, by the
/// recursion on which sample the largest value belongs to: N(n, m, u) = N(n − 1, m, u − m) + N(n, m − 1, u).
fn shares(n: usize, m: usize) -> Vec<f64> {
    // The count is symmetric, the same for exchanged samples: the inner list is kept short.
    let (n, m) = (n.min(m), n.max(m));
    // shares[k][v]: the share of arrangements of k against the current number with U = v.
    let mut shares = vec![vec![0.0; n * m + 1]; n + 1];
    for row in &mut shares {
        row[0] = 1.0;
    }
    for j in 1..=m {
        for k in 1..=n {
            let total = (k + j) as f64;
            let next: Vec<f64> = (0..=n * m)
                .map(|v| {
                    let largest_is_ours = if v >= j { shares[k - 1][v - j] } else { 0.0 };
                    (k as f64 * largest_is_ours + j as f64 * shares[k][v]) / total
                })
                .collect();
            shares[k] = next;
        }
    }
    shares.swap_remove(n)
}

//! The binomial distribution.

use std::f64::consts::PI;

use super::gamma::stirling_remainder;

/// The chance of `k` successes in `n` trials. Each succeeds with the chance `expected` / `n`, where
/// `expected` lies between 0 and `n`.
///
/// Loader 2000, "Fast and accurate computation of binomial probabilities": as the distance from the expected
/// number, so that neither factorials nor powers are formed, which would cancel.
pub fn binomial(k: u64, n: u64, expected: f64) -> f64 {
    let (k, n) = (k as f64, n as f64);
    let (failures, expected_failures) = (n - k, n - expected);
    if k == 0.0 {
        return (n * (-expected / n).ln_1p()).exp();
    }
    if failures == 0.0 {
        return (n * (-expected_failures / n).ln_1p()).exp();
    }
    let remainder = stirling_remainder(n) - stirling_remainder(k) - stirling_remainder(failures);
    let distance = deviance(k, expected) + deviance(failures, expected_failures);
    (remainder - distance).exp() * (n / (2.0 * PI * k * failures)).sqrt()
}

/// x ln(x / m) + m − x, both above 0.
pub(super) fn deviance(x: f64, m: f64) -> f64 {
    let v = (x - m) / (x + m);
    if v.abs() >= 0.1 {
        return x * (x / m).ln() + m - x;
    }
    // ln(x / m) = 2 artanh(v); the parts that cancel are left out.
    let mut sum = (x - m) * v;
    let mut power = 2.0 * x * v;
    for j in 1..1_000 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

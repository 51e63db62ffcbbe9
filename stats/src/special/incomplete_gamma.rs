//! The incomplete gamma function, and the derivatives of the logarithm of the complete one.

use std::f64::consts::PI;

use super::binomial::deviance;
use super::gamma::stirling_remainder;

/// P(a, x) = γ(a, x) / Γ(a), the chance of a gamma variate of shape `a` > 0 and scale 1 at or below `x`.
///
/// Below a + 1 by its series (DLMF 8.7.1), above it as the complement of [`gamma_q`].
pub fn gamma_p(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if x < a + 1.0 {
        series(a, x)
    } else {
        1.0 - fraction(a, x)
    }
}

/// Q(a, x) = 1 − P(a, x), accurate in the upper tail.
///
/// Above a + 1 by Legendre's continued fraction (DLMF 8.9.2), below it as the complement of [`gamma_p`].
pub fn gamma_q(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        1.0
    } else if x < a + 1.0 {
        1.0 - series(a, x)
    } else {
        fraction(a, x)
    }
}

/// x^a e^(−x) / Γ(a + 1), as Loader forms the Poisson distribution: without factors that cancel.
fn power(a: f64, x: f64) -> f64 {
    (-stirling_remainder(a) - deviance(a, x)).exp() / (2.0 * PI * a).sqrt()
}

fn series(a: f64, x: f64) -> f64 {
    let (mut sum, mut term, mut n) = (1.0, 1.0, a);
    while term > sum * f64::EPSILON / 4.0 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    sum * power(a, x)
}

/// Lentz's evaluation of the continued fraction.
fn fraction(a: f64, x: f64) -> f64 {
    if x == f64::INFINITY {
        return 0.0;
    }
    let mut b = x + 1.0 - a;
    let mut c = f64::MAX;
    let mut d = 1.0 / b;
    let mut value = d;
    let mut n = 0.0;
    loop {
        n += 1.0;
        let numerator = n * (a - n);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < f64::EPSILON || n > 1e7 {
            return value * a * power(a, x);
        }
    }
}

/// ψ(x), the derivative of ln Γ(x), for x above 0 (DLMF 5.5.2, and 5.11.2 from 12 on).
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    const COEFFICIENTS: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32_760.0,
        1.0 / 12.0,
    ];
    let y = 1.0 / (x * x);
    let tail = COEFFICIENTS.iter().rev().fold(0.0, |sum, c| (sum + c) * y);
    sum + x.ln() - 0.5 / x - tail
}

/// ψ′(x), for x above 0 (DLMF 5.15.5, and 5.15.8 from 12 on).
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    const BERNOULLI: [f64; 7] = [
        1.0 / 6.0,
        -1.0 / 30.0,
        1.0 / 42.0,
        -1.0 / 30.0,
        5.0 / 66.0,
        -691.0 / 2_730.0,
        7.0 / 6.0,
    ];
    let y = 1.0 / (x * x);
    let tail = BERNOULLI.iter().rev().fold(0.0, |sum, c| (sum + c) * y);
    sum + (1.0 + tail) / x + 0.5 * y
}

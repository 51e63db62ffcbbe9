//! Quotients and remainders of the gamma function, without the difference of two large logarithms.

use std::f64::consts::PI;

/// Γ(a + 1/2) / Γ(a) for a above 0.
///
/// By Γ(a + 1) = a Γ(a) from where the expansion is as good as a `f64`.
pub fn half_step(a: f64) -> f64 {
    const ENOUGH: f64 = 15.0;
    let mut a = a;
    let mut factor = 1.0;
    while a < ENOUGH {
        factor *= a / (a + 0.5);
        a += 1.0;
    }
    factor * (a - 0.25).sqrt() * half_step_excess(a)
}

/// Γ(a + 1/2) / (Γ(a) √(a − 1/4)) for a of at least 15: Tricomi and Erdélyi's expansion about the middle of
/// the two arguments, in which no odd power is left (DLMF 5.11.14). The first term that is left out is 3e-18.
pub fn half_step_excess(a: f64) -> f64 {
    const COEFFICIENTS: [f64; 7] = [
        1.0,
        1.0 / 64.0,
        -19.0 / 8_192.0,
        631.0 / 524_288.0,
        -174_317.0 / 134_217_728.0,
        20_491_783.0 / 8_589_934_592.0,
        -7_334_801_895.0 / 1_099_511_627_776.0,
    ];
    let middle = a - 0.25;
    let x = 1.0 / (middle * middle);
    COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The remainder of Stirling's formula: ln n! − ((n + 1/2) ln n − n + ln √(2π)), for n above 0 (DLMF 5.11.1).
pub fn stirling_remainder(n: f64) -> f64 {
    if n < 15.0 {
        return libm::lgamma(n + 1.0) - ((n + 0.5) * n.ln() - n + 0.5 * (2.0 * PI).ln());
    }
    let x = 1.0 / (n * n);
    let coefficients = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1_260.0,
        -1.0 / 1_680.0,
        1.0 / 1_188.0,
        -691.0 / 360_360.0,
    ];
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c) / n
}

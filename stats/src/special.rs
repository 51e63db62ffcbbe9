//! The normal and Student's t distribution, by the names that formulas use.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// Φ(z), accurate in the lower tail.
pub(crate) fn phi(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// Φ⁻¹(p); −∞ at 0 and ∞ at 1.
pub(crate) fn phi_inverse(p: f64) -> f64 {
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p >= 1.0 {
        f64::INFINITY
    } else {
        let z = -SQRT_2 * erfc_inv(2.0 * p);
        // One step of Newton's method takes out what the approximation leaves.
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if density > 1e-290 {
            z - (phi(z) - p) / density
        } else {
            z
        }
    }
}

/// The chance of a normal deviate at least as far from 0 as `z`.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The chance of a Student's t deviate with `freedom` degrees at least as far from 0 as `t`.
pub(crate) fn two_sided_t(t: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) => (2.0 * distribution.cdf(-t.abs())).min(1.0),
        Err(_) => f64::NAN,
    }
}

/// The quantile of Student's t at `p`, strictly between 0 and 1, with `freedom` above 0.
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

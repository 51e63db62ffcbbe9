//! Correlation, and comparisons of correlations.

use crate::bootstrap::Interval;
use crate::error::{Error, check, check_level};
use crate::special::{phi, phi_inverse, two_sided, two_sided_inverse, two_sided_t};

/// Pearson's coefficient of correlation.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Pearson {
    /// Number of pairs.
    pub n: usize,
    /// The coefficient r with its interval, from Fisher's z transform.
    pub r: Interval,
    /// Two-sided p of the hypothesis r = 0, from Student's t with n − 2 degrees of freedom.
    pub p: f64,
}

/// Pearson's r of paired values, with the interval at `confidence`.
///
/// With three pairs Fisher's transform has no variance: the interval is −1 to 1.
///
/// # Errors
/// The lists differ in length, hold fewer than three values or one that is not finite, or one of
/// them does not vary.
pub fn pearson(x: &[f64], y: &[f64], confidence: f64) -> Result<Pearson, Error> {
    check_level("confidence", confidence)?;
    let r = coefficient(x, y)?;
    let n = x.len();
    let half_width = two_sided_inverse(1.0 - confidence) / (n as f64 - 3.0).sqrt();
    let end = |by: f64| {
        if n > 3 {
            (r.atanh() + by).tanh()
        } else {
            by.signum()
        }
    };
    let freedom = n as f64 - 2.0;
    let t = r * (freedom / (1.0 - r * r).max(0.0)).sqrt();
    Ok(Pearson {
        n,
        r: Interval {
            estimate: r,
            low: end(-half_width),
            high: end(half_width),
        },
        p: if r.abs() >= 1.0 {
            0.0
        } else {
            two_sided_t(t, freedom)
        },
    })
}

fn coefficient(x: &[f64], y: &[f64]) -> Result<f64, Error> {
    const STATISTIC: &str = "a correlation";
    if x.len() != y.len() {
        return Err(Error::Unpaired {
            left: x.len(),
            right: y.len(),
        });
    }
    check(x, STATISTIC, 3)?;
    check(y, STATISTIC, 3)?;
    let (mx, my) = (crate::summary::mean(x)?, crate::summary::mean(y)?);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (&x, &y) in x.iter().zip(y) {
        let (dx, dy) = (x - mx, y - my);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    if xx == 0.0 || yy == 0.0 {
        return Err(Error::NoVariation {
            statistic: STATISTIC,
        });
    }
    Ok((xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0))
}

/// The outcome of a comparison of two correlations.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// The normal deviate; negative if the first coefficient is the smaller one.
    pub z: f64,
    /// Its p; one or two-sided, as the test says.
    pub p: f64,
}

/// The comparison of the paper (latency-variation, section 7): Fisher's z for two correlations
/// from n pairs each, and the one-sided p = Φ(z) of "the first is not smaller".
///
/// It takes the two for independent. Where both were computed with the same runtimes they are
/// not, and [`steiger`] is the valid test; this one is here to reproduce.
///
/// # Errors
/// There are fewer than four pairs, or a coefficient is not between −1 and 1.
pub fn fisher_z(first: f64, second: f64, n: usize) -> Result<Comparison, Error> {
    check_pairs(n, "Fisher's z")?;
    check_coefficients(&[first, second])?;
    let z = (first.atanh() - second.atanh()) / (2.0 / (n as f64 - 3.0)).sqrt();
    Ok(Comparison { z, p: phi(z) })
}

/// Steiger's Z for two dependent correlations that share a variable, from the same n cases:
/// `first` = r(shared, a), `second` = r(shared, b), `between` = r(a, b). Two-sided.
///
/// Steiger 1980, "Tests for comparing elements of a correlation matrix", equation 14 with the
/// covariance of equation 3 at the mean of the two coefficients (his Z̄₁*).
///
/// # Errors
/// There are fewer than four cases, or a coefficient is not between −1 and 1, or the three
/// cannot occur together.
pub fn steiger(first: f64, second: f64, between: f64, n: usize) -> Result<Comparison, Error> {
    check_pairs(n, "Steiger's Z")?;
    check_coefficients(&[first, second])?;
    let mean = f64::midpoint(first, second);
    let unexplained = 1.0 - mean * mean;
    let psi = between * (1.0 - 2.0 * mean * mean)
        - 0.5 * mean * mean * (1.0 - 2.0 * mean * mean - between * between);
    let covariance = psi / (unexplained * unexplained);
    let spread = 2.0 - 2.0 * covariance;
    if !(-1.0..1.0).contains(&between) || spread <= 0.0 {
        return Err(Error::Parameter {
            name: "the correlation between the two variables",
            value: between,
            expected: "below 1 and possible beside the other two",
        });
    }
    let z = (first.atanh() - second.atanh()) * ((n as f64 - 3.0) / spread).sqrt();
    Ok(Comparison { z, p: two_sided(z) })
}

/// The number of cases that Steiger's test takes to find two correlations different at the level `alpha` with the chance `power`, if both
/// stay what they are where `n` cases gave `z`; infinite where z is 0.
///
/// Z is normal with variance 1 about a mean that grows with √(n − 3) (equation 14), which has to reach the sum of the quantiles of
/// 1 − alpha / 2 and of the power. That it rejects in the wrong direction is left out.
///
/// # Errors
/// There are fewer than four cases, or `alpha` or `power` is not between 0 and 1.
pub fn steiger_cases(z: f64, n: usize, alpha: f64, power: f64) -> Result<f64, Error> {
    check_pairs(n, "Steiger's Z")?;
    check_level("the level of significance", alpha)?;
    check_level("the power", power)?;
    let needed = phi_inverse(1.0 - alpha / 2.0) + phi_inverse(power);
    Ok((3.0 + (n as f64 - 3.0) * (needed / z).powi(2)).ceil())
}

fn check_pairs(n: usize, statistic: &'static str) -> Result<(), Error> {
    if n < 4 {
        return Err(Error::TooFew {
            statistic,
            needed: 4,
            given: n,
        });
    }
    Ok(())
}

fn check_coefficients(coefficients: &[f64]) -> Result<(), Error> {
    match coefficients.iter().find(|r| r.is_nan() || r.abs() >= 1.0) {
        Some(&value) => Err(Error::Parameter {
            name: "a correlation",
            value,
            expected: "between -1 and 1",
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_pairs_say_nothing_of_how_far_r_may_be_off() {
        for y in [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]] {
            let r = pearson(&[1.0, 2.0, 3.0], &y, 0.95).unwrap().r;
            assert_eq!((r.low, r.high), (-1.0, 1.0), "{y:?}");
        }
    }

    #[test]
    fn so_many_cases_give_steigers_z_that_it_takes() {
        let z = |n: usize| steiger(0.2, 0.4, 0.1, n).unwrap().z.abs();
        let cases = |alpha| steiger_cases(z(40), 40, alpha, 0.9).unwrap();
        // 1.959964 + 1.281552.
        let n = cases(0.05) as usize;
        assert!(z(n) >= 3.241_515 && z(n - 1) < 3.241_516, "{n}");
        assert!(cases(0.01) > cases(0.05));
        assert_eq!(steiger_cases(0.0, 40, 0.05, 0.9), Ok(f64::INFINITY));
        assert!(steiger_cases(1.0, 3, 0.05, 0.9).is_err());
    }
}

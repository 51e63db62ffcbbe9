//! The number of repetitions that a comparison takes: the power of the two-sided t test of repeated differences.

use crate::error::{Error, check_level};
use crate::special::{phi, phi_inverse, two_sided_t_inverse};

/// A t test that is planned: its level of significance, and the power it is to have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    alpha: f64,
    power: f64,
}

impl Plan {
    /// A test at the level `alpha` with the chance `power` to find an effect that is there.
    ///
    /// # Errors
    /// Either is not between 0 and 1, or the power is not above the level.
    pub fn new(alpha: f64, power: f64) -> Result<Self, Error> {
        check_level("the level of significance", alpha)?;
        check_level("the power", power)?;
        if power <= alpha {
            return Err(Error::Parameter {
                name: "the power",
                value: power,
                expected: "above the level of significance",
            });
        }
        Ok(Plan { alpha, power })
    }

    /// The chance that the test of `n` differences finds a mean of `effect` standard deviations.
    ///
    /// The statistic follows the noncentral t distribution with n − 1 degrees of freedom and noncentrality effect · √n
    /// (Johnson, Kotz and Balakrishnan 1995, "Continuous Univariate Distributions" 2, chapter 31): given the ratio u of the
    /// estimated to the true standard deviation it is normal, and u is integrated over. Fewer than two differences find nothing.
    pub fn power(&self, n: u64, effect: f64) -> f64 {
        if n < 2 {
            return 0.0;
        }
        let freedom = (n - 1) as f64;
        let critical = two_sided_t_inverse(self.alpha, freedom);
        let shift = effect * (n as f64).sqrt();
        over_ratios(freedom, |u| {
            phi(shift - critical * u) + phi(-shift - critical * u)
        })
    }

    /// The smallest mean, in standard deviations, that the test of `n` differences finds with the planned power, to six digits; ∞ of
    /// fewer than
    /// two.
    pub fn resolves(&self, n: u64) -> f64 {
        if n < 2 {
            return f64::INFINITY;
        }
        let mut low = self.of_known() / (n as f64).sqrt();
        let mut high = 1.1 * low;
        while self.power(n, high) < self.power {
            (low, high) = (high, 2.0 * high);
        }
        while high - low > 1e-6 * high {
            let middle = (low + high) / 2.0;
            if self.power(n, middle) < self.power {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The number of differences that the test takes to find a mean of `effect` standard deviations with the planned power;
    /// `None` where `most` are too few.
    pub fn repetitions(&self, effect: f64, most: u64) -> Option<u64> {
        // As many are enough if the standard deviation is known; to estimate it takes a few more. The cast keeps what a u64 holds.
        let least = (self.of_known() / effect.abs()).powi(2).floor() as u64;
        (least.max(2)..=most).find(|&n| self.power(n, effect) >= self.power)
    }

    /// A lower bound of the noncentrality that the test takes. It belongs to a test with a known standard deviation that rejects in the
    /// wrong direction as often as it can, with half of the level.
    fn of_known(&self) -> f64 {
        phi_inverse(1.0 - self.alpha / 2.0) + phi_inverse(self.power - self.alpha / 2.0)
    }
}

/// The mean of a function of u = √(χ² / ν), by Simpson's rule over ln u, in which the density is u^ν exp(−ν u² / 2) but for a factor.
fn over_ratios(freedom: f64, of: impl Fn(f64) -> f64) -> f64 {
    // Even numbers; the fewer degrees of freedom, the steeper is the function.
    let steps = if freedom < 4.0 { 2_000 } else { 400 };
    let deviation = 1.0 / (2.0 * freedom).sqrt();
    let (from, to) = (-10.0 * deviation - 24.0 / freedom, 10.0 * deviation);
    let step = (to - from) / f64::from(steps);
    let (mut sum, mut weights) = (0.0, 0.0);
    for i in 0..=steps {
        let log = from + f64::from(i) * step;
        let simpson = match i {
            _ if i == 0 || i == steps => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        // ν ln u − ν (u² − 1) / 2, without the difference of large numbers.
        let weight = simpson * (freedom * (log - (2.0 * log).exp_m1() / 2.0)).exp();
        sum += weight * of(log.exp());
        weights += weight;
    }
    sum / weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// n, effect, level and power: the integral over the chi distribution by mpmath 1.4.1.
    const KNOWN: [(u64, f64, f64, f64); 12] = [
        (2, 1.0, 0.05, 0.09280915505633604),
        (2, 20.0, 0.05, 0.9735240461843032),
        (3, 3.0, 0.05, 0.7452680070062834),
        (5, 1.0, 0.05, 0.4013899173717951),
        (5, 2.0, 0.01, 0.547176189293851),
        (8, 1.5, 0.05, 0.9509518161502245),
        (10, 0.5, 0.05, 0.2931756065140766),
        (20, 0.9, 0.001, 0.5663284922351474),
        (50, 0.3, 0.05, 0.547657038970515),
        (200, 0.25, 0.05, 0.9404374720438807),
        (1000, 0.1, 0.05, 0.8847890988907137),
        (100000, 0.01, 0.05, 0.8853732596448115),
    ];

    #[test]
    fn the_power_is_that_of_the_noncentral_t() {
        for (n, effect, alpha, power) in KNOWN {
            let found = Plan::new(alpha, 0.999).unwrap().power(n, effect);
            assert!(
                (found - power).abs() < 1e-8,
                "{n} {effect}: {found} {power}"
            );
        }
    }

    #[test]
    fn what_cannot_be_planned_is_refused() {
        assert!(Plan::new(0.05, 0.05).is_err());
        assert!(Plan::new(0.0, 0.9).is_err());
        assert!(Plan::new(0.05, 1.0).is_err());
        let plan = Plan::new(0.05, 0.9).unwrap();
        assert_eq!(plan.repetitions(0.0, 1_000_000), None);
        assert_eq!(plan.resolves(1), f64::INFINITY);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn as_many_repetitions_are_enough_and_one_less_is_not(effect in 0.05f64..20.0, alpha in 0.001f64..0.2) {
            let plan = Plan::new(alpha, 0.9).unwrap();
            let n = plan.repetitions(effect, 1 << 20).unwrap();
            prop_assert!(plan.power(n, effect) >= 0.9);
            prop_assert!(n == 2 || plan.power(n - 1, effect) < 0.9);
            prop_assert!(plan.resolves(n) <= effect * (1.0 + 2e-6));
        }
    }
}

//! Fits of distributions to samples, by maximum likelihood.

mod mixture;
pub mod positive;

use crate::distribution::Distribution;
use crate::error::{Error, check};
use crate::sort::sorted;
use crate::special::phi_inverse;
use crate::summary::quantile;

/// A distribution fitted to samples.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Fit {
    /// The distribution, in the unit of the samples.
    pub distribution: Distribution,
    /// Number of samples.
    pub n: usize,
    /// Logarithm of the likelihood of the samples.
    pub log_likelihood: f64,
    /// Akaike's information criterion, 2 k − 2 ln L with k parameters (Akaike 1974): less is
    /// better.
    pub aic: f64,
}

impl Fit {
    /// A distribution, beside the samples that it was fitted to.
    pub fn new(distribution: Distribution, samples: &[f64]) -> Self {
        let log_likelihood = distribution.log_likelihood(samples);
        Fit {
            distribution,
            n: samples.len(),
            log_likelihood,
            aic: 2.0 * distribution.parameters() as f64 - 2.0 * log_likelihood,
        }
    }
}

/// The constant: the samples' mean.
///
/// # Errors
/// There is no sample, or one is not finite.
pub fn constant(samples: &[f64]) -> Result<Fit, Error> {
    let value = crate::summary::mean(samples)?;
    Ok(Fit::new(Distribution::Constant { value }, samples))
}

/// The uniform distribution: from the least sample to the greatest.
///
/// # Errors
/// There are fewer than two samples, they are all equal, or one is not finite.
pub fn uniform(samples: &[f64]) -> Result<Fit, Error> {
    check(samples, "a uniform fit", 2)?;
    let low = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let high = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low == high {
        return Err(Error::NoVariation {
            statistic: "a uniform fit",
        });
    }
    Ok(Fit::new(Distribution::Uniform { low, high }, samples))
}

/// The three-parameter lognormal.
///
/// The likelihood has no maximum: it grows without bound as the location approaches the least
/// sample (Hill 1963, "The three-parameter lognormal distribution and Bayesian analysis of a
/// point-source epidemic"). The estimate is therefore the *local* maximum of the likelihood
/// profiled over the location, as is usual (Cohen 1951, "Estimating parameters of logarithmic-
/// normal distributions by maximum likelihood"). Where there is none, which happens to small or
/// hardly skewed samples, it is Cohen and Whitten's modified estimate (1980, "Estimation in the
/// three-parameter lognormal distribution"): the location for which the least sample lies where
/// the least of n normal deviates is expected.
///
/// # Errors
/// There are fewer than three samples, they are all equal, one is not finite, their range is not
/// from 1e-290 to 1e300, or so many equal the least that neither estimate is there.
pub fn lognormal(samples: &[f64]) -> Result<Fit, Error> {
    check(samples, "a lognormal fit", 3)?;
    let sorted = sorted(samples)?;
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    if min == max {
        return Err(Error::NoVariation {
            statistic: "a lognormal fit",
        });
    }
    if !RANGES.contains(&(max - min)) {
        return Err(Error::Parameter {
            name: "the range of the samples",
            value: max - min,
            expected: "from 1e-290 to 1e300 for a lognormal fit",
        });
    }
    let profile = Profile {
        min,
        samples: &sorted,
    };
    // The top is looked for in a thinned sample, because an evaluation is not cheap; where it is, all
    // samples say.
    let rough = Profile {
        min,
        samples: &thin(&sorted),
    };
    let gap = match rough.top().and_then(|step| profile.uphill(step)) {
        Some(step) => profile.climb(step),
        None => profile.modified_estimate()?,
    };
    let (mu, shape) = profile.moments_of_logarithm(gap);
    let distribution = Distribution::LogNormal {
        shape,
        location: min - gap,
        scale: mu.exp(),
    };
    Ok(Fit::new(distribution, samples))
}

/// The ranges at which no gap under- or overflows.
const RANGES: std::ops::RangeInclusive<f64> = 1e-290..=1e300;
/// Samples in the thinned sample.
const THINNED: usize = 10_000;

/// Order statistics in the middle of equal shares: none of them weighs more than it should, as the
/// least would, on which the likelihood hangs.
fn thin(sorted: &[f64]) -> Vec<f64> {
    let n = sorted.len().min(THINNED);
    (0..n)
        .map(|i| sorted[(2 * i + 1) * sorted.len() / (2 * n)])
        .collect()
}

/// The likelihood as a function of the *gap*, the distance of the location below the least
/// sample, the other two parameters being at their best.
struct Profile<'a> {
    /// The least sample.
    min: f64,
    /// The samples in ascending order.
    samples: &'a [f64],
}

/// Steps of the gap, evenly spaced in its logarithm.
const STEPS: usize = 96;

impl Profile<'_> {
    /// Mean and standard deviation (divisor n) of ln(x − location).
    fn moments_of_logarithm(&self, gap: f64) -> (f64, f64) {
        let n = self.samples.len() as f64;
        let min = self.min;
        // One pass, shifted by a typical value so that squares do not cancel.
        let shift = (quantile(self.samples, 0.5) - min + gap).ln();
        let (mut sum, mut squares) = (0.0, 0.0);
        for x in self.samples {
            let y = (x - min + gap).ln() - shift;
            sum += y;
            squares += y * y;
        }
        let mean = sum / n;
        (mean + shift, (squares / n - mean * mean).max(0.0).sqrt())
    }

    /// The log-likelihood a sample, less what does not depend on the gap.
    fn value(&self, gap: f64) -> f64 {
        let (mean, std) = self.moments_of_logarithm(gap);
        -mean - std.ln()
    }

    /// The gap at a step, from well below the resolution of the samples to where the lognormal is a normal.
    fn gap(&self, step: usize) -> f64 {
        let spread = (quantile(self.samples, 0.75) - quantile(self.samples, 0.25))
            .max((self.samples[self.samples.len() - 1] - self.min) * 1e-6);
        spread * 10f64.powf(-6.0 + 9.0 * step as f64 / (STEPS - 1) as f64)
    }

    /// The step with the highest local maximum.
    fn top(&self) -> Option<usize> {
        let values: Vec<f64> = (0..STEPS).map(|step| self.value(self.gap(step))).collect();
        (1..STEPS - 1)
            .filter(|&i| values[i] > values[i - 1] && values[i] >= values[i + 1])
            .max_by(|&a, &b| values[a].total_cmp(&values[b]))
    }

    /// The local maximum that is reached from `step` by going up; `None` if that leads to either end.
    fn uphill(&self, mut step: usize) -> Option<usize> {
        let value = |step| self.value(self.gap(step));
        while (1..STEPS - 1).contains(&step) {
            let (below, here, above) = (value(step - 1), value(step), value(step + 1));
            if below <= here && above <= here {
                return Some(step);
            }
            step = if below > above { step - 1 } else { step + 1 };
        }
        None
    }

    /// The maximum within a step of `step`, over the logarithm of the gap.
    fn climb(&self, step: usize) -> f64 {
        let (low, high) = (self.gap(step - 1).ln(), self.gap(step + 1).ln());
        // The value is flat to 1e-16 where its argument is within 1e-8 of the maximum.
        highest(low, high, 1e-7, |t| self.value(t.exp())).exp()
    }

    /// The gap with ln(gap) = μ + σ Φ⁻¹(1 / (n + 1)), by bisection. If samples lean the other way,
    /// there is none, and the widest gap makes the lognormal a normal. If too many equal the least,
    /// there is none either, and nothing to take instead.
    fn modified_estimate(&self) -> Result<f64, Error> {
        let expected = phi_inverse(1.0 / (self.samples.len() as f64 + 1.0));
        let excess = |gap: f64| {
            let (mean, std) = self.moments_of_logarithm(gap);
            gap.ln() - mean - std * expected
        };
        // Ties raise it again towards the least gaps: what counts is its last change of sign.
        let top = STEPS - 1;
        let Some(step) = (0..STEPS).rfind(|&step| excess(self.gap(step)) < 0.0) else {
            if self.value(self.gap(top)) > self.value(self.gap(top - 1)) {
                return Ok(self.gap(top));
            }
            return Err(Error::Ties {
                statistic: "a lognormal fit",
                tied: self.samples.partition_point(|&x| x <= self.min),
                n: self.samples.len(),
            });
        };
        let (mut low, mut high) = (self.gap(step).ln(), self.gap(top.min(step + 1)).ln());
        while high - low > 1e-9 {
            let middle = f64::midpoint(low, high);
            if excess(middle.exp()) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(f64::midpoint(low, high).exp())
    }
}

/// Golden-section search for where `value` is highest between `a` and `b`, to within `near`; it has one top there.
fn highest(mut a: f64, mut b: f64, near: f64, value: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut c, mut d) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
    let (mut at_c, mut at_d) = (value(c), value(d));
    while b - a > near {
        if at_c > at_d {
            (b, d, at_d) = (d, c, at_c);
            c = b - GOLDEN * (b - a);
            at_c = value(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + GOLDEN * (b - a);
            at_d = value(d);
        }
    }
    f64::midpoint(a, b)
}

//! Summaries of one sample: moments, quantiles, the empirical distribution function.

use serde::{Deserialize, Serialize};

use crate::error::{Error, check};
use crate::moments::Moments;
use crate::sort::sorted;

/// The figures of a sample, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of samples.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with the divisor n − 1; one sample has none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub std: Option<f64>,
    /// Skewness, see [`skew`]; 0 where all samples are equal, and fewer than three have none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub skew: Option<f64>,
    /// Least sample.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Greatest sample.
    pub max: f64,
}

impl Summary {
    /// Summarises samples in any order.
    ///
    /// # Errors
    /// There is no sample, or one is not finite.
    pub fn of(samples: &[f64]) -> Result<Self, Error> {
        check(samples, "a summary", 1)?;
        Ok(Summary::of_sorted(&sorted(samples)?))
    }

    /// Summarises samples in ascending order, at least one.
    ///
    /// # Panics
    /// There is no sample.
    pub fn of_sorted(sorted: &[f64]) -> Self {
        let moments = Moments::of(sorted);
        Summary {
            n: sorted.len(),
            mean: moments.mean().unwrap_or(f64::NAN),
            std: moments.std(),
            skew: moments.skew(),
            min: sorted[0],
            median: quantile(sorted, 0.5),
            p90: quantile(sorted, 0.9),
            p99: quantile(sorted, 0.99),
            p999: quantile(sorted, 0.999),
            max: sorted[sorted.len() - 1],
        }
    }
}

/// Arithmetic mean.
///
/// # Errors
/// There is no sample, or one is not finite.
pub fn mean(samples: &[f64]) -> Result<f64, Error> {
    check(samples, "a mean", 1)?;
    Ok(Moments::of(samples).mean().unwrap_or(f64::NAN))
}

/// Standard deviation with the divisor n − 1.
///
/// # Errors
/// There are fewer than two samples, or one is not finite.
pub fn std(samples: &[f64]) -> Result<f64, Error> {
    check(samples, "a standard deviation", 2)?;
    Ok(Moments::of(samples).std().unwrap_or(f64::NAN))
}

/// Skewness: the adjusted Fisher-Pearson coefficient G1 (SciPy's `skew(bias=False)`; Joanes and
/// Gill 1998, "Comparing measures of sample skewness and kurtosis", section 2). 0 where all
/// samples are equal.
///
/// # Errors
/// There are fewer than three samples, or one is not finite.
pub fn skew(samples: &[f64]) -> Result<f64, Error> {
    check(samples, "a skewness", 3)?;
    Ok(Moments::of(samples).skew().unwrap_or(f64::NAN))
}

/// The quantile at `p` (0 to 1) of samples in ascending order: linear interpolation between the
/// order statistics at (n − 1) p, which is type 7 of Hyndman and Fan 1996 ("Sample quantiles in
/// statistical packages") and the default of NumPy.
///
/// # Panics
/// There is no sample.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    below + (above - below) * place.fract()
}

/// The empirical distribution function of a sample: the share of samples at or below a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Ecdf {
    sorted: Vec<f64>,
}

impl Ecdf {
    /// The function of samples in any order.
    ///
    /// # Errors
    /// There is no sample, or one is not finite.
    pub fn of(samples: &[f64]) -> Result<Self, Error> {
        check(samples, "a distribution function", 1)?;
        Ok(Ecdf {
            sorted: sorted(samples)?,
        })
    }

    /// The share of samples at or below `x`, from 0 to 1.
    pub fn at(&self, x: f64) -> f64 {
        self.sorted.partition_point(|&sample| sample <= x) as f64 / self.sorted.len() as f64
    }

    /// The samples in ascending order: the places of the function's steps.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }
}

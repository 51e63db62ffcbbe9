//! Intervals that stay valid while one watches: confidence sequences for the mean of a series, and for the shift between two.
//!
//! An interval for a fixed number of observations, looked at again with each of them, misses the truth sooner or later.
//! A confidence sequence is an interval for each number of observations, and all of them hold the truth *together* with
//! the stated confidence (Robbins 1970, "Statistical methods related to the law of the iterated logarithm"). So one may stop
//! watching when one likes, also because of what is seen.

use crate::bootstrap::Interval;
use crate::error::{Error, check_level};

/// The number of observations that have no interval yet: how they depend on each other is not known from fewer.
pub const LEAST: u64 = 16;

/// The precision of the mixture over effects, c² of Wang and Ramdas: intervals are narrowest, for their number of
/// observations, after about eight times as many.
const PRECISION: f64 = 10.0;

/// A series of observations, as statistics of consecutive blocks of samples, in constant memory.
///
/// The interval is the confidence sequence of the t test with a normal mixture (Wang and Ramdas 2025, "Anytime-valid t-tests
/// and confidence sequences for Gaussian means with unknown variance", Sequential Analysis 44, the t-test e-process with a
/// Gaussian mixture): of n independent normal observations with mean m and sum of squared deviations Q it is
///
/// m ± √( Q k (n + c²) / (n (n − k (n + c²))) ),  k = 1 − (α² c² / (n + c²))^(1/n),
///
/// and the whole line while n ≤ k (n + c²). Statistics of blocks are close to normal. They still depend on their neighbours
/// where blocks are short, and then the variance of their mean is that of a series with the same correlation of neighbours:
/// that of independent observations times (1 + r) / (1 − r), which is the long-run variance of a first-order autoregression
/// (Box and Jenkins 1970, section 3.2.3). Boundaries for sums of independent variables hold for sums of dependent ones in the limit,
/// with the long-run variance in the place of the variance (Waudby-Smith et al. 2024, "Time-uniform central limit theory and
/// asymptotic confidence sequences", Annals of Statistics 52). A negative r is taken for 0. The estimate of r is corrected
/// for its bias, (1 + 3 r) / n (Marriott and Pope 1954).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sequence {
    n: u64,
    /// All below are differences from the first observation, so that a large mean does not swallow a small deviation.
    first: f64,
    last: f64,
    sum: f64,
    squares: f64,
    /// Products of neighbours.
    products: f64,
}

impl Sequence {
    /// Takes in the next observation; one that is not finite is left out.
    pub fn add(&mut self, observation: f64) {
        if !observation.is_finite() {
            return;
        }
        if self.n == 0 {
            self.first = observation;
        }
        let difference = observation - self.first;
        self.sum += difference;
        self.squares += difference * difference;
        self.products += difference * self.last;
        self.last = difference;
        self.n += 1;
    }

    /// The number of observations.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// Their mean; none of no observations.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.first + self.sum / self.n as f64)
    }

    /// The interval of the mean that the series comes from, which holds it at every number of observations, all together with
    /// this confidence, in the unit of the observations. None below [`LEAST`] observations, and as long as it is the whole line.
    ///
    /// # Errors
    /// The confidence is not between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Result<Option<Interval>, Error> {
        check_level("confidence", confidence)?;
        let half = self.half_width(1.0 - confidence);
        Ok(self.mean().zip(half).map(|(mean, half)| around(mean, half)))
    }

    fn half_width(&self, alpha: f64) -> Option<f64> {
        if self.n < LEAST {
            return None;
        }
        let n = self.n as f64;
        let all = n + PRECISION;
        let k = 1.0 - (alpha * alpha * PRECISION / all).powf(1.0 / n);
        let rest = n - k * all;
        let squared = self.deviations() * self.dependence() * k * all / (n * rest);
        (rest > 0.0).then(|| squared.sqrt())
    }

    /// The sum of squared deviations from the mean.
    fn deviations(&self) -> f64 {
        (self.squares - self.sum * self.sum / self.n as f64).max(0.0)
    }

    /// The factor by which the variance of the mean exceeds that of independent observations.
    fn dependence(&self) -> f64 {
        /// The greatest correlation of neighbours. With a greater one, so few observations would say nothing.
        const MOST: f64 = 0.95;
        let (n, mean) = (self.n as f64, self.sum / self.n as f64);
        let deviations = self.deviations();
        if deviations == 0.0 {
            return 1.0;
        }
        // The first difference is 0.
        let neighbours =
            self.products - mean * (2.0 * self.sum - self.last) + (n - 1.0) * mean * mean;
        let found = neighbours / deviations;
        let r = found + (1.0 + 3.0 * found.max(0.0)) / n;
        let r = r.clamp(0.0, MOST);
        (1.0 + r) / (1.0 - r)
    }
}

/// The interval of the shift from one series to another, the mean of `to` less that of `from`: at every number of observations of
/// either it holds the shift, all together with this confidence. Each series has half of what may go wrong, so that nothing is
/// assumed of how the two depend on each other. None as long as either has no interval.
///
/// ```
/// use jitterlab_stats::confidence_sequence::{Sequence, shift};
/// let (mut pinned, mut running) = (Sequence::default(), Sequence::default());
/// for block in 0..60 {
///     let noise = f64::from(block * 7 % 11);
///     pinned.add(1_000.0 + noise);
///     running.add(1_050.0 + noise);
/// }
/// let shift = shift(&pinned, &running, 0.95).unwrap().unwrap();
/// assert_eq!(shift.estimate, 50.0);
/// assert!(shift.low > 40.0 && shift.high < 60.0);
/// ```
///
/// # Errors
/// The confidence is not between 0 and 1.
pub fn shift(from: &Sequence, to: &Sequence, confidence: f64) -> Result<Option<Interval>, Error> {
    check_level("confidence", confidence)?;
    let alpha = (1.0 - confidence) / 2.0;
    let half = |series: &Sequence| Some((series.mean()?, series.half_width(alpha)?));
    let both = half(from).zip(half(to));
    Ok(both.map(|((from, a), (to, b))| around(to - from, a + b)))
}

fn around(estimate: f64, half: f64) -> Interval {
    Interval {
        estimate,
        low: estimate - half,
        high: estimate + half,
    }
}

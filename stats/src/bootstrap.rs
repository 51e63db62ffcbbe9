//! Bootstrap intervals (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapters
//! 13 and 14), seeded: the same samples and seed give the same interval.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::{Error, check, check_level};
use crate::sort::sorted;
use crate::special::{phi, phi_inverse};
use crate::summary::quantile;

/// An estimate and the interval that holds the true value with a stated confidence.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The way that an interval is resampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// The confidence, between 0 and 1.
    pub confidence: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 2,000 resamples, 95 % confidence, seed 1.
    fn default() -> Self {
        Bootstrap {
            resamples: 2_000,
            confidence: 0.95,
            seed: 1,
        }
    }
}

impl Bootstrap {
    /// The percentile interval of a statistic of one sample.
    ///
    /// # Errors
    /// There are fewer than two samples, which resampling cannot vary, or fewer than two resamples; a sample is not
    /// finite, or the confidence is not between 0 and 1.
    pub fn percentile(
        &self,
        samples: &[f64],
        statistic: impl Fn(&[f64]) -> f64,
    ) -> Result<Interval, Error> {
        let replicates = self.replicates(samples, &statistic)?;
        Ok(self.percentiles(statistic(samples), &replicates))
    }

    /// The bias-corrected and accelerated interval of a statistic of one sample. It computes the
    /// statistic once more for each sample left out, so it is for small samples: of runs, not of
    /// packets.
    ///
    /// # Errors
    /// As [`Bootstrap::percentile`].
    pub fn bca(
        &self,
        samples: &[f64],
        statistic: impl Fn(&[f64]) -> f64,
    ) -> Result<Interval, Error> {
        let replicates = self.replicates(samples, &statistic)?;
        let estimate = statistic(samples);
        let below = replicates.partition_point(|&r| r < estimate);
        let ties = replicates[below..]
            .iter()
            .take_while(|&&r| r == estimate)
            .count();
        let share = (below as f64 + 0.5 * ties as f64) / replicates.len() as f64;
        let bias = phi_inverse(share);
        let acceleration = acceleration(samples, &statistic);
        let end = |p: f64| {
            let z = bias + phi_inverse(p);
            quantile(&replicates, phi(bias + z / (1.0 - acceleration * z)))
        };
        let tail = (1.0 - self.confidence) / 2.0;
        if !bias.is_finite() {
            // Every replicate lies on one side: there is nothing to correct with.
            return self.percentile(samples, statistic);
        }
        Ok(Interval {
            estimate,
            low: end(tail),
            high: end(1.0 - tail),
        })
    }

    /// The percentile interval of a statistic of two independent samples.
    ///
    /// # Errors
    /// As [`Bootstrap::percentile`], for either sample.
    pub fn percentile_of_two(
        &self,
        a: &[f64],
        b: &[f64],
        statistic: impl Fn(&[f64], &[f64]) -> f64,
    ) -> Result<Interval, Error> {
        self.percentile_of_each(&[a, b], |drawn| statistic(&drawn[0], &drawn[1]))
    }

    /// The percentile interval of a statistic of several independent samples.
    ///
    /// # Errors
    /// As [`Bootstrap::percentile`], for any of the samples.
    pub fn percentile_of_each(
        &self,
        samples: &[&[f64]],
        statistic: impl Fn(&[Vec<f64>]) -> f64,
    ) -> Result<Interval, Error> {
        for sample in samples {
            self.check(sample)?;
        }
        let whole: Vec<Vec<f64>> = samples.iter().map(|sample| sample.to_vec()).collect();
        let mut drawn = whole.clone();
        let replicates = self.repeated(|random| {
            for (sample, drawn) in whole.iter().zip(&mut drawn) {
                resample(sample, drawn, random);
            }
            statistic(&drawn)
        })?;
        Ok(self.percentiles(statistic(&whole), &replicates))
    }

    /// The interval between the percentiles of replicates in ascending order.
    fn percentiles(&self, estimate: f64, replicates: &[f64]) -> Interval {
        let tail = (1.0 - self.confidence) / 2.0;
        Interval {
            estimate,
            low: quantile(replicates, tail),
            high: quantile(replicates, 1.0 - tail),
        }
    }

    /// The statistic of every resample, in ascending order.
    fn replicates(
        &self,
        samples: &[f64],
        statistic: &impl Fn(&[f64]) -> f64,
    ) -> Result<Vec<f64>, Error> {
        self.check(samples)?;
        let mut drawn = samples.to_vec();
        self.repeated(|random| {
            resample(samples, &mut drawn, random);
            statistic(&drawn)
        })
    }

    fn check(&self, samples: &[f64]) -> Result<(), Error> {
        check_level("confidence", self.confidence)?;
        if self.resamples < 2 {
            return Err(Error::Parameter {
                name: "resamples",
                value: self.resamples as f64,
                expected: "at least 2",
            });
        }
        check(samples, "a bootstrap interval", 2)
    }

    /// The results of `replicate` for all resamples, in ascending order.
    fn repeated(
        &self,
        mut replicate: impl FnMut(&mut Xoshiro256PlusPlus) -> f64,
    ) -> Result<Vec<f64>, Error> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let replicates: Vec<f64> = (0..self.resamples)
            .map(|_| replicate(&mut random))
            .collect();
        sorted(&replicates)
    }
}

fn resample(samples: &[f64], drawn: &mut [f64], random: &mut Xoshiro256PlusPlus) {
    for place in drawn {
        *place = samples[random.random_range(0..samples.len())];
    }
}

/// The acceleration from the jackknife (Efron and Tibshirani, equation 14.15).
fn acceleration(samples: &[f64], statistic: &impl Fn(&[f64]) -> f64) -> f64 {
    let mut left_out = samples[1..].to_vec();
    let mut values = vec![statistic(&left_out)];
    for i in 1..samples.len() {
        left_out[i - 1] = samples[i - 1];
        values.push(statistic(&left_out));
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in values {
        let d = mean - value;
        squares += d * d;
        cubes += d * d * d;
    }
    if squares > 0.0 {
        cubes / (6.0 * squares.powf(1.5))
    } else {
        0.0
    }
}

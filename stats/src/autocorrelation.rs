//! The likeness of samples that were taken one after the other.

use crate::error::{Error, check};

/// The lags at which the order of latencies is looked at: neighbours, and what lies farther apart.
pub const LAGS: [usize; 3] = [1, 10, 100];

/// The correlation of the ranks of samples in their order with those of as many samples later, for each of `lags`: 0 where
/// samples come in any order, towards 1 where long ones come together. Ranks rather than samples, because one very long sample would
/// otherwise decide alone. Equal samples have the mean of their ranks.
///
/// The coefficient at lag k is Σ (r_t − r̄)(r_{t+k} − r̄) / Σ (r_t − r̄)². The first sum has k members less (Box and Jenkins 1970,
/// "Time Series Analysis", equation 2.1.11).
///
/// # Errors
/// There are no more samples than the longest lag, one is not finite, or all are equal.
pub fn of_ranks(samples: &[f64], lags: &[usize]) -> Result<Vec<f64>, Error> {
    const STATISTIC: &str = "an autocorrelation";
    let longest = lags.iter().copied().max().unwrap_or(0);
    check(samples, STATISTIC, longest + 2)?;
    let ranks = deviations_of_ranks(samples);
    let squares: f64 = ranks.iter().map(|r| r * r).sum();
    if squares == 0.0 {
        return Err(Error::NoVariation {
            statistic: STATISTIC,
        });
    }
    let products =
        |lag: usize| -> f64 { ranks.iter().zip(&ranks[lag..]).map(|(a, b)| a * b).sum() };
    Ok(lags.iter().map(|&lag| products(lag) / squares).collect())
}

/// The rank of each sample, less the mean rank.
fn deviations_of_ranks(samples: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_unstable_by(|&a, &b| samples[a].total_cmp(&samples[b]));
    let mean = (samples.len() - 1) as f64 / 2.0;
    let mut ranks = vec![0.0; samples.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| samples[a] == samples[b]) {
        let rank = before as f64 + (equal.len() - 1) as f64 / 2.0;
        for &i in equal {
            ranks[i] = rank - mean;
        }
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_alternate_and_samples_in_blocks() {
        let alternating: Vec<f64> = (0..1_000).map(|i| f64::from(i % 2)).collect();
        let blocks: Vec<f64> = (0..1_000).map(|i| f64::from(i / 100 % 2)).collect();
        let r = of_ranks(&alternating, &[1, 2]).unwrap();
        assert!((r[0] + 0.999).abs() < 1e-12 && (r[1] - 0.998).abs() < 1e-12);
        let r = of_ranks(&blocks, &[1, 100]).unwrap();
        assert!(
            (r[0] - 0.981).abs() < 1e-12 && (r[1] + 0.9).abs() < 1e-12,
            "{r:?}"
        );
    }

    #[test]
    fn what_has_no_autocorrelation_is_refused() {
        assert!(of_ranks(&[1.0; 20], &[1]).is_err());
        assert!(of_ranks(&[1.0, 2.0], &[1]).is_err());
        assert!(of_ranks(&[1.0, f64::NAN, 2.0], &[1]).is_err());
    }
}

//! Mixtures of lognormals, by expectation and maximisation.

use crate::error::Error;
use crate::positive::{Component, Mixture, Positive};

/// The least standard deviation of a logarithm: without a floor the likelihood grows without bound as a lognormal closes in on one sample
/// (Day
/// 1969, "Estimating the components of a mixture of normal distributions"). Two percent is what a clock's steps are to a delay.
const FLOOR: f64 = 0.02;
/// The number of rounds that show which start is the best. The best goes on to the end (Biernacki, Celeux and Govaert 2003, "Choosing
/// starting values for the EM algorithm").
const SHORT: usize = 40;
/// The most rounds.
const ROUNDS: usize = 2_000;
/// Logarithms are gathered in as many bins of one width.
const BINS: usize = 4_096;

/// A bin: how many logarithms are in it, and their mean.
struct Bin {
    count: f64,
    mean: f64,
}

/// Fits a mixture of `count` lognormals to samples above 0 in ascending order: the best of several starts.
///
/// Dempster, Laird and Rubin 1977, "Maximum likelihood from incomplete data via the EM algorithm", section 4.3, on the logarithms,
/// gathered in
/// 4,096 bins.
///
/// # Errors
/// Too few of the samples differ for so many lognormals.
pub(super) fn fit(sorted: &[f64], count: usize) -> Result<Positive, Error> {
    let bins = bins(sorted);
    let few = || Error::TooFew {
        statistic: "a fit of a mixture",
        needed: 2 * count,
        given: bins.len(),
    };
    if bins.len() < 2 * count {
        return Err(few());
    }
    // The shares of the starts part at these: alike, and with ever less in the upper tail and in the lower.
    let cuts: &[&[f64]] = match count {
        2 => &[&[0.5], &[0.9], &[0.99], &[0.999], &[0.1]],
        _ => &[
            &[0.33, 0.67],
            &[0.5, 0.9],
            &[0.5, 0.99],
            &[0.9, 0.99],
            &[0.9, 0.999],
            &[0.1, 0.9],
        ],
    };
    let best = cuts
        .iter()
        .map(|cuts| climb(&bins, start(&bins, cuts), SHORT))
        .max_by(|a, b| a.likelihood.total_cmp(&b.likelihood))
        .ok_or_else(few)?;
    let best = climb(&bins, best.normals, ROUNDS);
    let components: Vec<Component> = best
        .normals
        .iter()
        .map(|normal| Component {
            weight: normal.weight,
            shape: normal.std,
            scale: normal.mean.exp(),
        })
        .collect();
    Mixture::new(&components)
        .map(Positive::Mixture)
        .ok_or_else(few)
}

fn bins(sorted: &[f64]) -> Vec<Bin> {
    let low = sorted[0].ln();
    let width = (sorted[sorted.len() - 1].ln() - low) / BINS as f64;
    let mut bins: Vec<Bin> = (0..BINS)
        .map(|_| Bin {
            count: 0.0,
            mean: 0.0,
        })
        .collect();
    for x in sorted {
        let y = x.ln();
        let bin = &mut bins[(((y - low) / width) as usize).min(BINS - 1)];
        bin.count += 1.0;
        bin.mean += (y - bin.mean) / bin.count;
    }
    bins.retain(|bin| bin.count > 0.0);
    bins
}

/// A normal of the logarithms.
#[derive(Clone, Copy)]
struct Normal {
    weight: f64,
    mean: f64,
    std: f64,
}

impl Normal {
    /// The normal of the bins, each with a share.
    fn of(bins: &[Bin], share: impl Fn(usize) -> f64) -> Normal {
        let all: f64 = bins.iter().map(|bin| bin.count).sum();
        let weighted = |of: &dyn Fn(&Bin) -> f64| -> f64 {
            let terms = bins.iter().enumerate();
            terms.map(|(i, bin)| share(i) * bin.count * of(bin)).sum()
        };
        let weight = weighted(&|_| 1.0).max(all * 1e-12);
        let mean = weighted(&|bin| bin.mean) / weight;
        let variance = weighted(&|bin| (bin.mean - mean).powi(2)) / weight;
        Normal {
            weight: weight / all,
            mean,
            std: variance.sqrt().max(FLOOR),
        }
    }

    /// The logarithm of its density at its mean, times √(2π).
    fn log_height(&self) -> f64 {
        self.weight.ln() - self.std.ln()
    }

    /// How much less the logarithm of its density is at `y` than at its mean.
    fn log_drop(&self, y: f64) -> f64 {
        let z = (y - self.mean) / self.std;
        0.5 * z * z
    }
}

/// A normal for each part of the samples between these shares.
fn start(bins: &[Bin], cuts: &[f64]) -> Vec<Normal> {
    let all: f64 = bins.iter().map(|bin| bin.count).sum();
    let mut seen = 0.0;
    let part: Vec<usize> = bins
        .iter()
        .map(|bin| {
            let middle = (seen + bin.count / 2.0) / all;
            seen += bin.count;
            cuts.iter().take_while(|&&cut| middle > cut).count()
        })
        .collect();
    (0..=cuts.len())
        .map(|which| Normal::of(bins, |i| f64::from(u8::from(part[i] == which))))
        .collect()
}

/// The end of a climb.
struct Top {
    normals: Vec<Normal>,
    likelihood: f64,
}

/// Rounds of expectation and maximisation, `rounds` at most, until the likelihood a sample rises by less than 1e-10.
fn climb(bins: &[Bin], mut normals: Vec<Normal>, rounds: usize) -> Top {
    let all: f64 = bins.iter().map(|bin| bin.count).sum();
    let mut shares = vec![vec![0.0; bins.len()]; normals.len()];
    let mut last = f64::NEG_INFINITY;
    let mut heights = vec![0.0; normals.len()];
    for _ in 0..rounds {
        for (height, normal) in heights.iter_mut().zip(&normals) {
            *height = normal.log_height();
        }
        let mut likelihood = 0.0;
        for (i, bin) in bins.iter().enumerate() {
            let mut most = f64::NEG_INFINITY;
            for ((shares, normal), height) in shares.iter_mut().zip(&normals).zip(&heights) {
                shares[i] = height - normal.log_drop(bin.mean);
                most = most.max(shares[i]);
            }
            let mut sum = 0.0;
            for shares in &mut shares {
                // The exponential of 0 is not computed: each bin has one.
                shares[i] = match shares[i] == most {
                    true => 1.0,
                    false => (shares[i] - most).exp(),
                };
                sum += shares[i];
            }
            for shares in &mut shares {
                shares[i] /= sum;
            }
            likelihood += bin.count * (most + sum.ln());
        }
        likelihood /= all;
        if likelihood - last < 1e-10 {
            break;
        }
        last = likelihood;
        for (normal, shares) in normals.iter_mut().zip(&shares) {
            *normal = Normal::of(bins, |i| shares[i]);
        }
    }
    Top {
        normals,
        likelihood: last,
    }
}

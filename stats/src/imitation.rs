//! The closeness of delays to the samples that they imitate, and the distribution that comes closest.

use crate::distribution::Distribution;
use crate::error::{Error, check};
use crate::fit;
use crate::ks::distance_between;
use crate::positive::Family;
use crate::sort::sorted;
use crate::wasserstein;

/// The number of delays that stand for a distribution here: a table's.
const SLICES: usize = 4_096;
/// The greatest distance of the standard deviation of an imitation from the samples', in proportion.
pub const NEAR: f64 = 0.25;

/// Delays beside the samples that they are to imitate, all in the unit of the samples. Samples below 0 count as 0: no delay imitates them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closeness {
    /// The share of delays that are 0.
    pub zeros: f64,
    /// The share of samples that are.
    pub zeros_of_samples: f64,
    /// Wasserstein-1 distance between delays and samples.
    pub distance: f64,
    /// The distance between the samples' mean and the samples: a constant delay's.
    pub distance_of_constant: f64,
    /// The greatest difference of the two distribution functions (Kolmogorov-Smirnov's D).
    pub largest_difference: f64,
    /// Standard deviation of the delays (divisor n).
    pub std: f64,
    /// Standard deviation of the samples (divisor n).
    pub std_of_samples: f64,
}

/// Why delays are no imitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// They are no closer to the samples than their mean is.
    NoCloserThanConstant,
    /// Their standard deviation is off by more than [`NEAR`].
    Deviation,
}

impl Closeness {
    /// Compares delays with samples.
    ///
    /// # Errors
    /// Either is empty, or holds something not finite.
    pub fn between(samples: &[f64], delays: &[f64]) -> Result<Self, Error> {
        check(samples, "a comparison with samples", 1)?;
        check(delays, "a comparison with samples", 1)?;
        Ok(Closeness::of_sorted(
            &injectable(samples)?,
            &sorted(delays)?,
        ))
    }

    /// The same of samples that are 0 or more; both in ascending order.
    fn of_sorted(samples: &[f64], delays: &[f64]) -> Self {
        let (mean, std_of_samples) = moments(samples);
        let (_, std) = moments(delays);
        Closeness {
            zeros: zeros(delays),
            zeros_of_samples: zeros(samples),
            distance: wasserstein::distance_sorted(samples, delays),
            distance_of_constant: wasserstein::distance_sorted(samples, &[mean]),
            largest_difference: distance_between(samples, delays),
            std,
            std_of_samples,
        }
    }

    /// The distance over a constant's: 0 is the same distribution, 1 no better than the mean alone.
    pub fn distance_ratio(&self) -> f64 {
        ratio(self.distance, self.distance_of_constant, 0.0)
    }

    /// The standard deviation over the samples'.
    pub fn std_ratio(&self) -> f64 {
        ratio(self.std, self.std_of_samples, 1.0)
    }

    /// Why these delays do not imitate the samples; `None` where they do.
    pub fn fault(&self) -> Option<Fault> {
        if self.distance > 0.0 && self.distance_ratio() >= 1.0 {
            Some(Fault::NoCloserThanConstant)
        } else if (self.std_ratio() - 1.0).abs() > NEAR {
            Some(Fault::Deviation)
        } else {
            None
        }
    }
}

fn ratio(of: f64, to: f64, if_both_are_nothing: f64) -> f64 {
    if of == 0.0 && to == 0.0 {
        if_both_are_nothing
    } else {
        of / to
    }
}

/// The samples in ascending order, and those below 0 as 0.
fn injectable(samples: &[f64]) -> Result<Vec<f64>, Error> {
    let mut sorted = sorted(samples)?;
    for sample in &mut sorted {
        *sample = sample.max(0.0);
    }
    Ok(sorted)
}

fn zeros(sorted: &[f64]) -> f64 {
    sorted.partition_point(|&x| x <= 0.0) as f64 / sorted.len() as f64
}

/// Mean and standard deviation (divisor n).
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// A distribution that was fitted to samples, and how close it came.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Candidate {
    /// The distribution, with the mean of the samples.
    pub distribution: Distribution,
    /// Beside the samples.
    pub closeness: Closeness,
}

/// Families that cannot be fitted to samples, each with the reason.
pub type LeftOut = Vec<(Family, Error)>;

/// Fits every family to samples, an atom at 0 beside it, and the lognormal of three parameters where all are above 0, and gives each the
/// samples' mean: the chosen one first, then by distance.
///
/// The chosen one has the fewest parameters among those that are as close as the closest. As close is what differs by no more than the mean
/// distance of n independent samples from their own distribution, √(2 / π n) ∫ √(F (1 − F)) dx (del Barrio, Giné and Matrán 1999,
/// "Central limit
/// theorems for the Wasserstein distance between the empirical and the true distributions"): a mixture can always come a little closer.
/// Samples that are all equal
/// have the constant alone.
///
/// # Errors
/// There is no sample, or one is not finite; of samples that are not all equal, fewer than ten are above 0, or those are all equal.
pub fn candidates(samples: &[f64]) -> Result<Vec<Candidate>, Error> {
    every(samples).map(|(found, _)| found)
}

/// The same, and each family that cannot be fitted to the samples, with the reason.
///
/// # Errors
/// As [`candidates`].
pub fn every(samples: &[f64]) -> Result<(Vec<Candidate>, LeftOut), Error> {
    check(samples, "a fit of an excess", 1)?;
    let sorted = injectable(samples)?;
    if sorted[0] == sorted[sorted.len() - 1] {
        let distribution = Distribution::Constant { value: sorted[0] };
        let constant = Candidate {
            distribution,
            closeness: Closeness::of_sorted(&sorted, &[sorted[0]]),
        };
        return Ok((vec![constant], Vec::new()));
    }
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for family in Family::ALL {
        match of_sorted(family, &sorted) {
            Ok(candidate) => found.push(candidate),
            Err(error) => left_out.push((family, error)),
        }
    }
    let (mean, _) = moments(&sorted);
    if let Some(distribution) = three_parameters(&sorted, mean) {
        found.push(Candidate {
            distribution,
            closeness: Closeness::of_sorted(&sorted, &distribution.slices(SLICES)),
        });
    }
    let distance = |c: &Candidate| c.closeness.distance;
    found.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let Some(closest) = found.first().map(distance) else {
        let too_few = Error::TooFew {
            statistic: "a fit of an excess",
            needed: 1,
            given: 0,
        };
        return Err(left_out.pop().map_or(too_few, |(_, error)| error));
    };
    let enough = closest + scatter(&sorted);
    let simplest = |&i: &usize| (found[i].distribution.parameters(), i);
    let as_close = (0..found.len()).filter(|&i| distance(&found[i]) <= enough);
    if let Some(chosen) = as_close.min_by_key(simplest) {
        found[..=chosen].rotate_right(1);
    }
    Ok((found, left_out))
}

/// Fits one family to samples, an atom at 0 beside it, and gives it the samples' mean.
///
/// # Errors
/// There is no sample, one is not finite, or those above 0 are too few or all equal.
pub fn candidate(family: Family, samples: &[f64]) -> Result<Candidate, Error> {
    check(samples, "a fit of an excess", 1)?;
    of_sorted(family, &injectable(samples)?)
}

fn of_sorted(family: Family, sorted: &[f64]) -> Result<Candidate, Error> {
    let first = sorted.partition_point(|&x| x <= 0.0);
    let fitted = family.fit(&sorted[first..])?;
    let zeros = first as f64 / sorted.len() as f64;
    let (mean, _) = moments(sorted);
    let distribution = Distribution::WithZeros {
        zeros,
        rest: fitted.scaled(mean / (1.0 - zeros) / fitted.mean()),
    };
    Ok(Candidate {
        distribution,
        closeness: Closeness::of_sorted(sorted, &distribution.slices(SLICES)),
    })
}

/// The lognormal of three parameters, moved so that its mean is `mean`: the fitted one's own can be off by what its tail was misjudged.
/// `None`
/// where it then reaches below 0, or cannot be fitted.
fn three_parameters(sorted: &[f64], mean: f64) -> Option<Distribution> {
    if sorted[0] <= 0.0 {
        return None;
    }
    let fitted = fit::lognormal(sorted).ok()?.distribution;
    match fitted {
        Distribution::LogNormal {
            shape,
            location,
            scale,
        } => {
            let location = location + mean - fitted.mean();
            (location >= 0.0).then_some(Distribution::LogNormal {
                shape,
                location,
                scale,
            })
        }
        _ => None,
    }
}

/// The mean distance of as many independent samples from the distribution of these.
fn scatter(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let area: f64 = sorted
        .windows(2)
        .enumerate()
        .map(|(i, pair)| {
            let below = (i + 1) as f64 / n;
            (below * (1.0 - below)).sqrt() * (pair[1] - pair[0])
        })
        .sum();
    (2.0 / (std::f64::consts::PI * n)).sqrt() * area
}

/// `count` values that stand for samples. Each is the mean of one of as many equal shares of the samples in ascending order. The greatest
/// are spread until the standard deviation is the samples', too. Samples below 0 count as 0.
///
/// Means of shares lack the variation within a share, which is in the upper tail. As few of the greatest values as will do give it back,
/// and stay above the others.
///
/// # Errors
/// There is no sample, or one is not finite.
pub fn slices(samples: &[f64], count: usize) -> Result<Vec<f64>, Error> {
    check(samples, "a table of samples", 1)?;
    let sorted = injectable(samples)?;
    let width = sorted.len() as f64 / count as f64;
    let mut values: Vec<f64> = (0..count)
        .map(|i| mean_of_share(&sorted, i as f64 * width, (i + 1) as f64 * width))
        .collect();
    let (_, wanted) = moments(&sorted);
    let (_, found) = moments(&values);
    let missing = (wanted * wanted - found * found) * count as f64;
    if missing > 0.0 {
        stretch(&mut values, missing);
    }
    Ok(values)
}

/// The mean of the samples from place `from` to place `to`. Either place may lie within a sample.
fn mean_of_share(sorted: &[f64], from: f64, to: f64) -> f64 {
    let last = sorted.len() - 1;
    let (first, end) = ((from as usize).min(last), (to as usize).min(last));
    if first == end {
        return sorted[first];
    }
    let whole: f64 = sorted[first + 1..end].iter().sum();
    let begun = (first as f64 + 1.0 - from) * sorted[first];
    let cut = (to - end as f64) * sorted[end];
    (begun + whole + cut) / (to - from)
}

/// Adds `missing` to the sum of squares, by the greatest values: as few as will do are drawn down towards the one below them, and the
/// greatest rises by as much. Where samples are rarer than a value can be, as one very long one among many, this takes more than the
/// greatest two.
fn stretch(values: &mut [f64], missing: f64) {
    let Some((greatest, others)) = values.split_last_mut() else {
        return;
    };
    // The gain in squares of the values from `first` on, if they are drawn down to a share of their distance from `below`.
    let gained = |others: &[f64], greatest: f64, below: f64, share: f64| {
        let drawn = |x: f64| below + share * (x - below);
        let risen = greatest + others.iter().map(|&x| x - drawn(x)).sum::<f64>();
        let lost: f64 = others.iter().map(|&x| x * x - drawn(x).powi(2)).sum();
        risen * risen - greatest * greatest - lost
    };
    // The sums up to here, so that each further value costs no new pass.
    let (mut sum, mut squares, mut n) = (0.0, 0.0, 0.0);
    for first in (0..others.len()).rev() {
        let below = if first == 0 { 0.0 } else { others[first - 1] };
        (sum, squares, n) = (
            sum + others[first],
            squares + others[first].powi(2),
            n + 1.0,
        );
        let risen = *greatest + sum - n * below;
        let most = risen * risen - *greatest * *greatest - (squares - n * below * below);
        if most < missing {
            continue;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while high - low > 1e-12 {
            let middle = f64::midpoint(low, high);
            match gained(&others[first..], *greatest, below, middle) > missing {
                true => low = middle,
                false => high = middle,
            }
        }
        for x in &mut others[first..] {
            let drawn = below + low * (*x - below);
            *greatest += *x - drawn;
            *x = drawn;
        }
        return;
    }
}

/// The multiples of the standard deviation between which there is a power of samples: it reaches no others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutOfReach {
    /// The least, not reached itself; 0 stands for a constant and is always there.
    pub least: f64,
    /// The greatest, not reached itself.
    pub most: f64,
}

/// Values c · x^p that have the mean of `values` and `multiple` times their standard deviation; with 0, a constant.
///
/// `values` are in ascending order, none below 0. c follows from the mean. The standard deviation rises with p, from that of equal values,
/// if there are any, to that of one value that holds everything.
///
/// # Errors
/// No power has that standard deviation.
pub fn scaled(values: &[f64], multiple: f64) -> Result<Vec<f64>, OutOfReach> {
    let (mean, std) = moments(values);
    if multiple == 0.0 || std == 0.0 {
        return Ok(vec![mean; values.len()]);
    }
    let most = values[values.len() - 1];
    let of = |power: f64| -> Vec<f64> {
        let raised = values.iter().map(|x| match x / most {
            0.0 => 0.0,
            y => y.powf(power),
        });
        let raised: Vec<f64> = raised.collect();
        let (of_raised, _) = moments(&raised);
        raised.iter().map(|y| y * mean / of_raised).collect()
    };
    let reached = |power: f64| moments(&of(power)).1 / std;
    let (mut low, mut high) = (-20.0f64, 10.0f64);
    let reach = OutOfReach {
        least: reached(low.exp()),
        most: reached(high.exp()),
    };
    if !(reach.least < multiple && multiple < reach.most) {
        return Err(reach);
    }
    while high - low > 1e-12 {
        let middle = f64::midpoint(low, high);
        if reached(middle.exp()) < multiple {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(of(f64::midpoint(low, high).exp()))
}

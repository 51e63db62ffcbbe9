//! Makes a distribution into a table.

use std::fmt::Display;

use jitterlab_base::show;
use jitterlab_stats::distribution::Distribution;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::check::AskedAndMade;
use crate::generator::TABLE_ENTRIES;
use crate::table::DelayUnit;
use crate::table::{DistributionTable, MAX_DELAY_NS};
use jitterlab_base::named;

/// The kinds of distribution that tables are made from and samples are fitted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Every delay is the same.
    Constant,
    /// Every delay between two bounds is as likely.
    Uniform,
    /// Three-parameter lognormal.
    LogNormal,
}

named!(Shape, serde, "a shape", Constant => "constant", Uniform => "uniform", LogNormal => "lognormal");

impl Shape {
    /// The distribution of this shape with a mean, a standard deviation and, for the lognormal, a
    /// lower end (all in nanoseconds).
    ///
    /// # Errors
    /// What is wrong with the three, for people.
    pub fn with_moments(self, mean: f64, std: f64, location: f64) -> Result<Distribution, String> {
        match self {
            Shape::Constant if std != 0.0 => {
                Err("a constant shape takes no standard deviation".into())
            }
            Shape::Constant => Ok(Distribution::Constant { value: mean }),
            Shape::Uniform if std <= 0.0 => {
                Err("a uniform shape needs a standard deviation".into())
            }
            Shape::Uniform => {
                let half = std * 3f64.sqrt();
                if half > mean {
                    return Err(format!(
                        "a uniform distribution with mean {} and standard deviation {} has negative delays; the standard \
                         deviation may be at most mean / √3",
                        show::time(mean),
                        show::time(std)
                    ));
                }
                Ok(Distribution::Uniform {
                    low: mean - half,
                    high: mean + half,
                })
            }
            Shape::LogNormal => Distribution::lognormal_with_moments(mean, std, location)
                .ok_or_else(|| {
                    "a lognormal shape needs a standard deviation above 0 and a mean above its \
                     location"
                        .into()
                }),
        }
    }
}

/// The table of a shape that has this mean and this standard deviation (nanoseconds).
///
/// # Errors
/// There is none: why, for people, with the standard deviations that can be had at that mean.
pub fn with_moments(shape: Shape, mean: f64, std: f64, seed: u64) -> Result<Made, String> {
    let made = |std: f64| {
        let distribution = shape.with_moments(mean, std, 0.0)?;
        Ok::<Made, String>(table(&distribution, seed))
    };
    let is_met = |std: f64| {
        made(std).is_ok_and(|made| {
            made.raised + made.lowered == 0 && AskedAndMade::of(&made.table, mean, std).are_met()
        })
    };
    if is_met(std) {
        return made(std);
    }
    let of = format!("{} delays of mean {}", shape.name(), show::time(mean));
    if mean > f64::from(MAX_DELAY_NS) {
        return Err(format!(
            "{of} are beyond 1 s, the longest that a table holds"
        ));
    }
    if shape == Shape::Constant {
        return Err(format!("{of} have a standard deviation of 0"));
    }
    // The greatest that is met: between nothing and a thousand times the mean.
    let (mut low, mut high) = (0.0, 1e3 * mean);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        match is_met(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    Err(format!(
        "no table has {of} and standard deviation {}: at most {} is possible, and more than 0",
        show::time(std),
        show::time(low)
    ))
}

/// A table made from a distribution.
#[derive(Debug, Clone)]
pub struct Made {
    /// The table.
    pub table: DistributionTable,
    /// Entries that would have been negative and are 0.
    pub raised: usize,
    /// Entries that would have been beyond 1 s and are 1 s.
    pub lowered: usize,
}

impl Made {
    /// The table, if it holds all of the delays of `of`, which it was made from.
    ///
    /// # Errors
    /// Some are beyond 1 s: how many, for people.
    pub fn whole(&self, of: impl Display) -> Result<&DistributionTable, String> {
        match self.lowered {
            0 => Ok(&self.table),
            lowered => Err(format!(
                "{lowered} of the {TABLE_ENTRIES} delays of {of} are beyond 1 s, the longest that a table holds"
            )),
        }
    }
}

/// Makes a table whose delays, drawn at random, follow `distribution` (in nanoseconds).
///
/// Entry by entry it holds the mean of the distribution between the quantiles i / 4096 and
/// (i + 1) / 4096, so that the table's mean is the distribution's: with the quantiles themselves a
/// long tail would lose its mass. Rounding carries its error to the next entry. What the entries
/// then lack is the variation within each of those 4,096 slices, which shows in the far tail only.
///
/// The entries are put in an order drawn from `seed`: the paper's generator walks the table, and
/// in ascending order neighbouring draws would be alike.
pub fn table(distribution: &Distribution, seed: u64) -> Made {
    let slices = distribution.slices(TABLE_ENTRIES);
    table_of(&slices, &distribution.to_string(), seed)
}

/// A table of these 4,096 delays in nanoseconds, put in an order drawn from `seed`, that came from `origin`. Rounding to whole
/// nanoseconds carries
/// its error to the next entry, so that the mean is kept.
pub fn table_of(delays: &[f64], origin: &str, seed: u64) -> Made {
    let (mut raised, mut lowered) = (0, 0);
    let mut carry = 0.0;
    let mut entries = Box::new([0; TABLE_ENTRIES]);
    for (entry, &exact) in entries.iter_mut().zip(delays) {
        let most = f64::from(MAX_DELAY_NS);
        raised += usize::from(exact < -0.5);
        lowered += usize::from(exact > most + 0.5);
        let exact = exact.clamp(0.0, most);
        let rounded = (exact + carry).round().clamp(0.0, most);
        carry += exact - rounded;
        *entry = rounded as u32;
    }
    entries.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    Made {
        table: DistributionTable::new(entries, DelayUnit::Nanoseconds, origin),
        raised,
        lowered,
    }
}

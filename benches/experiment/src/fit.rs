//! From the round-trip times under load to the tables that imitate it.
//!
//! What a table holds is the *excess* of a load: how much longer a round trip takes under it than
//! the median round trip without it. One delay is injected into each round trip, so that a round
//! trip with it takes as long as one under the load. Samples below that median cannot be imitated
//! by a delay and count as 0.

use jitterlab_injector::family::{Family, Member};
use jitterlab_injector::shape;
use jitterlab_injector::table::DistributionTable;
use jitterlab_packet::transport::Transport;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::{Error, summary};
use serde::{Deserialize, Serialize};

/// What the tables for one load were made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Over what the load was measured.
    pub transport: Transport,
    /// The load in percent.
    pub percent: u8,
    /// Number of round trips under it.
    pub n: u64,
    /// Median RTT without load, in nanoseconds.
    pub baseline_median_ns: f64,
    /// Mean of the excess, in nanoseconds.
    pub excess_mean_ns: f64,
    /// Standard deviation of the excess, in nanoseconds.
    pub excess_std_ns: f64,
    /// The distributions.
    pub members: Vec<FittedMember>,
}

/// One of the distributions for a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedMember {
    /// Which.
    pub shape: Member,
    /// The distribution, in nanoseconds. What of it is negative is injected as 0.
    pub distribution: Distribution,
    /// Mean of the table, in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation of the table, in nanoseconds.
    pub std_ns: f64,
    /// The table's file, relative to the result folder.
    pub table: String,
}

/// A distribution and its table.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Which.
    pub shape: Member,
    /// The distribution, in nanoseconds.
    pub distribution: Distribution,
    /// Its table.
    pub table: DistributionTable,
}

/// How much longer round trips take under a load than the median one without, in nanoseconds;
/// negative where they took less.
pub fn excess(under_load: &[f64], baseline_median: f64) -> Vec<f64> {
    under_load.iter().map(|rtt| rtt - baseline_median).collect()
}

/// Mean and standard deviation of an excess as it can be injected: what is negative counts as 0.
///
/// # Errors
/// There are fewer than two samples.
pub fn injectable_moments(excess: &[f64]) -> Result<(f64, f64), Error> {
    let raised: Vec<f64> = excess.iter().map(|x| x.max(0.0)).collect();
    Ok((summary::mean(&raised)?, summary::std(&raised)?))
}

/// Fits the paper's family to an excess (in nanoseconds) and makes the tables of some of its
/// members. All tables have the mean of the excess: what holding negative delays at 0 adds to the
/// mean is taken off the location again.
///
/// # Errors
/// The samples cannot be fitted.
pub fn tables(excess: &[f64], shapes: &[Member], seed: u64) -> Result<Vec<Fitted>, Error> {
    let (mean, _) = injectable_moments(excess)?;
    let family = Family::from_samples(excess)?;
    Ok(shapes
        .iter()
        .map(|&shape| {
            let (distribution, table) = with_mean(shape.of(&family.fitted), mean, seed);
            Fitted {
                shape,
                distribution,
                table,
            }
        })
        .collect())
}

/// The distribution moved so that its table has a mean, and that table.
fn with_mean(
    distribution: Distribution,
    mean: f64,
    seed: u64,
) -> (Distribution, DistributionTable) {
    let moved = |by: f64| match distribution {
        Distribution::Constant { .. } => Distribution::Constant { value: mean },
        Distribution::Uniform { low, high } => Distribution::Uniform {
            low: low + by,
            high: high + by,
        },
        Distribution::LogNormal {
            shape,
            location,
            scale,
        } => Distribution::LogNormal {
            shape,
            location: location + by,
            scale,
        },
    };
    let made = |by: f64| {
        let distribution = moved(by);
        let table = shape::table(&distribution, seed).table;
        (distribution, table)
    };
    // A table's mean is at least its distribution's and rises with it, so the right move is not
    // above that to the mean; doubling finds one that is low enough.
    let mut high = mean - distribution.mean();
    let mut reach = mean.max(1.0);
    while made(high - reach).1.mean() > mean && reach < 1e12 {
        reach *= 2.0;
    }
    let mut low = high - reach;
    /// The table holds whole nanoseconds; nearer than this its mean does not follow.
    const NEAR_NS: f64 = 0.01;
    while high - low > NEAR_NS {
        let middle = f64::midpoint(low, high);
        if made(middle).1.mean() < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    made(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Excesses of which a good part is negative, as under a light load.
    fn light_load() -> Vec<f64> {
        let law = Distribution::LogNormal {
            shape: 0.9,
            location: -4_000.0,
            scale: 5_000.0,
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        (0..20_000)
            .map(|_| law.quantile(random.random_range(0.0..1.0)))
            .collect()
    }

    #[test]
    fn all_tables_have_the_mean_that_can_be_injected_and_vary_in_the_papers_order() {
        let excess = light_load();
        let (mean, _) = injectable_moments(&excess).unwrap();
        assert!(mean > summary::mean(&excess).unwrap());
        let tables = tables(&excess, &Member::ALL, 1).unwrap();
        let mut last = -1.0;
        for fitted in &tables {
            let found = fitted.table.mean();
            assert!(
                (found - mean).abs() < 2.0,
                "{:?} {found} {mean}",
                fitted.shape
            );
            assert!(fitted.table.std() > last, "{:?}", fitted.shape);
            last = fitted.table.std();
        }
        // A mean between two whole nanoseconds takes both.
        assert!(tables[0].table.std() < 1.0);
    }

    #[test]
    fn the_excess_is_relative_to_the_median_without_load() {
        assert_eq!(excess(&[10.0, 30.0], 20.0), [-10.0, 10.0]);
        assert_eq!(injectable_moments(&[-10.0, 10.0]).unwrap().0, 5.0);
    }
}

//! Distributions that imitate one set of samples, and the paper's five, which keep their mean and vary the variation (latency-variation,
//! section 5.3).

use jitterlab_base::{named, show};
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::positive::Positive;
use jitterlab_stats::{Error, imitation};

use crate::generator::TABLE_ENTRIES;
use crate::shape::{self, Made};

/// A distribution that is made from samples, by the name that levels, files and reports use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// The paper's word for what "only has one parameter, mean": every delay equals the samples'
    /// mean. It is a constant, "equivalent to a lognormal distribution with zero variance".
    Uniform,
    /// The samples themselves.
    Empirical,
    /// The samples themselves, in the order in which they were measured: a recording, and no table.
    Replay,
    /// The family that comes closest to the samples.
    Closest,
    /// The lognormal as fitted.
    Lognormal,
    /// Lognormal with 75 % of the fitted scale and the mean kept.
    Scale75,
    /// Lognormal with 50 % of the fitted scale and the mean kept.
    Scale50,
    /// Lognormal with 25 % of the fitted scale and the mean kept: the most varied.
    Scale25,
}

named!(
    Member, serde,
    Uniform => "uniform",
    Empirical => "empirical",
    Replay => "replay",
    Closest => "closest",
    Lognormal => "lognormal",
    Scale75 => "scale75",
    Scale50 => "scale50",
    Scale25 => "scale25",
);

impl Member {
    /// The paper's five, from the least varied to the most.
    pub const PAPER: [Member; 5] = [
        Member::Uniform,
        Member::Lognormal,
        Member::Scale75,
        Member::Scale50,
        Member::Scale25,
    ];

    /// Those that have a table.
    pub fn tables() -> impl Iterator<Item = Member> {
        Member::ALL
            .into_iter()
            .filter(|&member| member != Member::Replay)
    }

    /// The description for people.
    pub fn description(self) -> &'static str {
        match self {
            Member::Uniform => "every delay the mean (the paper's uniform)",
            Member::Empirical => "the samples' own distribution",
            Member::Replay => "the samples in their order",
            Member::Closest => "the family that comes closest to the samples",
            Member::Lognormal => "lognormal as fitted",
            Member::Scale75 => "75 % of the fitted scale, same mean",
            Member::Scale50 => "50 % of the fitted scale, same mean",
            Member::Scale25 => "25 % of the fitted scale, same mean",
        }
    }

    /// True if it claims to imitate the samples. The others have their mean, and a variation of their own.
    pub fn imitates(self) -> bool {
        matches!(
            self,
            Member::Empirical | Member::Replay | Member::Closest | Member::Lognormal
        )
    }
}

/// The tables that can be made from one set of samples. All have the samples' mean. Samples below 0 count as 0: no delay imitates them.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    fits: Result<Fits, Error>,
    mean: f64,
    slices: Vec<f64>,
}

/// The distributions that were fitted to the samples.
#[derive(Debug, Clone, PartialEq)]
struct Fits {
    /// The lognormal with three parameters as in the paper, or with a share of zeros, where that reaches below 0.
    lognormal: Result<Distribution, Error>,
    closest: Distribution,
}

/// A member with its table.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The shape.
    pub member: Member,
    /// The distribution, in nanoseconds; none where the table was made from the samples themselves.
    pub distribution: Option<Distribution>,
    /// The table, and what did not fit into it.
    pub made: Made,
}

impl Fitted {
    /// The description for people: also which lognormal the samples have.
    pub fn description(&self) -> String {
        let what = self.member.description();
        match (self.member, &self.distribution) {
            (
                Member::Lognormal | Member::Scale75 | Member::Scale50 | Member::Scale25,
                Some(Distribution::WithZeros { zeros, .. }),
            ) => {
                let beside = match *zeros > 0.0 {
                    true => format!(" beside {} zeros", show::percent(*zeros)),
                    false => String::new(),
                };
                format!("{what}, of two parameters{beside}: with three it would reach below 0")
            }
            _ => what.into(),
        }
    }
}

impl Family {
    /// Fits the samples (nanoseconds). Samples that cannot be fitted still have the members that need no fit.
    ///
    /// # Errors
    /// There is no sample, or one is not finite.
    pub fn from_samples(samples: &[f64]) -> Result<Self, Error> {
        let slices = imitation::slices(samples, TABLE_ENTRIES)?;
        Ok(Family {
            fits: imitation::candidates(samples).map(|candidates| Fits::of(&candidates)),
            mean: slices.iter().sum::<f64>() / slices.len() as f64,
            slices,
        })
    }

    /// The samples' mean in nanoseconds. Samples below 0 count as 0.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The samples as 4,096 ascending delays of the same mean and standard deviation. Samples below 0 count as 0.
    pub fn slices(&self) -> &[f64] {
        &self.slices
    }

    /// The distribution of a member, in nanoseconds; none for the samples themselves.
    ///
    /// # Errors
    /// The member needs a fit, and the samples cannot be fitted: as [`imitation::candidates`], and samples that are all equal.
    pub fn distribution(&self, member: Member) -> Result<Option<Distribution>, Error> {
        let fits = || self.fits.clone();
        let lognormal = || fits()?.lognormal;
        Ok(Some(match member {
            Member::Uniform => Distribution::Constant { value: self.mean },
            Member::Empirical | Member::Replay => return Ok(None),
            Member::Closest => fits()?.closest,
            Member::Lognormal => lognormal()?,
            Member::Scale75 => rescaled(lognormal()?, 0.75),
            Member::Scale50 => rescaled(lognormal()?, 0.5),
            Member::Scale25 => rescaled(lognormal()?, 0.25),
        }))
    }

    /// A member with its table. The order of the entries follows from `seed`.
    ///
    /// # Errors
    /// As [`Family::distribution`].
    pub fn fitted(&self, member: Member, seed: u64) -> Result<Fitted, Error> {
        let distribution = self.distribution(member)?;
        let made = match &distribution {
            Some(distribution) => shape::table(distribution, seed),
            None => shape::table_of(&self.slices, "empirical", seed),
        };
        Ok(Fitted {
            member,
            distribution,
            made,
        })
    }
}

impl Fits {
    fn of(candidates: &[imitation::Candidate]) -> Self {
        let of = |is: fn(&Distribution) -> bool| {
            let mut distributions = candidates.iter().map(|candidate| candidate.distribution);
            distributions.find(is)
        };
        let three = of(|distribution| matches!(distribution, Distribution::LogNormal { .. }));
        let with_zeros = of(|distribution| {
            matches!(
                distribution,
                Distribution::WithZeros {
                    rest: Positive::LogNormal { .. },
                    ..
                }
            )
        });
        Fits {
            lognormal: three.or(with_zeros).ok_or(Error::NoVariation {
                statistic: "a lognormal fit",
            }),
            closest: candidates[0].distribution,
        }
    }
}

/// The lognormal with `share` of the scale and the shape that keeps the mean (the paper "used binary search to identify a shape
/// parameter"):
/// share · e^(s'² / 2) = e^(s² / 2), so s'² = s² − 2 ln(share). Others are left as they are.
fn rescaled(distribution: Distribution, share: f64) -> Distribution {
    let wider = |shape: f64| (shape * shape - 2.0 * share.ln()).sqrt();
    match distribution {
        Distribution::LogNormal {
            shape,
            location,
            scale,
        } => Distribution::LogNormal {
            shape: wider(shape),
            location,
            scale: scale * share,
        },
        Distribution::WithZeros {
            zeros,
            rest: Positive::LogNormal { shape, scale },
        } => Distribution::WithZeros {
            zeros,
            rest: Positive::LogNormal {
                shape: wider(shape),
                scale: scale * share,
            },
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scales_keep_the_mean_and_vary_in_the_papers_order(
            shape in 0.05f64..2.0, location in 0.0f64..1e5, scale in 10.0f64..1e5, zeros in 0.0f64..0.9
        ) {
            let three = Distribution::LogNormal { shape, location, scale };
            let with_zeros = Distribution::WithZeros { zeros, rest: Positive::LogNormal { shape, scale } };
            for lognormal in [three, with_zeros] {
                let mean = lognormal.mean();
                let fits = Ok(Fits { lognormal: Ok(lognormal), closest: lognormal });
                let family = Family { fits, mean, slices: Vec::new() };
                let mut last = -1.0;
                for member in Member::PAPER {
                    let distribution = family.distribution(member).unwrap().unwrap();
                    prop_assert!((distribution.mean() / mean - 1.0).abs() < 1e-9);
                    prop_assert!(distribution.std() > last, "{member} is not more varied");
                    last = distribution.std();
                }
            }
        }
    }
}

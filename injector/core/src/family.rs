//! The paper's five distributions for one set of samples (latency-variation, section 5.3).

use jitterlab_base::named;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::{Error, fit, summary};

/// One of the five, by the name that levels, files and reports use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// The lognormal as fitted.
    Lognormal,
    /// The paper's word for what "only has one parameter, mean": every delay equals the samples'
    /// mean. It is a constant, "equivalent to a lognormal distribution with zero variance".
    Uniform,
    /// Lognormal with 25 % of the fitted scale and the mean kept: the most varied.
    Scale25,
    /// Lognormal with 50 % of the fitted scale and the mean kept.
    Scale50,
    /// Lognormal with 75 % of the fitted scale and the mean kept.
    Scale75,
}

// From the least varied to the most.
named!(
    Member, serde,
    Uniform => "uniform",
    Lognormal => "lognormal",
    Scale75 => "scale75",
    Scale50 => "scale50",
    Scale25 => "scale25",
);

impl Member {
    /// What it is, for people.
    pub fn description(self) -> &'static str {
        match self {
            Member::Lognormal => "lognormal as fitted",
            Member::Uniform => "every delay the mean (the paper's uniform)",
            Member::Scale25 => "25 % of the fitted scale, same mean",
            Member::Scale50 => "50 % of the fitted scale, same mean",
            Member::Scale75 => "75 % of the fitted scale, same mean",
        }
    }

    /// The distribution of this member for a fitted lognormal.
    pub fn of(self, fitted: &Distribution) -> Distribution {
        let share = match self {
            Member::Lognormal => return *fitted,
            Member::Uniform => {
                return Distribution::Constant {
                    value: fitted.mean(),
                };
            }
            Member::Scale25 => 0.25,
            Member::Scale50 => 0.5,
            Member::Scale75 => 0.75,
        };
        rescaled(fitted, share)
    }
}

/// The lognormal with `share` of the scale and the shape that keeps the mean, by bisection as in
/// the paper ("used binary search to identify a shape parameter"). Others are left as they are.
fn rescaled(fitted: &Distribution, share: f64) -> Distribution {
    let Distribution::LogNormal {
        shape,
        location,
        scale,
    } = *fitted
    else {
        return *fitted;
    };
    let scale = scale * share;
    let with = |shape| Distribution::LogNormal {
        shape,
        location,
        scale,
    };
    // A smaller scale needs a larger shape; 8 more than keeps the mean for any share.
    let (mut low, mut high) = (shape, shape + 8.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return with(middle);
        }
        if with(middle).mean() < fitted.mean() {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The five for one set of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The fit that they are made from, moved so that its mean is the samples' mean.
    pub fitted: Distribution,
}

impl Family {
    /// Fits the samples (nanoseconds).
    ///
    /// The five share one mean, that of the samples. The fitted lognormal's own mean can be off by
    /// what its tail was misjudged, so its location takes up the difference.
    ///
    /// # Errors
    /// As [`fit::lognormal`].
    pub fn from_samples(samples: &[f64]) -> Result<Self, Error> {
        let fit = fit::lognormal(samples)?.distribution;
        let Distribution::LogNormal {
            shape,
            location,
            scale,
        } = fit
        else {
            return Ok(Family { fitted: fit });
        };
        let fitted = Distribution::LogNormal {
            shape,
            location: location + summary::mean(samples)? - fit.mean(),
            scale,
        };
        Ok(Family { fitted })
    }

    /// Each member with its distribution.
    pub fn members(&self) -> impl Iterator<Item = (Member, Distribution)> {
        Member::ALL
            .into_iter()
            .map(|member| (member, member.of(&self.fitted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// location + share · scale · e^(s'²/2) = location + scale · e^(s²/2) has the closed form
        /// s'² = s² − 2 ln(share).
        #[test]
        fn bisection_finds_what_the_closed_form_says(
            shape in 0.05f64..2.0, location in -1e3f64..1e5, scale in 10.0f64..1e5
        ) {
            let fitted = Distribution::LogNormal { shape, location, scale };
            let mut last = -1.0;
            for (member, distribution) in (Family { fitted }).members() {
                prop_assert!((distribution.mean() - fitted.mean()).abs() < 1e-6 * scale);
                prop_assert!(distribution.std() > last, "{} is not more varied", member.name());
                last = distribution.std();
            }
            for (member, share) in [(Member::Scale25, 0.25f64), (Member::Scale50, 0.5), (Member::Scale75, 0.75)] {
                let Distribution::LogNormal { shape: found, .. } = member.of(&fitted) else { panic!() };
                prop_assert!((found * found - (shape * shape - 2.0 * share.ln())).abs() < 1e-9);
            }
        }
    }
}

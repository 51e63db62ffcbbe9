//! Delays that were injected at one level, in two result folders: they are not the same where they imitate a load, which each folder measures anew.

use std::collections::BTreeMap;
use std::fmt;

use jitterlab_experiment::delays::Made;
use jitterlab_experiment::fit::Fit;
use jitterlab_experiment::level::Level;
use serde::Serialize;

use crate::words;

/// Mean and standard deviation of delays, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delays {
    /// The mean.
    pub mean_ns: f64,
    /// The standard deviation.
    pub std_ns: f64,
}

impl Delays {
    /// Those of each level of a folder, by what it says of the tables and recordings in it.
    pub fn by_level(fits: &[Fit], made: &[Made]) -> BTreeMap<Level, Self> {
        let imitations = fits.iter().flat_map(|fit| {
            fit.members.iter().map(|member| {
                let level = Level::Injected {
                    percent: fit.percent,
                    shape: member.shape,
                };
                (level, member.mean_ns, member.std_ns)
            })
        });
        let made = made
            .iter()
            .map(|it| (it.level, it.moments.mean_ns, it.moments.std_ns));
        imitations
            .chain(made)
            .map(|(level, mean_ns, std_ns)| (level, Delays { mean_ns, std_ns }))
            .collect()
    }
}

/// The text for people: `mean 16.7 µs, standard deviation 22.7 µs`.
impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mean, std] = [self.mean_ns, self.std_ns].map(words::time);
        write!(f, "mean {mean}, standard deviation {std}")
    }
}

/// Delays of a level that are others in b than in a.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OtherDelays {
    /// The level.
    pub level: Level,
    /// Those of a.
    pub a: Delays,
    /// Those of b.
    pub b: Delays,
}

impl OtherDelays {
    /// The differences at all levels that both folders have.
    pub fn of(a: &BTreeMap<Level, Delays>, b: &BTreeMap<Level, Delays>) -> Vec<Self> {
        let both = a.iter().filter_map(|(&level, &a)| {
            let &b = b.get(&level)?;
            Some(OtherDelays { level, a, b })
        });
        both.filter(|it| it.a != it.b).collect()
    }

    /// True if one of the means, or of the standard deviations, is greater than the other by more than this share. Delays are whole
    /// nanoseconds: a standard deviation below one is what rounding has made of delays that are all alike.
    pub fn differ_by_more_than(&self, share: f64) -> bool {
        let differ = |of: fn(&Delays) -> f64| {
            let (a, b) = (of(&self.a), of(&self.b));
            a.max(b) > a.min(b) * (1.0 + share)
        };
        differ(|it| it.mean_ns) || differ(|it| it.std_ns.max(1.0))
    }

    /// Both, for people.
    pub fn moments(&self) -> String {
        format!("{}; in a {}", self.b, self.a)
    }
}

/// The text for people: `the delays of injected lognormal of load 60 %: mean 18 µs, standard deviation 25 µs; in a mean 17 µs,
/// standard deviation 23 µs`.
impl fmt::Display for OtherDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the delays of {}: {}", self.level, self.moments())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_others_where_either_moment_is_and_both_decide_by_the_share() {
        let folder = |mean_ns: f64, std_ns: f64| {
            let injected = Delays { mean_ns, std_ns };
            let same = Delays {
                mean_ns: 5.0,
                std_ns: 0.0,
            };
            BTreeMap::from([(Level::Table, injected), (Level::Delay { ns: 5 }, same)])
        };
        let of = |a, b| OtherDelays::of(&a, &b);
        assert_eq!(of(folder(10.0, 1.0), folder(10.0, 1.0)), []);
        let differ = |a, b, share, beyond| {
            let [other] = of(a, b)[..] else {
                panic!("one level has other delays");
            };
            assert_eq!(other.differ_by_more_than(share), beyond, "{other} {share}");
        };
        for (a, b, share, beyond) in [
            (10_000.0, 10_600.0, 0.05, true),
            (10_600.0, 10_000.0, 0.05, true),
            (10_000.0, 10_600.0, 0.07, false),
            (0.0, 8.0, 5.0, true),
        ] {
            differ(folder(a, 1e3), folder(b, 1e3), share, beyond);
            differ(folder(1e3, a), folder(1e3, b), share, beyond);
        }
        // Whole nanoseconds are made of 2422.6 and of 2422.3.
        differ(folder(2422.6, 0.49), folder(2422.3, 0.46), 0.05, false);
        let said = of(folder(16_700.0, 22_700.0), folder(18_200.0, 2e6))[0].to_string();
        assert_eq!(
            said,
            "the delays of injected table: mean 18.2 µs, standard deviation 2 ms; in a mean 16.7 µs, standard deviation 22.7 µs"
        );
    }
}

//! A gate: whether something is slower than something else by more than a share. The interval of their ratio decides, and what it leaves
//! undecided takes so many repetitions more.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bootstrap::Interval;
use crate::error::{Error, check_level};
use crate::power::Plan;
use crate::special::phi_inverse;
use crate::{hodges_lehmann, repeated, summary};

/// Whether something is slower than something else by more than a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Slower {
    /// The whole interval lies above.
    Yes,
    /// It lies below.
    No,
    /// The share lies in it, or nothing is known of the interval.
    Undecided,
}

impl Slower {
    /// The verdict by the interval of the ratio of the two, low end first; `by` is the share: 0.05 for 5 %.
    pub fn by_interval(ratio: Option<(f64, f64)>, by: f64) -> Self {
        match ratio {
            Some((low, _)) if low > 1.0 + by => Slower::Yes,
            Some((_, high)) if high <= 1.0 + by => Slower::No,
            _ => Slower::Undecided,
        }
    }

    /// The verdict on several together: yes if one is slower, no if none is, otherwise undecided. No verdicts are undecided, too.
    pub fn any(of: impl IntoIterator<Item = Slower>) -> Self {
        let all: Vec<Slower> = of.into_iter().collect();
        if all.contains(&Slower::Yes) {
            Slower::Yes
        } else if all.is_empty() || all.contains(&Slower::Undecided) {
            Slower::Undecided
        } else {
            Slower::No
        }
    }
}

impl fmt::Display for Slower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Slower::Yes => "yes",
            Slower::No => "no",
            Slower::Undecided => "undecided",
        })
    }
}

/// A gate that several ratios are held against together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    by: f64,
    alpha: f64,
    tests: usize,
}

/// The verdict of a gate on one ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The ratio of the means, with its interval; none where there are fewer than two figures on a side, or none varies and they are not
    /// all the same.
    #[serde(deserialize_with = "Option::deserialize")]
    pub ratio: Option<Interval>,
    /// Whether it lies beyond the gate.
    pub slower: Slower,
    /// The number of figures more of each side that it takes to decide, if the ratio stays what it is; none where it is decided,
    /// or lies too near to the gate for [`Gate::MOST`].
    #[serde(deserialize_with = "Option::deserialize")]
    pub more: Option<u64>,
}

impl Gate {
    /// The chance that planned repetitions decide everything rightly.
    pub const POWER: f64 = 0.99;
    /// Figures of a side that are planned at most.
    pub const MOST: u64 = 10_000;

    /// A gate at the share `by` for so many `tests`, which are read together at the level `alpha`.
    ///
    /// # Errors
    /// `alpha` is not between 0 and 1; `by` is not above 0 and finite: what is equal would never be within it.
    pub fn new(by: f64, alpha: f64, tests: usize) -> Result<Self, Error> {
        check_level("the level of significance", alpha)?;
        if !(by > 0.0 && by.is_finite()) {
            return Err(Error::Parameter {
                name: "the gate",
                value: by,
                expected: "a share above 0",
            });
        }
        let tests = tests.max(1);
        Ok(Gate { by, alpha, tests })
    }

    /// The confidence of each interval: all of them hold together with 1 − alpha (Bonferroni).
    pub fn confidence(&self) -> f64 {
        1.0 - self.alpha / self.tests as f64
    }

    /// Holds the ratio of the means of `figures` and `base`, one figure a run, against the gate, by the interval of [`repeated::ratio`].
    /// Figures that are all the same, on both sides, are within any gate.
    pub fn decide(&self, base: &[f64], figures: &[f64]) -> Decision {
        if are_one(base, figures) {
            return Decision {
                ratio: Some(Interval {
                    estimate: 1.0,
                    low: 1.0,
                    high: 1.0,
                }),
                slower: Slower::No,
                more: None,
            };
        }
        let found = repeated::ratio(figures, base, self.confidence()).ok();
        let ratio = found.map(|found| found.ratio);
        let slower = Slower::by_interval(ratio.map(|it| (it.low, it.high)), self.by);
        Decision {
            more: match slower {
                Slower::Undecided => ratio.and_then(|it| self.more(base, figures, it.estimate)),
                _ => None,
            },
            ratio,
            slower,
        }
    }

    /// Decides the same by ranks: by the Hodges-Lehmann shift of the logarithms, with the interval of [`hodges_lehmann::shift`]. A few
    /// figures that are far off do not widen it. There is no ratio where figures are too few for an interval of this confidence.
    pub fn decide_by_ranks(&self, base: &[f64], figures: &[f64]) -> Decision {
        let [of_base, of_figures] = [base, figures].map(logarithms);
        let found = hodges_lehmann::shift(&of_figures, &of_base, self.confidence()).ok();
        let shift = found.filter(|found| found.confidence >= self.confidence());
        let shift = shift.map(|found| found.interval);
        let ratio = shift.map(|it| Interval {
            estimate: it.estimate.exp(),
            low: it.low.exp(),
            high: it.high.exp(),
        });
        let slower = Slower::by_interval(ratio.map(|it| (it.low, it.high)), self.by);
        let n = base.len().min(figures.len()) as u64;
        Decision {
            more: match (slower, shift) {
                (Slower::Undecided, Some(shift)) => self.more_by_ranks(n, shift),
                _ => None,
            },
            ratio,
            slower,
        }
    }

    /// An interval is half as wide with four times as many figures. It is to end before the gate with the planned power.
    fn more_by_ranks(&self, n: u64, shift: Interval) -> Option<u64> {
        let distance = shift.estimate - self.by.ln_1p();
        let reach = match distance > 0.0 {
            true => shift.estimate - shift.low,
            false => shift.high - shift.estimate,
        };
        let (level, power) = self.planned();
        let wider = 1.0 + phi_inverse(power) / phi_inverse(1.0 - level / 2.0);
        let needed = (n as f64 * (wider * reach / distance).powi(2)).ceil();
        // The cast keeps what a u64 holds.
        (needed <= Gate::MOST as f64).then(|| (needed as u64).saturating_sub(n).max(1))
    }

    fn more(&self, base: &[f64], figures: &[f64], ratio: f64) -> Option<u64> {
        let scatter = (upper_std(base)?.powi(2) + upper_std(figures)?.powi(2)).sqrt();
        let needed = self.plan(ratio.ln() - self.by.ln_1p(), scatter)?;
        let least = base.len().min(figures.len()) as u64;
        Some(needed.saturating_sub(least).max(1))
    }

    /// The number of figures of each side that decide rightly that something equal is within the gate, and that something slower by twice
    /// the gate is not. It follows from how `figures` scatter, and has the chance [`Gate::POWER`] for all tests together. `None` where
    /// they do not vary, or [`Gate::MOST`] are too few.
    ///
    /// Figures that are few may scatter less than they should. The plan therefore takes the upper limit of their standard
    /// deviation, of confidence 80 % (Browne 1995, "On the use of a pilot sample for sample size determination").
    pub fn repetitions(&self, figures: &[f64]) -> Option<u64> {
        let scatter = upper_std(figures)? * std::f64::consts::SQRT_2;
        // Twice the gate is nearer to it than 1 is, in logarithms.
        let distance = (2.0 * self.by).ln_1p() - self.by.ln_1p();
        self.plan(distance, scatter)
    }

    /// The plan for a distance from the gate, in logarithms. It counts the degrees of freedom of one side, so that it asks for a
    /// little more than Welch's interval takes.
    fn plan(&self, distance: f64, scatter: f64) -> Option<u64> {
        let (level, power) = self.planned();
        let plan = Plan::new(level, power).ok()?;
        plan.repetitions(distance / scatter, Gate::MOST)
    }

    /// The level and the power of each test.
    fn planned(&self) -> (f64, f64) {
        let tests = self.tests as f64;
        (self.alpha / tests, 1.0 - (1.0 - Gate::POWER) / tests)
    }
}

/// True if all figures of both sides are the same positive number.
fn are_one(base: &[f64], figures: &[f64]) -> bool {
    let [first, _, ..] = base else {
        return false;
    };
    let mut all = base.iter().chain(figures);
    figures.len() > 1 && first.is_normal() && *first > 0.0 && all.all(|it| it == first)
}

fn logarithms(figures: &[f64]) -> Vec<f64> {
    figures.iter().map(|figure| figure.ln()).collect()
}

/// The upper limit of the standard deviation of the logarithms of figures, of confidence 80 %: the χ² quantile by Wilson and Hilferty
/// (1931, "The
/// distribution of chi-square"). `None` of fewer than two, and where they do not vary.
fn upper_std(figures: &[f64]) -> Option<f64> {
    let std = summary::std(&logarithms(figures))
        .ok()
        .filter(|std| *std > 0.0)?;
    let freedom = figures.len() as f64 - 1.0;
    let ninth = 2.0 / (9.0 * freedom);
    let of_chi_squared = (1.0 - ninth + phi_inverse(0.2) * ninth.sqrt()).powi(3);
    Some(std / of_chi_squared.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_decides() {
        let of = |low, high| Slower::by_interval(Some((low, high)), 0.05);
        assert_eq!(of(1.051, 1.2), Slower::Yes);
        assert_eq!(of(0.9, 1.05), Slower::No);
        assert_eq!(of(0.9, 1.06), Slower::Undecided);
        assert_eq!(Slower::by_interval(None, 0.05), Slower::Undecided);
    }

    #[test]
    fn one_that_is_slower_is_enough_and_all_have_to_be_within() {
        use Slower::{No, Undecided, Yes};
        assert_eq!(Slower::any([No, Undecided, Yes]), Yes);
        assert_eq!(Slower::any([No, Undecided]), Undecided);
        assert_eq!(Slower::any([No, No]), No);
        assert_eq!(Slower::any([]), Undecided);
    }

    #[test]
    fn what_cannot_be_decided_says_how_much_more_it_takes() {
        let gate = Gate::new(0.05, 0.05, 1).unwrap();
        let base = [100.0, 104.0, 96.0, 101.0, 99.0];
        let near = gate.decide(&base, &[103.0, 107.0, 99.0, 104.0, 102.0]);
        assert_eq!(near.slower, Slower::Undecided, "{near:?}");
        let more = near.more.unwrap();
        assert!((50..500).contains(&more), "{more}");
        assert_eq!(
            gate.decide(&base, &[120.0, 121.0, 119.0]).slower,
            Slower::Yes
        );
        assert_eq!(gate.decide(&base, &[90.0, 91.0, 90.0]).slower, Slower::No);
        // Nothing is known about how they vary.
        for unknown in [
            gate.decide(&base, &[100.0]),
            gate.decide(&[1.0; 3], &[1.02; 3]),
            gate.decide(&[1.0], &[1.0; 3]),
        ] {
            assert_eq!((unknown.ratio, unknown.more), (None, None));
            assert_eq!(unknown.slower, Slower::Undecided);
        }
        // A clock that is coarse shows the same each time.
        let same = gate.decide(&[1.0; 3], &[1.0; 3]);
        assert_eq!((same.slower, same.more), (Slower::No, None));
        assert_eq!(same.ratio.map(|it| (it.low, it.high)), Some((1.0, 1.0)));
        // The more that is read together, the more it takes.
        let of = |tests| Gate::new(0.05, 0.05, tests).unwrap().repetitions(&base);
        assert!(of(10) > of(1), "{:?} {:?}", of(10), of(1));
        assert_eq!(
            Gate::new(0.05, 0.05, 1).unwrap().repetitions(&[2.0; 5]),
            None
        );
        assert!(Gate::new(0.0, 0.05, 1).is_err() && Gate::new(0.05, 1.0, 1).is_err());
    }

    #[test]
    fn by_ranks_single_figures_that_are_far_off_do_not_count() {
        let gate = Gate::new(0.05, 0.05, 1).unwrap();
        let base: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 5)).collect();
        let slower = |by: f64| {
            let mut figures: Vec<f64> = base.iter().map(|figure| by * figure).collect();
            figures[7] *= 20.0;
            figures
        };
        assert_eq!(gate.decide(&base, &slower(1.1)).slower, Slower::Undecided);
        assert_eq!(
            gate.decide_by_ranks(&base, &slower(1.1)).slower,
            Slower::Yes
        );
        assert_eq!(gate.decide_by_ranks(&base, &slower(1.0)).slower, Slower::No);
        let near = gate.decide_by_ranks(&base, &slower(1.045));
        assert_eq!(near.slower, Slower::Undecided);
        assert!(near.more.is_some_and(|more| more > 40), "{near:?}");
        // Two of each are too few for any interval of 95 %.
        let few = gate.decide_by_ranks(&base[..2], &base[..2]);
        assert_eq!((few.ratio, few.slower), (None, Slower::Undecided));
    }

    /// √(ν / χ²) at 20 % for 4, 9, 19 and 99 degrees of freedom, by bisection of the incomplete gamma function.
    #[test]
    fn the_upper_limit_of_a_standard_deviation_is_chi_squares() {
        for (n, expected) in [(5, 1.5574), (10, 1.2937), (20, 1.1773), (100, 1.0665)] {
            let figures: Vec<f64> = (0..n).map(|i| f64::from(i).exp()).collect();
            let logarithms: Vec<f64> = (0..n).map(f64::from).collect();
            let factor = upper_std(&figures).unwrap() / summary::std(&logarithms).unwrap();
            assert!((factor / expected - 1.0).abs() < 0.01, "{n}: {factor}");
        }
    }
}

//! Repeated runs against others of the same blocks.

use jitterlab_base::show;
use jitterlab_experiment::enough::POWER;
use jitterlab_experiment::spec::Repetitions;
use jitterlab_stats::power::Plan;
use jitterlab_stats::{holm, repeated, summary};
use serde::Serialize;

use crate::analysis::repeated::{CONFIDENCE, Repeated, mean_of};
use crate::table::{Column, Estimate, Value, column};
use crate::words;

/// One figure in proportion to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slowdown {
    /// The ratio, a geometric mean over blocks, with its interval.
    pub ratio: Estimate,
    /// Number of blocks in which both were measured.
    pub blocks: usize,
    /// Two-sided p of the hypothesis that the ratio is 1; none without repeated runs.
    pub p: Option<f64>,
    /// The same after Holm's correction over the tests that it is read with.
    pub holm_p: Option<f64>,
    /// The number of these tests, itself among them; 0 before the correction.
    pub tests: usize,
    /// The number of blocks more that it would take to find a change of [`RESOLVE`] with a power of 90 %, if it is not significant.
    pub more_blocks: Option<u64>,
    /// Standard deviation of the logarithms of the blocks' ratios.
    std: Option<f64>,
}

/// The change that undecided comparisons are asked about, as a share.
pub const RESOLVE: f64 = 0.05;

impl Slowdown {
    /// The slowdown of figures against others; `None` if no block has both.
    pub fn of(figures: &Repeated, base: &Repeated) -> Option<Self> {
        Slowdown::from_ratios(&figures.with([base], |figure, [base]| Some(figure / base)))
    }

    /// The slowdown of one slowdown against another, each of figures against their base; `None` if no block has all four.
    pub fn of_slowdowns(
        [figures, base]: [&Repeated; 2],
        [others, others_base]: [&Repeated; 2],
    ) -> Option<Self> {
        let ratios = figures.with(
            [base, others, others_base],
            |figure, [base, other, other_base]| Some(figure / base / (other / other_base)),
        );
        Slowdown::from_ratios(&ratios)
    }

    fn from_ratios(ratios: &Repeated) -> Option<Self> {
        let logarithms: Vec<f64> = ratios.figures().iter().map(|ratio| ratio.ln()).collect();
        let logarithm = mean_of(logarithms.iter().copied())?;
        let tested = repeated::paired(ratios.figures(), CONFIDENCE).ok();
        Some(Slowdown {
            ratio: tested.map_or(Estimate::alone(logarithm.exp()), |found| {
                Estimate::from(found.ratio).positive()
            }),
            blocks: ratios.runs(),
            p: tested.map(|found| found.p),
            holm_p: None,
            tests: 0,
            more_blocks: None,
            std: summary::std(&logarithms).ok(),
        })
    }

    /// The ratio as sentences tell it: where it shows a difference, with its interval also if that is too wide to be drawn.
    pub fn for_people(&self) -> Estimate {
        match self.ratio.found() {
            Some(found) if self.is_significant() => Estimate::within(self.ratio.value, found),
            _ => self.ratio,
        }
    }

    /// True if the two differ, at the report's level of significance.
    pub fn is_significant(&self) -> bool {
        self.holm_p.is_some_and(|p| p < words::ALPHA)
    }

    /// The corrected p, and over how many tests it was corrected: `p = 0.012 after Holm over 16 tests`.
    pub fn p_in_words(&self) -> Option<String> {
        let p = words::p(self.holm_p?);
        Some(match self.tests {
            1 => format!("{p}, one test"),
            tests => format!("{p} after Holm over {tests} tests"),
        })
    }

    /// The needs of an undecided comparison: `4 more repetitions are needed to find a change of 5 % in one test`.
    pub fn more_in_words(&self) -> Option<String> {
        match self.more_blocks {
            None | Some(0) => None,
            Some(more) => Some(format!(
                "{} more {} needed to find a change of {} in {}",
                show::count(more),
                if more == 1 {
                    "repetition is"
                } else {
                    "repetitions are"
                },
                show::percent(RESOLVE),
                match self.tests {
                    1 => "one test".into(),
                    tests => format!("one of {tests} tests"),
                }
            )),
        }
    }

    /// The number of blocks more that it takes to decide whether the ratio is above 1 + `by`, with a power of 90 % and if it stays what
    /// it is; none where there are too few to plan with, or the ratio is too near to that.
    pub fn more_to_decide(&self, by: f64) -> Option<u64> {
        if self.blocks < 3 {
            return None;
        }
        let plan = Plan::new(words::ALPHA, POWER).ok()?;
        let distance = self.ratio.value.ln() - by.ln_1p();
        let effect = distance / self.std.filter(|std| *std > 0.0)?;
        let needed = plan.repetitions(effect, u64::from(Repetitions::MOST))?;
        Some(needed.saturating_sub(self.blocks as u64).max(1))
    }

    /// The sentence that nothing can be said of it, where it has no interval.
    pub fn not_said(&self) -> String {
        match self.p {
            None if self.blocks > 1 => format!(
                "cannot be said from {} that do not vary",
                show::counted(self.blocks, "pair")
            ),
            _ => words::not_said(self.blocks, "pair"),
        }
    }

    /// Blocks that a test at Bonferroni's level for so many takes to find a change of [`RESOLVE`], less those that there are;
    /// none where there are too few to plan with.
    fn more_blocks(&self, tests: usize) -> Option<u64> {
        // Two blocks have one difference: it says nothing of how much differences scatter.
        if self.blocks < 3 {
            return None;
        }
        let plan = Plan::new(words::ALPHA / tests as f64, POWER).ok()?;
        let effect = RESOLVE.ln_1p() / self.std.filter(|std| *std > 0.0)?;
        let needed = plan.repetitions(effect, u64::from(Repetitions::MOST))?;
        Some(needed.saturating_sub(self.blocks as u64))
    }
}

/// The repetitions that an undecided comparison needs.
pub fn more_blocks<R>(value: fn(&R) -> Value) -> Column<R> {
    column(
        "more_blocks",
        "More pairs for 5 %",
        "where no difference is shown: how many blocks more it would take to find a change of 5 % with a power of 90 %, by how much the \
         pairs vary. The more tests a table has, the more it takes: the first screen asks each program once, and its table \
         below asks every level",
        value,
    )
}

/// The same, of one comparison.
pub fn more(slowdown: Option<Slowdown>) -> Value {
    let more = slowdown.and_then(|slowdown| slowdown.more_blocks);
    more.map_or(Value::Missing, Value::Count)
}

/// Over how many tests the p values of these were corrected, for the note of their table.
pub fn corrected_over<'a>(mut slowdowns: impl Iterator<Item = &'a Slowdown>) -> Option<String> {
    let tests = slowdowns.find(|slowdown| slowdown.holm_p.is_some())?.tests;
    Some(format!(
        "“p (Holm)” is the p value of a paired t test, corrected after Holm over {}.",
        match tests {
            1 => "one test, so it is as found".into(),
            tests => format!("the {tests} tests of this table"),
        }
    ))
}

/// Corrects the p values of tests that are read together.
pub fn correct<'a>(slowdowns: impl Iterator<Item = &'a mut Slowdown>) {
    let mut tested: Vec<&mut Slowdown> =
        slowdowns.filter(|slowdown| slowdown.p.is_some()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|slowdown| slowdown.p).collect();
    for (slowdown, adjusted) in tested.iter_mut().zip(holm::adjust(&p)) {
        slowdown.holm_p = Some(adjusted);
        slowdown.tests = p.len();
        slowdown.more_blocks = match slowdown.is_significant() {
            true => None,
            false => slowdown.more_blocks(p.len()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(of: &[(u32, f64)]) -> Repeated {
        let mut figures = Repeated::default();
        of.iter()
            .for_each(|&(block, figure)| figures.add(block, figure));
        figures
    }

    #[test]
    fn runs_are_compared_with_those_of_their_block() {
        // Block 3 failed on one side, block 4 on the other.
        let base = figures(&[(1, 1.0), (2, 10.0), (3, 7.0)]);
        let slower = figures(&[(2, 12.1), (4, 99.0), (1, 1.19)]);
        let slowdown = Slowdown::of(&slower, &base).unwrap();
        assert_eq!(slowdown.blocks, 2);
        assert!((slowdown.ratio.value - 1.2).abs() < 1e-3, "{slowdown:?}");
        assert!(slowdown.ratio.interval().is_some());
        let both = Slowdown::of_slowdowns([&slower, &base], [&base, &base]).unwrap();
        assert_eq!(both.ratio, slowdown.ratio);
        assert_eq!(Slowdown::of(&figures(&[(5, 1.0)]), &base), None);
        let single = Slowdown::of(&figures(&[(1, 3.0)]), &base).unwrap();
        assert_eq!(
            (single.ratio, single.p),
            (Estimate::alone(3.0f64.ln().exp()), None)
        );
    }

    #[test]
    fn a_difference_is_told_with_an_interval_that_is_too_wide_to_be_drawn() {
        let told = |ratios: &[f64]| {
            let base = figures(&[(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (5, 1.0)]);
            let blocks: Vec<(u32, f64)> = (1..).zip(ratios.iter().copied()).collect();
            let mut slowdown = Slowdown::of(&figures(&blocks), &base).unwrap();
            correct([&mut slowdown].into_iter());
            assert_eq!(slowdown.ratio.interval(), None);
            slowdown.for_people().interval()
        };
        let (low, high) = told(&[37.0, 4_765.0, 700.0, 1_900.0, 3_100.0]).unwrap();
        assert!(low > 50.0 && high > 10.0 * low, "{low} {high}");
        assert_eq!(told(&[0.1, 20.0, 0.5, 3.0, 1.0]), None);
    }

    #[test]
    fn an_undecided_comparison_says_how_many_more_blocks_it_takes() {
        let base = figures(&[(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)]);
        let level = figures(&[(1, 1.1), (2, 0.9), (3, 1.08), (4, 0.95)]);
        let clear = figures(&[(1, 2.0), (2, 2.01), (3, 2.02), (4, 2.0)]);
        let alone = |figures: &Repeated| {
            let mut slowdown = Slowdown::of(figures, &base).unwrap();
            correct([&mut slowdown].into_iter());
            slowdown.more_blocks
        };
        let more = alone(&level).unwrap();
        // Power of 90 % at a standard deviation of about 0.095: 41 to 45 blocks in all.
        assert!((37..=41).contains(&more), "{more}");
        assert_eq!(alone(&clear), None);
        let mut two = [&level, &level].map(|it| Slowdown::of(it, &base).unwrap());
        correct(two.iter_mut());
        assert!(two[0].more_blocks.unwrap() > more);
    }
}

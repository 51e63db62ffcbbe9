//! Repeated runs against others of the same blocks.

use jitterlab_stats::{holm, repeated};
use serde::Serialize;

use super::condition::{CONFIDENCE, mean_of};
use crate::table::Estimate;
use crate::words;

/// A figure of repeated runs, one a run, with the block that each was measured in.
///
/// A block holds every condition once, in an order of its own, and all its runs have one seed: what varies from
/// block to block is no difference between conditions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repeated {
    blocks: Vec<u32>,
    figures: Vec<f64>,
}

impl Repeated {
    /// Adds the figure of a block.
    pub fn add(&mut self, block: u32, figure: f64) {
        self.blocks.push(block);
        self.figures.push(figure);
    }

    /// The figures.
    pub fn figures(&self) -> &[f64] {
        &self.figures
    }

    /// How many there are.
    pub fn runs(&self) -> usize {
        self.figures.len()
    }

    /// Their mean, with the interval of Student's t.
    pub fn mean(&self) -> Estimate {
        let mean = || mean_of(self.figures.iter().copied()).unwrap_or(f64::NAN);
        repeated::mean(&self.figures, CONFIDENCE)
            .map_or_else(|_| Estimate::alone(mean()), Into::into)
    }

    /// The figure of a block, if there is one.
    pub fn of_block(&self, block: u32) -> Option<f64> {
        let place = self.blocks.iter().position(|&of| of == block)?;
        Some(self.figures[place])
    }

    /// What a figure and those of the same block in `others` make, wherever all are there and it can be told.
    pub fn with<const N: usize>(
        &self,
        others: [&Repeated; N],
        make: impl Fn(f64, [f64; N]) -> Option<f64>,
    ) -> Repeated {
        let mut made = Repeated::default();
        for (&block, &figure) in self.blocks.iter().zip(&self.figures) {
            let of_others = others.map(|other| other.of_block(block));
            if of_others.iter().all(Option::is_some)
                && let Some(result) = make(figure, of_others.map(Option::unwrap_or_default))
            {
                made.add(block, result);
            }
        }
        made
    }
}

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
}

impl Slowdown {
    /// Of figures against others; `None` if no block has both.
    pub fn of(figures: &Repeated, base: &Repeated) -> Option<Self> {
        Slowdown::from_ratios(&figures.with([base], |figure, [base]| Some(figure / base)))
    }

    /// Of one slowdown against another, each of figures against their base; `None` if no block has all four.
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
        let logarithm = mean_of(ratios.figures.iter().map(|ratio| ratio.ln()))?;
        let tested = repeated::paired(&ratios.figures, CONFIDENCE).ok();
        Some(Slowdown {
            ratio: tested.map_or(Estimate::alone(logarithm.exp()), |found| found.ratio.into()),
            blocks: ratios.runs(),
            p: tested.map(|found| found.p),
            holm_p: None,
        })
    }

    /// Whether the two differ, at the report's level of significance.
    pub fn is_significant(&self) -> bool {
        self.holm_p.is_some_and(|p| p < words::ALPHA)
    }
}

/// Corrects the p values of tests that are read together.
pub fn correct<'a>(slowdowns: impl Iterator<Item = &'a mut Slowdown>) {
    let mut tested: Vec<&mut Slowdown> =
        slowdowns.filter(|slowdown| slowdown.p.is_some()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|slowdown| slowdown.p).collect();
    for (slowdown, p) in tested.iter_mut().zip(holm::adjust(&p)) {
        slowdown.holm_p = Some(p);
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
}

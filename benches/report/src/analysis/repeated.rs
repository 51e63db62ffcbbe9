//! A figure of repeated runs, and its mean.

use jitterlab_stats::repeated;

use crate::table::Estimate;

/// The confidence of every interval in the report.
pub const CONFIDENCE: f64 = 0.95;

/// A figure of repeated runs, one a run, with the block that each was measured in.
///
/// A block holds every condition once, in an order of its own, and all its runs have one seed: what varies from
/// block to block is no difference between conditions. It holds a condition of several loads that came to the same once for each.
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

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.figures.len()
    }

    /// Their mean, with the interval of Student's t.
    pub fn mean(&self) -> Estimate {
        let mean = || mean_of(self.figures.iter().copied()).unwrap_or(f64::NAN);
        repeated::mean(&self.figures, CONFIDENCE)
            .map_or_else(|_| Estimate::alone(mean()), Into::into)
    }

    /// The figure of a block, if there is one; of several runs of it, their mean.
    pub fn of_block(&self, block: u32) -> Option<f64> {
        let runs = self.blocks.iter().zip(&self.figures);
        mean_of(
            runs.filter(|&(&of, _)| of == block)
                .map(|(_, &figure)| figure),
        )
    }

    /// The blocks that have a figure, each once.
    fn blocks(&self) -> impl Iterator<Item = u32> {
        let known = |place: usize, block| self.blocks[..place].contains(block);
        let blocks = self.blocks.iter().enumerate();
        blocks
            .filter(move |&(place, block)| !known(place, block))
            .map(|(_, &block)| block)
    }

    /// `make` of the figure of a block and those of the same block in `others`, wherever all are there and it can be told.
    pub fn with<const N: usize>(
        &self,
        others: [&Repeated; N],
        make: impl Fn(f64, [f64; N]) -> Option<f64>,
    ) -> Repeated {
        let mut made = Repeated::default();
        for block in self.blocks() {
            let of_others = others.map(|other| other.of_block(block));
            if of_others.iter().all(Option::is_some)
                && let Some(figure) = self.of_block(block)
                && let Some(result) = make(figure, of_others.map(Option::unwrap_or_default))
            {
                made.add(block, result);
            }
        }
        made
    }
}

/// The mean of some numbers, if there are any.
pub fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

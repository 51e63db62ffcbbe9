//! Makes an experiment into its runs, in their order.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use jitterlab_base::seed;

use crate::level::{Level, Phase};
use crate::spec::Experiment;
use crate::suites::Work;

/// A run that is to be done: a case at one level and one repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run<'a> {
    /// Part of the experiment.
    pub phase: Phase,
    /// The block, counted from 1: every block holds every run of its phase once.
    pub block: u32,
    /// The work that is measured.
    pub work: Work<'a>,
    /// The condition.
    pub level: Level,
    /// The seed of whatever is drawn at random in it. Runs of a block share theirs: their loads
    /// and delays then differ by level alone.
    pub seed: u64,
}

impl Run<'_> {
    /// The name of the run, which no other has: suite-case-transport-variant.level.repetition.
    pub fn id(&self) -> String {
        let (suite, case) = (self.work.suite().name(), self.work.case());
        let transport = match self.work.transport() {
            Some(transport) => format!("-{transport}"),
            None => String::new(),
        };
        let variant = match self.work.variant() {
            Some(variant) => format!("-{variant}"),
            None => String::new(),
        };
        format!(
            "{suite}-{case}{transport}{variant}.{}.r{}",
            self.level.id(),
            self.block
        )
    }
}

/// Every run, in the order in which they are done.
///
/// Phase by phase and block by block; within a block in an order drawn from the experiment's seed,
/// so that no level has the same neighbours, or the same share of a drift, in every block.
///
/// `blocks` is the number of repetitions. Where it grows while the experiment runs, what is compared is repeated, and the rest stays at
/// what was done first.
pub fn schedule(experiment: &Experiment, blocks: u32) -> Vec<Run<'_>> {
    let conditions: Vec<(Work, Level)> = experiment
        .works()
        .flat_map(|work| {
            let levels = experiment.levels.of(work.levels());
            levels.into_iter().map(move |level| (work, level))
        })
        .collect();
    let mut runs = Vec::with_capacity(conditions.len() * blocks as usize);
    for phase in Phase::ALL {
        for block in 1..=blocks {
            let stream = seed::stream(experiment.seed, phase as u64, u64::from(block));
            let in_block = runs.len();
            runs.extend(conditions.iter().filter_map(|&(work, level)| {
                let is_done = block <= experiment.repetitions.first() || work.is_compared();
                (is_done && work.phase(level, &experiment.levels) == phase).then_some(Run {
                    phase,
                    block,
                    work,
                    level,
                    seed: stream,
                })
            }));
            runs[in_block..].shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(stream));
        }
    }
    runs
}

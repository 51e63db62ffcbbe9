//! Enough runs: how many repetitions it takes to find the change that an experiment is to resolve.
//!
//! The question of an experiment is what variation costs. Each run under delays that vary is compared with the run of its block under
//! constant delays of the same mean, by a paired t test of the logarithms of their ratios. An experiment without constant delays asks what
//! load or delays cost, against the level none. After a pilot, the standard deviation of these logarithms tells how many blocks the test
//! takes. It is looked at again after each block, until there are as many as it asks for.

use std::collections::BTreeMap;

use jitterlab_stats::power::Plan;
use jitterlab_stats::summary;

use crate::estimate::Estimate;
use crate::level::Level;
use crate::record::RunRecord;
use crate::schedule::schedule;
use crate::spec::{Experiment, Repetitions};
use crate::suites::{SuiteKind, Work};

/// The level of significance of the tests.
pub const ALPHA: f64 = 0.05;
/// The chance that a change which is there is found.
pub const POWER: f64 = 0.9;

/// The number of repetitions that an experiment takes.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Enough {
    /// Blocks that are done: as many as are needed, or as the time allows.
    pub repetitions: u32,
    /// Blocks that are needed.
    pub needed: u32,
    /// The change that is to be found, in percent.
    pub resolve_percent: f64,
    /// The change that so many blocks find with a power of [`POWER`], in percent.
    pub resolves_percent: f64,
    /// The comparison that takes most, for people.
    pub decided_by: String,
}

/// Two levels of a case that are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Comparison {
    suite: SuiteKind,
    case: String,
    level: Level,
    base: Level,
}

impl Comparison {
    fn in_words(&self) -> String {
        format!(
            "{} {}, {} against {}",
            self.suite, self.case, self.level, self.base
        )
    }
}

/// The number of repetitions that `experiment` takes, by what was measured; `None` where the file gives the number, or nothing
/// can be compared yet.
///
/// The tests are corrected for their number, as the report corrects them: the plan asks for Bonferroni's level, which is the hardest step
/// of Holm's.
pub fn enough(experiment: &Experiment, attempts: &[RunRecord]) -> Option<Enough> {
    if experiment.repetitions != Repetitions::Auto {
        return None;
    }
    let figures = figures(experiment, attempts);
    let comparisons = comparisons(experiment);
    let resolve = experiment.resolve();
    let plan = Plan::new(ALPHA / comparisons.len().max(1) as f64, POWER).ok()?;
    let (mut most, mut decided_by, mut resolves) = (0, String::new(), 0.0f64);
    let mut planned = Vec::new();
    for comparison in &comparisons {
        let logarithms = logarithms(comparison, &figures);
        let (Ok(std), pairs) = (summary::std(&logarithms), logarithms.len() as u64) else {
            continue;
        };
        let effect = resolve.ln_1p() / std.max(f64::MIN_POSITIVE);
        let needed = plan.repetitions(effect, u64::from(Repetitions::MOST));
        let needed = needed.map_or(Repetitions::MOST, |n| {
            u32::try_from(n).unwrap_or(Repetitions::MOST)
        });
        // A block with a failed run makes no pair.
        let blocks = blocks(comparison, experiment, attempts);
        let needed = needed.saturating_add(blocks.saturating_sub(pairs as u32));
        if decided_by.is_empty() || needed > most {
            (most, decided_by) = (needed, comparison.in_words());
        }
        planned.push((std, blocks.saturating_sub(pairs as u32)));
    }
    if planned.is_empty() {
        return None;
    }
    let needed = most.max(Repetitions::PILOT);
    let repetitions = needed.min(allowed(experiment, attempts));
    for (std, lost) in planned {
        let pairs = u64::from(repetitions.saturating_sub(lost));
        resolves = resolves.max((plan.resolves(pairs) * std).exp_m1());
    }
    Some(Enough {
        repetitions,
        needed,
        resolve_percent: 100.0 * resolve,
        resolves_percent: 100.0 * resolves,
        decided_by,
    })
}

/// Blocks that were begun: those of the pilot, and those that were added.
pub fn begun(experiment: &Experiment, attempts: &[RunRecord]) -> u32 {
    let last = attempts.iter().map(|attempt| attempt.block).max();
    last.unwrap_or(0).max(experiment.repetitions.first())
}

/// The figure of each run by suite, case and level, and by block.
type Figures = BTreeMap<(SuiteKind, String, Level), BTreeMap<u32, f64>>;

fn figures(experiment: &Experiment, attempts: &[RunRecord]) -> Figures {
    let mut figures = Figures::new();
    let works: Vec<Work> = experiment
        .works()
        .filter(|work| work.is_compared())
        .collect();
    for attempt in attempts {
        let of = works
            .iter()
            .find(|work| work.suite() == attempt.suite && work.case() == attempt.case);
        if let (Some(work), Some(result)) = (of, &attempt.result)
            && let Some(figure) = work.figure(result).filter(|figure| *figure > 0.0)
        {
            let key = (attempt.suite, attempt.case.clone(), attempt.level);
            figures
                .entry(key)
                .or_default()
                .insert(attempt.block, figure);
        }
    }
    figures
}

/// The comparisons that are planned for: delays that vary against constant ones, or, where there are none, every level against the level
/// none.
fn comparisons(experiment: &Experiment) -> Vec<Comparison> {
    let of = |bases_of: fn(Level) -> Vec<Level>| {
        let mut comparisons = Vec::new();
        for work in experiment.works().filter(|work| work.is_compared()) {
            let levels = experiment.levels.of(work.levels());
            for &level in &levels {
                let mut bases = bases_of(level).into_iter();
                if let Some(base) = bases.find(|base| *base != level && levels.contains(base)) {
                    comparisons.push(Comparison {
                        suite: work.suite(),
                        case: work.case().to_string(),
                        level,
                        base,
                    });
                }
            }
        }
        comparisons
    };
    let of_variation = of(Level::constants);
    if of_variation.is_empty() {
        of(|level| match level {
            Level::None => Vec::new(),
            _ => vec![Level::None],
        })
    } else {
        of_variation
    }
}

/// The logarithm of the ratio of each block that has both.
fn logarithms(comparison: &Comparison, figures: &Figures) -> Vec<f64> {
    let of = |level: Level| figures.get(&(comparison.suite, comparison.case.clone(), level));
    let (Some(figures), Some(base)) = (of(comparison.level), of(comparison.base)) else {
        return Vec::new();
    };
    figures
        .iter()
        .filter_map(|(block, figure)| Some((figure / base.get(block)?).ln()))
        .collect()
}

/// Blocks in which a comparison was tried.
fn blocks(comparison: &Comparison, experiment: &Experiment, attempts: &[RunRecord]) -> u32 {
    let of_case = attempts.iter().filter(|attempt| {
        attempt.suite == comparison.suite
            && attempt.case == comparison.case
            && attempt.level == comparison.level
    });
    let last = of_case.map(|attempt| attempt.block).max();
    last.unwrap_or(0).min(begun(experiment, attempts))
}

/// Blocks that the time allows, the pilot in any case.
fn allowed(experiment: &Experiment, attempts: &[RunRecord]) -> u32 {
    let Some(at_most) = experiment.at_most else {
        return Repetitions::MOST;
    };
    let spent: f64 = attempts.iter().map(|attempt| attempt.seconds).sum();
    let mut estimate = Estimate::new();
    attempts.iter().for_each(|attempt| estimate.learn(attempt));
    let begun = begun(experiment, attempts);
    let next = schedule(experiment, begun + 1);
    let seconds = estimate.seconds(next.iter().filter(|run| run.block > begun));
    let more = if seconds > 0.0 {
        ((at_most.as_secs_f64() - spent) / seconds).max(0.0)
    } else {
        0.0
    };
    // The cast keeps what a u32 holds.
    begun.saturating_add(more as u32).min(Repetitions::MOST)
}

//! The time that the rest of an experiment will take.

use std::collections::BTreeMap;

use crate::level::LevelKind;
use crate::record::{RunRecord, SuiteKind};
use crate::schedule::Run;

/// Runs that take about as long as each other.
type Kind = (SuiteKind, String, LevelKind);

/// The times that runs took so far.
#[derive(Debug, Clone, Default)]
pub struct Estimate {
    /// Seconds, and over how many attempts.
    seen: BTreeMap<Kind, (f64, u32)>,
}

impl Estimate {
    /// Before anything was run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in an attempt that has ended.
    pub fn learn(&mut self, record: &RunRecord) {
        let kind = (record.suite, record.case.clone(), record.level.kind());
        let (seconds, attempts) = self.seen.entry(kind).or_default();
        *seconds += record.seconds;
        *attempts += 1;
    }

    /// The time that runs will take, in seconds. Each takes as long as those of its suite, case and
    /// kind of level did so far; if there was none, as long as the file makes it, and a little for
    /// starting and ending.
    pub fn seconds<'a>(&self, runs: impl IntoIterator<Item = &'a Run<'a>>) -> f64 {
        const STARTING: f64 = 0.3;
        let of_run = |run: &Run| {
            let kind = (
                run.work.suite(),
                run.work.case().to_string(),
                run.level.kind(),
            );
            match self.seen.get(&kind) {
                Some((seconds, attempts)) => seconds / f64::from(*attempts),
                None => run.work.least_seconds() + STARTING,
            }
        };
        // The sum of nothing is -0.
        0.0 + runs.into_iter().map(of_run).sum::<f64>()
    }
}

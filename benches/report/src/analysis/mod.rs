//! The analysis: from the records and samples of an experiment to its tables. Pure functions; a
//! module a table.

pub mod accuracy;
pub mod amvia;
pub mod answer;
pub mod application;
pub mod brief;
pub mod condition;
pub mod failures;
pub mod gate;
pub mod injected;
pub mod levels;
pub mod library;
pub mod load;
pub mod normality;
pub mod other_delays;
pub mod other_loads;
pub mod packet;
pub mod paper;
pub mod pictures;
pub mod repeated;
pub mod results;
pub mod route;
pub mod rows;
pub mod slowdown;
pub mod suite;
pub mod summary;

use std::borrow::Cow;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::standing::Standing;
use serde::Serialize;

use crate::Error;
use crate::table::Table;
use accuracy::Accuracy;
use answer::{Answer, Effect};
use brief::Brief;
use condition::{RankReader, Reader};
use failures::{Failure, Schedule};
use load::Loads;
use normality::Normality;
use packet::fits::Injected;
use packet::made::MadeTable;
use paper::Finding;
use results::{Results, Suites};
use suite::Measured;
use summary::Summary;

/// The input of the analysis.
pub struct Input<'a> {
    /// The last attempt at each run that was tried, measured or failed.
    pub records: &'a [RunRecord],
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The progress of the experiment.
    pub standing: Standing,
    /// The distribution tables that were injected.
    pub tables: Vec<Injected>,
    /// Those that were made for a mean and a standard deviation.
    pub made: Vec<MadeTable>,
    /// Gives a run's samples.
    pub samples: &'a Reader<'a>,
    /// Gives those of a run over MPI by rank.
    pub rank_samples: &'a RankReader<'a>,
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// The question of the experiment and its answer.
    pub answer: Answer,
    /// The rows that the answer is made from: variation and mean, a row a program.
    pub effects: Vec<Effect>,
    /// A short table of the measurements, if there is no such program.
    pub brief: Vec<Brief>,
    /// The findings in words, the most important first.
    pub summary: Summary,
    /// The findings by suite.
    #[serde(flatten)]
    pub suites: Suites,
    /// Tests for normality.
    pub normality: Vec<Normality>,
    /// Asked against achieved.
    pub injector: Vec<Accuracy>,
    /// The standing of the paper's findings.
    pub paper: Vec<Finding>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
    /// The progress of the schedule.
    pub schedule: Schedule,
}

impl Analysis {
    /// Analyses an experiment.
    ///
    /// # Errors
    /// No run was measured, or the samples of one cannot be read.
    pub fn of(input: Input) -> Result<Self, Error> {
        let done: Vec<&RunRecord> = input
            .records
            .iter()
            .filter(|record| record.outcome == Outcome::Done)
            .collect();
        if done.is_empty() {
            return Err(Error::NothingMeasured {
                failed: input.records.len(),
            });
        }
        let loads = Loads::of(&done);
        let joined: Vec<Cow<RunRecord>> = done.iter().map(|run| loads.joined(run)).collect();
        let done: Vec<&RunRecord> = joined.iter().map(AsRef::as_ref).collect();
        let results = Results::of(&Measured {
            done: &done,
            loads: &loads,
            experiment: input.experiment,
            tables: &input.tables,
            made: &input.made,
            samples: input.samples,
            rank_samples: input.rank_samples,
        })?;
        let failures = failures::failures(input.records, input.experiment.retries);
        let schedule = Schedule {
            runs: input.standing.runs,
            left: input.standing.left,
        };
        let effects = answer::effects(&results, input.experiment);
        let brief = match effects.is_empty() {
            true => brief::short(results.suites.brief()),
            false => Vec::new(),
        };
        let paper = paper::findings(&results, input.experiment);
        let gaps = failures::gaps(&results, &failures, schedule, &done, input.experiment);
        let by_variation = effects.iter().map(|effect| &effect.by_variation);
        let summary = Summary::of(&results, &paper, by_variation, gaps);
        let Results {
            suites,
            normality,
            injector,
        } = results;
        Ok(Analysis {
            answer: answer::answer(&effects, &brief, &summary, &suites),
            effects,
            brief,
            summary,
            suites,
            normality,
            injector,
            paper,
            failures,
            schedule,
        })
    }

    /// Every table that is not empty.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self.every_table();
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// Every table that a report can have. Those without a row are not written.
    pub fn every_table(&self) -> Vec<Table> {
        let level_called = |level: Level| self.suites.packet.level_called(level);
        let with_interval = |level: Level| self.suites.packet.level_with_interval(level);
        let load_called = |percent: u8| self.suites.packet.load_called(percent);
        let mut tables = vec![
            Table::of(&self.effects).noted(answer::note(
                &self.effects,
                &with_interval,
                &load_called,
            )),
            Table::of(&self.brief).calling(with_interval),
            Table::of(&self.paper),
        ];
        tables.extend(self.suites.tables());
        tables.extend([
            Table::of(&self.injector),
            Table::of(&self.normality),
            Table::of(&self.failures),
        ]);
        let called = tables.into_iter().map(|table| table.calling(level_called));
        called.collect()
    }
}

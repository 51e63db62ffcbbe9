//! The common part of all suites in an analysis.

use jitterlab_experiment::record::RunRecord;
use jitterlab_experiment::spec::Experiment;

use super::brief::Brief;
use super::condition::{RankReader, Reader};
use super::load::Loads;
use super::normality::Normality;
use super::packet::fits::Injected;
use super::packet::made::MadeTable;
use crate::Error;
use crate::table::Table;

/// The runs that were measured.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The last attempt at each run, of those that were measured, at the level of its condition ([`Loads::joined`]).
    pub done: &'a [&'a RunRecord],
    /// The background loads.
    pub loads: &'a Loads,
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The distribution tables that were injected.
    pub tables: &'a [Injected],
    /// Those that were made for a mean and a standard deviation.
    pub made: &'a [MadeTable],
    /// Gives a run's samples.
    pub samples: &'a Reader<'a>,
    /// Gives those of a run over MPI by rank.
    pub rank_samples: &'a RankReader<'a>,
}

/// The findings of a suite.
pub trait Suite: Sized {
    /// How far it measures from programs, which are at 0: the short table has rows of the nearest suite alone.
    const DISTANCE: u8;

    /// Finds it.
    ///
    /// # Errors
    /// Samples cannot be read.
    fn of(measured: &Measured) -> Result<Self, Error>;

    /// Its tables, in their order; those without a row are not written.
    fn tables(&self) -> Vec<Table>;

    /// Its tests for normality, which are one table for all suites.
    fn normality(&self) -> &[Normality];

    /// Rows for the short table, of the kind that is nearest to programs.
    fn brief(&self) -> Vec<Brief>;

    /// A sentence on each of its cases: what was measured, between which hosts, and how.
    fn described(experiment: &Experiment) -> Vec<String>;

    /// The name of what a run measures, for people. None where the run is of another suite, or its case says it.
    fn subject(_run: &RunRecord) -> Option<String> {
        None
    }
}

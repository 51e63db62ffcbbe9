//! The library suite: operations of MPI.

pub mod operations;

use jitterlab_experiment::record::{RunRecord, SuiteKind};
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::suites::Case as _;
use jitterlab_experiment::suites::library::LibraryCase;
use serde::Serialize;

use crate::Error;
use crate::analysis::brief::Brief;
use crate::analysis::normality::Normality;
use crate::analysis::pictures::RankPicture;
use crate::analysis::suite::{Measured, Suite};
use crate::table::Table;
use operations::Operation;

/// The findings of the suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Operations of MPI.
    #[serde(rename = "library")]
    pub operations: Vec<Operation>,
    /// Tests for normality.
    #[serde(skip)]
    pub normality: Vec<Normality>,
    /// The operations rank by rank, for the figures.
    #[serde(skip)]
    pub rank_pictures: Vec<RankPicture>,
}

impl Suite for Found {
    const DISTANCE: u8 = 1;

    fn of(measured: &Measured) -> Result<Self, Error> {
        let found = operations::operations(measured)?;
        Ok(Found {
            operations: found.rows,
            normality: found.normality,
            rank_pictures: found.ranks,
        })
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::of(&self.operations)]
    }

    fn normality(&self) -> &[Normality] {
        &self.normality
    }

    fn brief(&self) -> Vec<Brief> {
        let operations = self.operations.iter();
        let operations = operations
            .map(|row| Brief::time(row.case.clone(), row.level, "mean time", row.mean_ns));
        operations.collect()
    }

    fn described(experiment: &Experiment) -> Vec<String> {
        experiment.suites.library.iter().map(described).collect()
    }

    fn subject(run: &RunRecord) -> Option<String> {
        (run.suite == SuiteKind::Library).then(|| format!("MPI {}", run.case))
    }
}

fn described(case: &LibraryCase) -> String {
    let (name, operation, ranks) = (case.name(), case.case.name(), case.ranks);
    let size = case.size.map_or(String::new(), |size| format!(", {size}"));
    format!("library, {name}: {operation} on {ranks} ranks{size}")
}

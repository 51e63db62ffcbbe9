//! The application suite: what delays do to the time of programs.

pub mod communication;
pub mod correlation;
pub mod delays;
pub mod groups;
pub mod runtimes;

use serde::Serialize;

use crate::Error;
use crate::analysis::normality::Normality;
use crate::analysis::slowdown::corrected_over;
use crate::analysis::suite::{Measured, Suite};
use crate::table::Table;
use communication::Communication;
use correlation::Correlation;
use groups::Group;
use runtimes::{FixedMean, Runtime};

/// What was found of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// What benchmarks said of themselves.
    pub communication: Vec<Communication>,
    /// Runtimes of applications.
    pub runtimes: Vec<Runtime>,
    /// Varied against constant delays of the same mean.
    pub fixed_mean: Vec<FixedMean>,
    /// Correlations of runtimes.
    pub correlations: Vec<Correlation>,
    /// Tests for normality.
    #[serde(skip)]
    pub normality: Vec<Normality>,
    /// For the figures: runtimes by level.
    #[serde(skip)]
    pub groups: Vec<Group>,
}

impl Suite for Found {
    fn of(measured: &Measured) -> Result<Self, Error> {
        let Measured {
            done,
            tables,
            made,
            experiment,
            ..
        } = *measured;
        let groups = groups::groups(done, tables, made, experiment);
        Ok(Found {
            communication: communication::communication(done),
            runtimes: runtimes::runtimes(&groups),
            fixed_mean: runtimes::fixed_mean(&groups),
            correlations: correlation::correlations(&groups),
            normality: runtimes::normality(&groups),
            groups,
        })
    }

    fn tables(&self) -> Vec<Table> {
        vec![
            Table::of(&self.communication),
            Table::of(&self.runtimes).noted(corrected_over(
                self.runtimes.iter().filter_map(|row| row.slowdown.as_ref()),
            )),
            Table::of(&self.fixed_mean).noted(corrected_over(
                self.fixed_mean.iter().map(|row| &row.slowdown),
            )),
            Table::of(&self.correlations),
        ]
    }

    fn normality(&self) -> &[Normality] {
        &self.normality
    }
}

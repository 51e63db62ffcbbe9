//! The application suite: what delays do to the time of programs.

pub mod communication;
pub mod correlation;
pub mod delays;
pub mod groups;
pub mod runtimes;

use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::suites::application::{ApplicationCase, Client};
use serde::Serialize;

use crate::Error;
use crate::analysis::brief::Brief;
use crate::analysis::normality::Normality;
use crate::analysis::slowdown::corrected_over;
use crate::analysis::suite::{Measured, Suite};
use crate::table::Table;
use communication::Communication;
use correlation::Correlation;
use groups::Group;
use runtimes::{FixedMean, Runtime};

/// The findings of the suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The words of benchmarks about themselves.
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
    /// The runtimes by level, for the figures.
    #[serde(skip)]
    pub groups: Vec<Group>,
}

impl Suite for Found {
    const DISTANCE: u8 = 0;

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

    fn brief(&self) -> Vec<Brief> {
        let runtimes = self.runtimes.iter().map(|row| {
            let (of, ns) = (row.application.clone(), row.runtime_s.scaled(1e9));
            Brief::time(of, row.level, row.timed.name(), ns)
        });
        runtimes.collect()
    }

    fn described(experiment: &Experiment) -> Vec<String> {
        let cases = &experiment.suites.application;
        cases.iter().filter_map(described).collect()
    }
}

fn described(case: &ApplicationCase) -> Option<String> {
    match (&case.client, &case.npb) {
        (Some(client), _) => Some(command(case, client)),
        (None, Some(npb)) => Some(format!(
            "application, {}: NPB {}, class {}, on {} ranks",
            case.name,
            npb.kernel.name().to_uppercase(),
            npb.class.name(),
            npb.ranks
        )),
        (None, None) => None,
    }
}

/// A program of somebody else's.
fn command(case: &ApplicationCase, client: &Client) -> String {
    let (name, on) = (&case.name, &client.on);
    let command = client.command.join(" ");
    match &case.server {
        Some(server) => format!(
            "application, {name}: {command} on {on} (delayed), against {} on {}",
            server.command.first().cloned().unwrap_or_default(),
            server.on
        ),
        None => format!("application, {name}: {command} on {on}"),
    }
}

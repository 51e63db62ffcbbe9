//! The findings of runs by themselves; what is concluded from them comes after.

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use jitterlab_experiment::spec::Experiment;
use serde::Serialize;

use super::accuracy::Accuracy;
use super::brief::Brief;
use super::normality::Normality;
use super::suite::{Measured, Suite};
use crate::Error;
use crate::table::Table;

/// The findings of the runs, from which everything else follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The results of each suite.
    pub suites: Suites,
    /// Tests for normality.
    pub normality: Vec<Normality>,
    /// Asked against achieved.
    pub injector: Vec<Accuracy>,
}

impl Results {
    /// The results of the runs that were measured.
    ///
    /// # Errors
    /// The samples of one cannot be read.
    pub(super) fn of(measured: &Measured) -> Result<Self, Error> {
        let suites = Suites::of(measured)?;
        Ok(Results {
            normality: suites.normality(),
            suites,
            injector: injector(measured.done),
        })
    }
}

/// The findings by suite: a folder each.
macro_rules! suites {
    ($($suite:ident),+ $(,)?) => {
        /// The findings by suite.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub struct Suites {
            $(
                /// The results of this suite.
                #[serde(flatten)]
                pub $suite: super::$suite::Found,
            )+
        }

        impl Suites {
            pub(super) fn of(measured: &Measured) -> Result<Self, Error> {
                Ok(Suites {
                    $($suite: Suite::of(measured)?,)+
                })
            }

            pub(super) fn tables(&self) -> Vec<Table> {
                [$(self.$suite.tables(),)+].concat()
            }

            pub(super) fn normality(&self) -> Vec<Normality> {
                [$(self.$suite.normality(),)+].concat()
            }

            /// The rows of the suite that is nearest to programs, of those that have some.
            pub(super) fn brief(&self) -> Vec<Brief> {
                let all = [$((<super::$suite::Found as Suite>::DISTANCE, self.$suite.brief()),)+];
                let found = all.into_iter().filter(|(_, rows)| !rows.is_empty());
                let nearest = found.min_by_key(|&(distance, _)| distance);
                nearest.map(|(_, rows)| rows).unwrap_or_default()
            }
        }

        /// A sentence on each case of an experiment, suite by suite.
        pub fn described(experiment: &Experiment) -> Vec<String> {
            [$(<super::$suite::Found as Suite>::described(experiment),)+].concat()
        }

        /// The name of what a run measures, for people.
        pub fn subject(run: &RunRecord) -> String {
            let of_suite = [$(<super::$suite::Found as Suite>::subject(run),)+];
            let said = of_suite.into_iter().flatten().next();
            said.unwrap_or_else(|| run.case.clone())
        }
    };
}

// The list, in the order of their tables.
suites!(packet, amvia, library, application);

/// Asked against achieved, for every program and level.
fn injector(done: &[&RunRecord]) -> Vec<Accuracy> {
    let mut keys: Vec<(String, Level)> = done.iter().map(|run| (subject(run), run.level)).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .filter_map(|(name, level)| {
            let runs: Vec<&RunRecord> = done
                .iter()
                .filter(|run| run.level == level && subject(run) == name)
                .copied()
                .collect();
            Accuracy::of(&name, level, &runs)
        })
        .collect()
}

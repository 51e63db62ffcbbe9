//! What runs show by themselves; what is concluded from it comes after.

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use serde::Serialize;

use super::accuracy::Accuracy;
use super::normality::Normality;
use super::subject::subject;
use super::suite::{Measured, Suite};
use crate::Error;
use crate::table::Table;

/// What was found of runs, from which everything else follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// By suite.
    pub suites: Suites,
    /// Tests for normality.
    pub normality: Vec<Normality>,
    /// Asked against achieved.
    pub injector: Vec<Accuracy>,
}

impl Results {
    /// Of the runs that were measured.
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

/// What is found by suite: a folder each.
macro_rules! suites {
    ($($suite:ident),+ $(,)?) => {
        /// What was found by suite.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub struct Suites {
            $(
                /// Of this one.
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

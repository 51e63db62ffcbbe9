//! Background loads that were produced under one name in two result folders: what was asked for is the same, and need not be produced.

use std::collections::BTreeMap;
use std::fmt;

use jitterlab_experiment::record::RunRecord;
use serde::Serialize;

use crate::analysis::load::{Load, SAME};

/// The load under which runs of a name were measured, in percent of the bandwidth, where it is another one in b than in a.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OtherLoad {
    /// The load in a, mean over runs.
    pub a: f64,
    /// The load in b.
    pub b: f64,
}

impl OtherLoad {
    /// The loads of a name that both folders have, if the two are not the same to within 5 % of the bandwidth.
    pub fn of(name: &str, a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> Option<Self> {
        let other = OtherLoad {
            a: *a.get(name)?,
            b: *b.get(name)?,
        };
        ((other.a - other.b).abs() > SAME).then_some(other)
    }
}

/// The text for people: `20 %; in a 48 %`.
impl fmt::Display for OtherLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} %; in a {:.0} %", self.b, self.a)
    }
}

/// The load that was produced under each name, without the repetition, of runs under load.
pub fn produced(done: &[&RunRecord]) -> BTreeMap<String, f64> {
    let mut runs: BTreeMap<&str, Vec<&RunRecord>> = BTreeMap::new();
    for run in done {
        runs.entry(run.condition()).or_default().push(run);
    }
    let produced = runs
        .into_iter()
        .filter_map(|(name, runs)| Some((name.into(), Load::of(&runs)?.produced.value)));
    produced.collect()
}

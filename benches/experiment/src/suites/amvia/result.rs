//! The result of a case of the active-message suite: what `jitterlab amvia` prints.

use jitterlab_amvia_suite::cases::{Case, Setting, bandwidth, rtt};
use jitterlab_amvia_suite::{loggp, performability};
use serde::{Deserialize, Deserializer, Serialize};

use crate::suites::by_case::{by_case, read};

/// The report of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AmviaResult {
    /// Transactions one after the other.
    Rtt(rtt::Report),
    /// The transactions with as many under way as the window holds, by size.
    Bandwidth(bandwidth::Report),
    /// The costs of a frame.
    Loggp(loggp::Report),
    /// The costs of failures.
    Performability(performability::Report),
}

impl<'de> Deserialize<'de> for AmviaResult {
    /// Its field `case` says which report it is.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (case, value) = by_case(deserializer)?;
        Ok(match case {
            Case::Rtt => AmviaResult::Rtt(read(value)?),
            Case::Bandwidth => AmviaResult::Bandwidth(read(value)?),
            Case::Loggp => AmviaResult::Loggp(read(value)?),
            Case::Performability => AmviaResult::Performability(read(value)?),
        })
    }
}

impl AmviaResult {
    /// The transport, the CPUs and the clock of the measurement.
    pub fn setting(&self) -> &Setting {
        match self {
            AmviaResult::Rtt(report) => &report.setting,
            AmviaResult::Bandwidth(report) => &report.setting,
            AmviaResult::Loggp(report) => &report.setting,
            AmviaResult::Performability(report) => &report.setting,
        }
    }

    /// True if it ended before its time because there was no memory left for samples.
    pub fn memory_full(&self) -> bool {
        matches!(self, AmviaResult::Rtt(report) if report.memory_full)
    }
}

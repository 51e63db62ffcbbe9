//! The way of transactions: a case over one transport, in one protocol, at one level.

use std::fmt;

use jitterlab_amvia_suite::Protocol;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::{AmviaResult, RunRecord, SuiteResult, Transport};
use serde::Serialize;

use crate::analysis::rows::{AtLevel, level_columns};
use crate::table::{Column, Value, column};
use crate::words;

/// The result of a run of the suite.
pub fn result(run: &RunRecord) -> Option<&AmviaResult> {
    run.result.as_ref().and_then(SuiteResult::amvia)
}

/// A case over one transport, in one protocol, at one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Way {
    /// The name of the case.
    pub case: String,
    /// The carrier of the frames.
    pub transport: Transport,
    /// The protocol.
    pub protocol: Protocol,
    /// The level.
    pub level: Level,
}

impl Way {
    /// The way that a run of the suite measures.
    pub fn of(run: &RunRecord) -> Option<Self> {
        let setting = result(run)?.setting();
        Some(Way {
            case: run.case.clone(),
            transport: setting.over.transport,
            protocol: setting.protocol,
            level: run.level,
        })
    }

    /// Every way of the runs that are meant: by case, transport, protocol and level.
    pub fn all(runs: &[&RunRecord], is_meant: impl Fn(&RunRecord) -> bool) -> Vec<Self> {
        let meant = runs.iter().filter(|run| is_meant(run));
        let mut ways: Vec<Way> = meant.filter_map(|run| Way::of(run)).collect();
        ways.sort_by(|a, b| a.key().cmp(&b.key()));
        ways.dedup();
        ways
    }

    fn key(&self) -> (&str, Option<usize>, Protocol, Level) {
        let place = Transport::ALL
            .iter()
            .position(|&known| known == self.transport);
        (&self.case, place, self.protocol, self.level)
    }

    /// The runs that are of it.
    pub fn runs<'a>(&self, runs: &[&'a RunRecord]) -> Vec<&'a RunRecord> {
        let own = runs
            .iter()
            .filter(|run| Way::of(run).as_ref() == Some(self));
        own.copied().collect()
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = words::transport(self.transport.name());
        write!(f, "{} of {} over {transport}", self.case, self.protocol)
    }
}

/// Rows that belong to one way.
pub trait OfWay {
    /// The way.
    fn way(&self) -> &Way;
}

impl<R: OfWay> AtLevel for R {
    fn level(&self) -> Level {
        self.way().level
    }
}

/// The columns that say it.
pub fn way_columns<R: OfWay>() -> Vec<Column<R>> {
    let mut columns = vec![
        column(
            "case",
            "Case",
            "case of the active-message suite",
            |row: &R| Value::Text(row.way().case.clone()),
        ),
        column("transport", "Over", "what carried the frames", |row: &R| {
            Value::Text(row.way().transport.name().into())
        }),
        column("protocol", "Protocol", "the protocol", |row: &R| {
            Value::Text(row.way().protocol.name().into())
        }),
    ];
    columns.extend(level_columns());
    columns
}

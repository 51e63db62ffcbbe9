//! Round trips of transactions by transport, protocol and level.

use jitterlab_experiment::record::{AmviaResult, RunRecord};
use serde::Serialize;

use super::way::{OfWay, Way, result, way_columns};
use crate::Error;
use crate::analysis::condition::{Pooled, Reader};
use crate::analysis::normality::{Figures, Normality};
use crate::analysis::rows::micros;
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// Round trips of one way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transactions {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// Number of runs.
    pub runs: usize,
    /// Number of transactions.
    pub n: usize,
    /// Requests that were sent again.
    pub retransmissions: u64,
    /// Mean, interval over runs.
    pub mean_ns: Estimate,
    /// Median, interval over runs.
    pub median_ns: Estimate,
    /// 99th percentile.
    pub p99_ns: f64,
    /// 99.9th percentile.
    pub p999_ns: f64,
}

/// Rows, and tests for normality.
pub struct Found {
    /// A row for each case, transport, protocol and level.
    pub rows: Vec<Transactions>,
    /// The tests of the samples of each row.
    pub normality: Vec<Normality>,
}

fn is_rtt(run: &RunRecord) -> bool {
    matches!(result(run), Some(AmviaResult::Rtt(_)))
}

/// Round trips of every way.
///
/// # Errors
/// The samples of a run cannot be read.
pub fn transactions(done: &[&RunRecord], read: &Reader) -> Result<Found, Error> {
    let mut found = Found {
        rows: Vec::new(),
        normality: Vec::new(),
    };
    for way in Way::all(done, is_rtt) {
        let runs = way.runs(done);
        let subject = format!("{way}, {}", way.level);
        let Some(time) = Pooled::of(&subject, &runs, read)? else {
            continue;
        };
        let again = runs.iter().map(|run| match result(run) {
            Some(AmviaResult::Rtt(report)) => report.retransmissions,
            _ => 0,
        });
        found.normality.extend(Normality::of(
            way.to_string(),
            Some(way.level),
            Figures::Transactions,
            &time.sorted,
        ));
        found.rows.push(Transactions {
            runs: time.runs(),
            n: time.sorted.len(),
            retransmissions: again.sum(),
            mean_ns: time.mean(),
            median_ns: time.median(),
            p99_ns: time.summary.p99,
            p999_ns: time.summary.p999,
            way,
        });
    }
    Ok(found)
}

impl OfWay for Transactions {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl Row for Transactions {
    const ID: &'static str = "amvia";
    const TITLE: &'static str = "Round trips of active messages";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &Transactions| {
                Value::Count(row.runs as u64)
            }),
            column("n", "n", "number of transactions", |row: &Transactions| {
                Value::Count(row.n as u64)
            }),
            column(
                "retransmissions",
                "Sent again",
                "requests that were sent again",
                |row: &Transactions| Value::Count(row.retransmissions),
            ),
            column(
                "mean_us",
                "Mean, µs",
                "mean round trip in microseconds, 95 % interval over runs",
                |row: &Transactions| micros(row.mean_ns),
            )
            .of_estimates(),
            column(
                "median_us",
                "Median, µs",
                "median round trip in microseconds, 95 % interval over runs",
                |row: &Transactions| micros(row.median_ns),
            )
            .of_estimates(),
            column(
                "p99_us",
                "99 %, µs",
                "99th percentile in microseconds",
                |row: &Transactions| Value::Number(row.p99_ns / 1e3),
            ),
            column(
                "p999_us",
                "99.9 %, µs",
                "99.9th percentile in microseconds",
                |row: &Transactions| Value::Number(row.p999_ns / 1e3),
            ),
        ]);
        columns
    }
}

/// Says what a protocol costs over two-way, a sentence a transport.
pub fn in_words(rows: &[Transactions]) -> Vec<String> {
    use jitterlab_amvia_suite::Protocol::TwoWay;
    use jitterlab_experiment::level::Level;
    let plain = || rows.iter().filter(|row| row.way.level == Level::None);
    let bases = plain().filter(|row| row.way.protocol == TwoWay);
    let sentence = |base: &Transactions| {
        let others = plain().filter(|row| {
            row.way.case == base.way.case
                && row.way.transport == base.way.transport
                && row.way.protocol != TwoWay
        });
        let each: Vec<String> = others
            .map(|row| {
                let ratio = row.median_ns.value / base.median_ns.value;
                format!("{} {}", row.way.protocol, words::signed_percent(ratio))
            })
            .collect();
        (!each.is_empty()).then(|| {
            format!(
                "Over {}, the median round trip of two-way is {} without load; against it {}.",
                words::transport(base.way.transport.name()),
                words::time(base.median_ns.value),
                words::list(&each),
            )
        })
    };
    bases.filter_map(sentence).collect()
}

//! Transactions and bytes a second, by size.

use std::collections::BTreeMap;

use jitterlab_experiment::record::{AmviaResult, RunRecord};
use serde::Serialize;

use super::way::{OfWay, Way, result, way_columns};
use crate::analysis::repeated::Repeated;
use crate::table::{Column, Estimate, Row, Value, column};

/// Requests of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// Bytes of a request.
    pub size: u64,
    /// Number of runs.
    pub runs: usize,
    /// Transactions a second, mean over runs.
    pub transactions: Estimate,
    /// Bytes a second, mean over runs.
    pub bytes: Estimate,
    /// Requests that were sent again.
    pub retransmissions: u64,
}

/// The rates of every way, by size.
pub fn rates(done: &[&RunRecord]) -> Vec<Rate> {
    let is_stream = |run: &RunRecord| matches!(result(run), Some(AmviaResult::Bandwidth(_)));
    let mut rates = Vec::new();
    for way in Way::all(done, is_stream) {
        let mut sizes: BTreeMap<u64, (Repeated, Repeated, u64)> = BTreeMap::new();
        for run in way.runs(done) {
            let Some(AmviaResult::Bandwidth(report)) = result(run) else {
                continue;
            };
            for point in &report.points {
                let (transactions, bytes, again) = sizes.entry(point.size).or_default();
                transactions.add(run.block, point.transactions_per_second);
                bytes.add(run.block, point.bytes_per_second);
                *again += point.retransmissions;
            }
        }
        let of_way = sizes.into_iter();
        rates.extend(of_way.map(|(size, (transactions, bytes, again))| Rate {
            way: way.clone(),
            size,
            runs: bytes.runs(),
            transactions: transactions.mean().positive(),
            bytes: bytes.mean().positive(),
            retransmissions: again,
        }));
    }
    rates
}

impl OfWay for Rate {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl Row for Rate {
    const ID: &'static str = "amvia_bandwidth";
    const TITLE: &'static str = "Transactions and bytes a second";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column(
                "size_bytes",
                "Size, B",
                "bytes of a request",
                |row: &Rate| Value::Count(row.size),
            ),
            column("runs", "Runs", "number of runs", |row: &Rate| {
                Value::Count(row.runs as u64)
            }),
            column(
                "transactions_per_second",
                "Transactions/s",
                "transactions a second, mean over runs with its interval",
                |row: &Rate| Value::Estimate(row.transactions),
            )
            .of_estimates(),
            column(
                "mb_per_second",
                "MB/s",
                "bytes of requests a second in millions, mean over runs with its interval",
                |row: &Rate| Value::Estimate(row.bytes.scaled(1e-6)),
            )
            .of_estimates(),
            column(
                "retransmissions",
                "Sent again",
                "requests that were sent again",
                |row: &Rate| Value::Count(row.retransmissions),
            ),
        ]);
        columns
    }
}

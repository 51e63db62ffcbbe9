//! The speed and communication that the NAS Parallel Benchmarks report of themselves
//! (latency-variation, table 3).

use std::collections::BTreeMap;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use jitterlab_experiment::record::npb::Report;
use jitterlab_stats::repeated;
use serde::Serialize;

use crate::analysis::repeated::{CONFIDENCE, mean_of};
use crate::analysis::rows::{AtLevel, level_columns};
use crate::table::{Column, Estimate, Row, Value, column};

/// One benchmark at one level, over all its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Communication {
    /// The name of the application.
    pub application: String,
    /// The benchmark.
    pub kernel: String,
    /// The problem size.
    pub class: String,
    /// Number of ranks.
    pub ranks: u64,
    /// The level.
    pub level: Level,
    /// Number of runs.
    pub runs: usize,
    /// Millions of operations a second, of all ranks together, interval over runs.
    pub mops: Estimate,
    /// Messages of a run from one rank to another, mean over runs.
    pub messages: f64,
    /// Bytes in them.
    pub bytes: f64,
    /// Collective calls of a run, of all ranks.
    pub collectives: f64,
    /// Bytes given to them.
    pub collective_bytes: f64,
    /// The part of the measured phases that ranks spent in MPI.
    pub mpi_share: f64,
}

/// Every benchmark at every level.
pub fn communication(done: &[&RunRecord]) -> Vec<Communication> {
    let mut runs: BTreeMap<(&str, Level), Vec<&Report>> = BTreeMap::new();
    for run in done {
        let figure = run.result.as_ref().and_then(|result| result.application());
        if let Some(report) = figure.and_then(|figure| figure.npb.as_ref()) {
            let key = (run.case.as_str(), run.level);
            runs.entry(key).or_default().push(report);
        }
    }
    let row = |((application, level), reports): ((&str, Level), Vec<&Report>)| {
        // A number that is none was not computed.
        let figures = |of: fn(&Report) -> f64| {
            let figures = reports.iter().map(move |report| of(report));
            figures.filter(|figure| figure.is_finite())
        };
        let mean = |of| mean_of(figures(of)).unwrap_or(f64::NAN);
        let speeds: Vec<f64> = figures(|report| report.mops).collect();
        Communication {
            application: application.into(),
            kernel: reports[0].kernel.to_string(),
            class: reports[0].class.to_string(),
            ranks: reports[0].ranks as u64,
            level,
            runs: reports.len(),
            mops: repeated::mean(&speeds, CONFIDENCE)
                .map_or(Estimate::alone(mean(|report| report.mops)), |speed| {
                    Estimate::from(speed).positive()
                }),
            messages: mean(|report| report.messages as f64),
            bytes: mean(|report| report.bytes as f64),
            collectives: mean(|report| report.collectives as f64),
            collective_bytes: mean(|report| report.collective_bytes as f64),
            mpi_share: mean(|report| report.mpi_share),
        }
    };
    runs.into_iter().map(row).collect()
}

impl AtLevel for Communication {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for Communication {
    const ID: &'static str = "communication";
    const TITLE: &'static str = "Speed and communication of the NAS Parallel Benchmarks";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![
            column(
                "application",
                "Application",
                "its name",
                |row: &Communication| Value::Text(row.application.clone()),
            ),
            column(
                "kernel",
                "Kernel",
                "the benchmark",
                |row: &Communication| Value::Text(row.kernel.clone()),
            ),
            column(
                "class",
                "Class",
                "the problem size",
                |row: &Communication| Value::Text(row.class.clone()),
            ),
            column(
                "ranks",
                "Ranks",
                "number of ranks",
                |row: &Communication| Value::Count(row.ranks),
            ),
        ];
        columns.extend(level_columns());
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &Communication| {
                Value::Count(row.runs as u64)
            }),
            column(
                "mops",
                "Mop/s",
                "millions of operations a second, of all ranks, 95 % interval over runs",
                |row: &Communication| Value::Estimate(row.mops),
            )
            .of_estimates(),
            column(
                "messages",
                "Messages",
                "messages of a run, mean over runs",
                |row: &Communication| Value::Number(row.messages),
            ),
            column("bytes", "Bytes", "bytes in them", |row: &Communication| {
                Value::Number(row.bytes)
            }),
            column(
                "collectives",
                "Collective calls",
                "collective calls of a run, of all ranks",
                |row: &Communication| Value::Number(row.collectives),
            ),
            column(
                "collective_bytes",
                "Their bytes",
                "bytes given to collective calls",
                |row: &Communication| Value::Number(row.collective_bytes),
            ),
            column(
                "mpi_share",
                "Share in MPI",
                "part of the measured time that ranks spent in MPI",
                |row: &Communication| Value::Number(row.mpi_share),
            ),
        ]);
        columns
    }
}

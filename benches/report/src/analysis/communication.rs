//! What the NAS Parallel Benchmarks said of themselves: speed and communication (latency-variation,
//! table 3).

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use jitterlab_stats::repeated;
use serde::Serialize;
use serde_json::Value as Json;

use super::repeated::{CONFIDENCE, mean_of};
use super::{AtLevel, level_columns};
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
    let printed = |run: &&RunRecord| {
        run.mpi
            .as_ref()
            .is_some_and(|mpi| mpi["kernel"].is_string())
    };
    let runs: Vec<&RunRecord> = done.iter().copied().filter(printed).collect();
    let mut keys: Vec<(&str, Level)> = runs
        .iter()
        .map(|run| (run.case.as_str(), run.level))
        .collect();
    keys.sort();
    keys.dedup();
    let row = |(application, level): (&str, Level)| {
        let of_key = runs
            .iter()
            .filter(|run| run.case == application && run.level == level);
        let printed: Vec<&Json> = of_key.filter_map(|run| run.mpi.as_ref()).collect();
        let figures = |name: &'static str| printed.iter().filter_map(move |mpi| mpi[name].as_f64());
        let mean = |name| mean_of(figures(name)).unwrap_or(f64::NAN);
        let speeds: Vec<f64> = figures("mops").collect();
        let text = |name: &str| printed.first()?[name].as_str().map(String::from);
        Some(Communication {
            application: application.into(),
            kernel: text("kernel")?,
            class: text("class")?,
            ranks: printed.first()?["ranks"].as_u64()?,
            level,
            runs: printed.len(),
            mops: repeated::mean(&speeds, CONFIDENCE)
                .map_or(Estimate::alone(mean("mops")), Into::into),
            messages: mean("messages"),
            bytes: mean("bytes"),
            collectives: mean("collectives"),
            collective_bytes: mean("collective_bytes"),
            mpi_share: mean("mpi_share"),
        })
    };
    keys.into_iter().filter_map(row).collect()
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

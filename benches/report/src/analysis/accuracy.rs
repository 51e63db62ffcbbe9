//! Asked against achieved: does the injector delay by what it was asked for?

use jitterlab_base::show;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use serde::Serialize;

use crate::analysis::rows::{AtLevel, level_columns};
use crate::table::{Column, Row, Value, column};
use crate::words;

/// The delays of one subject at one level, over all its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Accuracy {
    /// The program that was delayed: a packet case with its transport, or an application.
    pub subject: String,
    /// The level.
    pub level: Level,
    /// Number of runs.
    pub runs: usize,
    /// Messages that were delayed.
    pub delayed: u64,
    /// Mean delay asked for.
    pub asked_mean_ns: f64,
    /// Mean delay achieved.
    pub achieved_mean_ns: f64,
    /// The most that a delay was late by.
    pub error_max_ns: u64,
}

impl Accuracy {
    /// The accuracy over the runs of one subject at one level; `None` if nothing was delayed.
    pub fn of(subject: &str, level: Level, runs: &[&RunRecord]) -> Option<Self> {
        let injections: Vec<_> = runs.iter().filter_map(|run| run.injection).collect();
        let delayed: u64 = injections.iter().map(|injection| injection.delayed).sum();
        let mean = |figure: fn(&jitterlab_experiment::record::Injection) -> f64| {
            let sum: f64 = injections
                .iter()
                .map(|injection| injection.delayed as f64 * figure(injection))
                .sum();
            sum / delayed as f64
        };
        (delayed > 0).then(|| Accuracy {
            subject: subject.into(),
            level,
            runs: injections.len(),
            delayed,
            asked_mean_ns: mean(|injection| injection.asked_mean_ns),
            achieved_mean_ns: mean(|injection| injection.achieved_mean_ns),
            error_max_ns: injections
                .iter()
                .map(|injection| injection.error_max_ns)
                .max()
                .unwrap_or(0),
        })
    }

    fn error_ns(&self) -> f64 {
        self.achieved_mean_ns - self.asked_mean_ns
    }
}

impl AtLevel for Accuracy {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for Accuracy {
    const ID: &'static str = "injector";
    const TITLE: &'static str = "Delays asked for and achieved";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![column(
            "subject",
            "Program",
            "program delayed",
            |row: &Accuracy| Value::Text(row.subject.clone()),
        )];
        columns.extend(level_columns());
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &Accuracy| {
                Value::Count(row.runs as u64)
            }),
            column(
                "delayed",
                "Delayed",
                "messages delayed",
                |row: &Accuracy| Value::Count(row.delayed),
            ),
            column(
                "asked_mean_us",
                "Asked, µs",
                "mean delay asked for in microseconds",
                |row: &Accuracy| Value::Number(row.asked_mean_ns / 1e3),
            ),
            column(
                "achieved_mean_us",
                "Achieved, µs",
                "mean delay achieved in microseconds",
                |row: &Accuracy| Value::Number(row.achieved_mean_ns / 1e3),
            ),
            column(
                "error_mean_ns",
                "Mean error, ns",
                "achieved less asked, in nanoseconds",
                |row: &Accuracy| Value::Number(row.error_ns()),
            ),
            column(
                "error_max_us",
                "Latest by, µs",
                "the most that a delay was late by, in microseconds",
                |row: &Accuracy| Value::Number(row.error_max_ns as f64 / 1e3),
            ),
        ]);
        columns
    }
}

/// Says how far the achieved means are from those asked for.
pub fn in_words(rows: &[Accuracy], level_called: &dyn Fn(Level) -> String) -> Vec<String> {
    let worst = rows
        .iter()
        .max_by(|a, b| a.error_ns().abs().total_cmp(&b.error_ns().abs()));
    let latest = rows.iter().max_by_key(|row| row.error_max_ns);
    let (Some(worst), Some(latest)) = (worst, latest) else {
        return Vec::new();
    };
    vec![format!(
        "The mean achieved delay was off by {} at most ({}, {}: {} asked, {} achieved). \
         The latest of {} delays came {} late ({}, {}); why was not measured.",
        words::time(worst.error_ns().abs()),
        worst.subject,
        level_called(worst.level),
        words::time(worst.asked_mean_ns),
        words::time(worst.achieved_mean_ns),
        show::count(rows.iter().map(|row| row.delayed).sum()),
        words::time(latest.error_max_ns as f64),
        latest.subject,
        level_called(latest.level),
    )]
}

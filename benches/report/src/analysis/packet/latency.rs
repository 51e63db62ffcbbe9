//! Latency under load: what background load does to the round trip (latency-variation, section
//! 5.2, figures 2 and 3).

use jitterlab_experiment::level::{Level, LevelKind};
use serde::Serialize;

use crate::analysis::condition::{Condition, Link};
use crate::analysis::load::Load;
use crate::analysis::rows::{AtLevel, OverLink, level_columns, link_columns, micros};
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// The round trips of one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// Over which link.
    #[serde(flatten)]
    pub link: Link,
    /// The level.
    pub level: Level,
    /// Number of runs.
    pub runs: usize,
    /// Number of round trips.
    pub n: usize,
    /// Mean RTT, interval over runs.
    pub mean_ns: Estimate,
    /// Standard deviation of the RTT, interval over runs.
    pub std_ns: Estimate,
    /// Median RTT, interval over runs.
    pub median_ns: Estimate,
    /// 99th percentile.
    pub p99_ns: f64,
    /// 99.9th percentile.
    pub p999_ns: f64,
    /// Greatest RTT.
    pub max_ns: f64,
    /// Skewness.
    pub skew: Option<f64>,
    /// Skewness of a run, mean over runs with its interval; none without repeated runs.
    pub skew_of_run: Option<Estimate>,
    /// The background load of these runs, at a level of load.
    pub load: Option<Load>,
    /// Messages without an answer.
    pub lost: u64,
    /// Messages whose answer came too late to be a sample.
    pub reordered: u64,
}

impl Latency {
    /// The latency of a condition.
    pub fn of(condition: &Condition) -> Self {
        let summary = &condition.rtt.summary;
        Latency {
            link: condition.link.clone(),
            level: condition.level,
            runs: condition.rtt.runs(),
            n: summary.n,
            mean_ns: condition.rtt.mean(),
            std_ns: condition.rtt.std(),
            median_ns: condition.rtt.median(),
            p99_ns: summary.p99,
            p999_ns: summary.p999,
            max_ns: summary.max,
            skew: summary.skew,
            skew_of_run: condition.rtt.skew_of_run(),
            load: condition.load.clone(),
            lost: condition.lost,
            reordered: condition.reordered,
        }
    }

    /// The share of the messages that gave no round trip.
    pub fn missing_share(&self) -> f64 {
        let missing = (self.lost + self.reordered) as f64;
        missing / (missing + self.n as f64)
    }
}

impl OverLink for Latency {
    fn link(&self) -> &Link {
        &self.link
    }
}

impl AtLevel for Latency {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for Latency {
    const ID: &'static str = "latency";
    const TITLE: &'static str = "RTT without load, under load and with injected delays";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = Vec::from(link_columns());
        columns.extend(level_columns());
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &Latency| {
                Value::Count(row.runs as u64)
            }),
            column("n", "n", "number of round trips", |row: &Latency| {
                Value::Count(row.n as u64)
            }),
            column(
                "mean_us",
                "Mean, µs",
                "mean RTT in microseconds, 95 % interval over runs",
                |row: &Latency| micros(row.mean_ns),
            )
            .of_estimates(),
            column(
                "std_us",
                "Std, µs",
                "standard deviation of the RTT in microseconds, 95 % interval over runs",
                |row: &Latency| micros(row.std_ns),
            )
            .of_estimates(),
            column(
                "median_us",
                "Median, µs",
                "median RTT in microseconds, 95 % interval over runs",
                |row: &Latency| micros(row.median_ns),
            )
            .of_estimates(),
            column(
                "p99_us",
                "99 %, µs",
                "99th percentile of the RTT in microseconds",
                |row: &Latency| Value::Number(row.p99_ns / 1e3),
            ),
            column(
                "p999_us",
                "99.9 %, µs",
                "99.9th percentile of the RTT in microseconds",
                |row: &Latency| Value::Number(row.p999_ns / 1e3),
            ),
            column(
                "max_us",
                "Max, µs",
                "greatest RTT in microseconds",
                |row: &Latency| Value::Number(row.max_ns / 1e3),
            )
            .in_csv_only(),
            column(
                "skew",
                "Skew",
                "adjusted Fisher-Pearson skewness of the RTT",
                |row: &Latency| Value::number(row.skew),
            ),
            column(
                "produced_percent",
                "Load produced, %",
                "load produced in percent of the bandwidth, mean over runs with its 95 % interval",
                |row: &Latency| Value::estimate(row.load.as_ref().map(|load| load.produced)),
            )
            .of_estimates(),
            column(
                "lost",
                "Lost",
                "messages without an answer",
                |row: &Latency| Value::Count(row.lost),
            ),
            column(
                "reordered",
                "Late",
                "messages whose answer came after the timeout, and is no sample",
                |row: &Latency| Value::Count(row.reordered),
            ),
        ]);
        columns
    }
}

/// The meaning of a round trip that is shorter under load.
const ASLEEP: &str = " A round trip that is shorter under load is the mark of processors that sleep while the network is idle: \
                      the delays that this load adds cannot be told from it. `jitterlab tune apply` keeps processors awake.";

/// The most that load did, or, where there was none, the greatest of the delays that were injected: one sentence a link.
pub fn in_words(rows: &[Latency], called: &dyn Fn(Level) -> String) -> Vec<String> {
    let mut links: Vec<&Link> = rows.iter().map(|row| &row.link).collect();
    links.dedup();
    links
        .into_iter()
        .filter_map(|link| sentence(rows, link, called))
        .collect()
}

fn sentence(rows: &[Latency], link: &Link, called: &dyn Fn(Level) -> String) -> Option<String> {
    let of_link = || rows.iter().filter(move |row| row.link == *link);
    let none = of_link().find(|row| row.level == Level::None)?;
    let loaded = of_link().filter(|row| matches!(row.level, Level::Load { .. }));
    let delayed = of_link().filter(|row| row.level.kind() == LevelKind::Injected);
    let highest = loaded.max_by_key(|row| row.level);
    let highest =
        highest.or_else(|| delayed.max_by(|a, b| a.mean_ns.value.total_cmp(&b.mean_ns.value)))?;
    let level = called(highest.level);
    let load = match highest.level {
        Level::Load { .. } => format!("background {level}"),
        _ => level,
    };
    let (before, after) = (time(none.mean_ns), time(highest.mean_ns));
    let found = none.mean_ns.found().zip(highest.mean_ns.found());
    let is_longer = found.is_some_and(|(none, loaded)| loaded.0 > none.1);
    let is_shorter = found.is_some_and(|(none, loaded)| loaded.1 < none.0);
    let mean = match none.mean_ns.interval().zip(highest.mean_ns.interval()) {
        _ if is_longer || is_shorter => {
            format!("Under {load} the mean {link} changed from {before} to {after}")
        }
        Some(_) => format!(
            "No effect of {load} on the mean {link} could be shown, as the intervals overlap: it was {before} without \
             and {after} under it"
        ),
        None => format!(
            "Whether {load} changes the mean {link} {}; it was {before} without and {after} under it",
            words::not_said(none.runs.min(highest.runs), "run")
        ),
    };
    Some(format!(
        "{mean}. The standard deviation was {} and {}, the 99.9th percentile {} and {}.{}",
        words::time(none.std_ns.value),
        words::time(highest.std_ns.value),
        words::time(none.p999_ns),
        words::time(highest.p999_ns),
        if is_shorter && highest.load.is_some() {
            ASLEEP
        } else {
            ""
        },
    ))
}

/// `12.5 µs (95 % interval 11 to 14)`.
fn time(ns: Estimate) -> String {
    match ns.time() {
        (value, Some(interval)) => format!("{value} (95 % interval {interval})"),
        (value, None) => value,
    }
}

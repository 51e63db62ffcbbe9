//! The cases of the packet suite by size, window, slaves or reuse: a row for each place of each curve at each level.

use std::collections::BTreeMap;

use jitterlab_base::units::Bytes;
use jitterlab_experiment::level::{Level, LevelKind};
use jitterlab_experiment::record::{PacketResult, RunRecord, SuiteResult, Transport};
use jitterlab_experiment::suites::Case as _;
use jitterlab_experiment::suites::packet::PacketCase;
use jitterlab_packet::cases::Case;
use serde::Serialize;

use super::curves::{Curve, MICROSECONDS, Over, Reading, at_window, readings};
use crate::analysis::condition::Link;
use crate::analysis::repeated::Repeated;
use crate::analysis::rows::{AtLevel, level_columns};
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// A place of a curve at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Place {
    /// The case, and what carried the messages.
    pub link: Link,
    /// The level.
    pub level: Level,
    /// The curve.
    #[serde(skip)]
    pub curve: Curve,
    /// The place on the curve.
    pub x: f64,
    /// Number of runs.
    pub runs: usize,
    /// Mean over runs, with its interval.
    pub value: Estimate,
}

/// Every place of every curve: case by case, curve by curve, level by level; then those over the window, of cases that differ in
/// that alone.
pub fn places(done: &[&RunRecord], cases: &[PacketCase]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for link in Link::others(done) {
        let runs = done
            .iter()
            .filter(|run| Link::of(run).as_ref() == Some(&link));
        places.extend(of_runs(&link, runs.copied(), readings));
    }
    for (kind, names) in by_window(cases) {
        let is_of_kind = |run: &&&RunRecord| names.contains(&run.case.as_str());
        let runs: Vec<&RunRecord> = done.iter().filter(is_of_kind).copied().collect();
        let mut transports: Vec<_> = runs.iter().filter_map(|run| run.transport).collect();
        transports.sort_by_key(|over| Transport::ALL.iter().position(|known| known == over));
        transports.dedup();
        for transport in transports {
            let link = Link {
                case: format!("{kind}-by-window"),
                transport,
            };
            let runs = runs.iter().filter(|run| run.transport == Some(transport));
            places.extend(of_runs(&link, runs.copied(), at_window));
        }
    }
    places
}

/// The names of cases of one kind that differ in nothing but their window.
fn by_window(cases: &[PacketCase]) -> Vec<(Case, Vec<&str>)> {
    let without = |case: &PacketCase| PacketCase {
        name: None,
        window: None,
        ..case.clone()
    };
    let mut all: Vec<(PacketCase, Vec<&str>)> = Vec::new();
    for case in cases {
        let like = without(case);
        match all.iter_mut().find(|(known, _)| *known == like) {
            Some((_, names)) => names.push(case.name()),
            None => all.push((like, vec![case.name()])),
        }
    }
    all.retain(|(_, names)| names.len() > 1);
    all.into_iter()
        .map(|(case, names)| (case.case, names))
        .collect()
}

fn of_runs<'a>(
    link: &Link,
    runs: impl Iterator<Item = &'a RunRecord>,
    readings: fn(&PacketResult) -> Vec<Reading>,
) -> Vec<Place> {
    let mut all: BTreeMap<(Curve, Level, u64), Repeated> = BTreeMap::new();
    for run in runs {
        let Some(result) = run.result.as_ref().and_then(SuiteResult::packet) else {
            continue;
        };
        let mut of_run: BTreeMap<(Curve, u64), Vec<f64>> = BTreeMap::new();
        for reading in readings(result) {
            // Places are not negative: their bits are in the order of their values.
            let key = (reading.curve, reading.x.to_bits());
            of_run.entry(key).or_default().push(reading.y);
        }
        for ((curve, x), values) in of_run {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            all.entry((curve, run.level, x))
                .or_default()
                .add(run.block, mean);
        }
    }
    all.into_iter()
        .map(|((curve, level, x), values)| Place {
            link: link.clone(),
            level,
            curve,
            x: f64::from_bits(x),
            runs: values.runs(),
            value: values.mean().positive(),
        })
        .collect()
}

impl Place {
    /// True if it is the last point of the first curve of its case. That point stands for the case in short tables.
    pub fn is_first_curve_at_its_end(&self, all: &[Place]) -> bool {
        let mut own = all.iter().filter(|other| other.link == self.link);
        self.curve.place == 0 && own.all(|other| other.curve != self.curve || other.x <= self.x)
    }

    /// The subject of the place: `latency over UDP, 64KiB`.
    pub fn of(&self) -> String {
        let at = match self.curve.over {
            Over::Size => Bytes(self.x as u64).to_string(),
            over => format!("{} {}", over.label().to_lowercase(), words::short(self.x)),
        };
        format!(
            "{} over {}, {at}",
            self.link.case,
            words::transport(self.link.transport.name())
        )
    }
}

/// A sentence for each case: the effect of the highest load or, without load, of the last level.
pub fn in_words(places: &[Place], called: &dyn Fn(Level) -> String) -> Vec<String> {
    let ends = places.iter();
    let ends = ends.filter(|place| place.is_first_curve_at_its_end(places));
    let ends: Vec<&Place> = ends.collect();
    let told = |none: &&Place| -> Option<String> {
        let others = ends.iter().filter(|other| other.link == none.link);
        let others = others.filter(|other| other.level != Level::None);
        let is_load = |level: Level| level.kind() == LevelKind::Load;
        let other = others.max_by_key(|other| (is_load(other.level), other.level))?;
        let told = |place: &Place| match place.curve.unit {
            MICROSECONDS => Value::Seconds(place.value.scaled(1e-6)).for_people(),
            unit => format!("{} {unit}", Value::Estimate(place.value).for_people()),
        };
        Some(format!(
            "{}: {} was {} without load and {} at {}.",
            none.of(),
            none.curve.name.to_lowercase(),
            told(none),
            told(other),
            called(other.level)
        ))
    };
    let none = ends.iter().filter(|place| place.level == Level::None);
    none.filter_map(told).collect()
}

impl AtLevel for Place {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for Place {
    const ID: &'static str = "packet";
    const TITLE: &'static str = "Cases of the packet suite";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![
            column("case", "Case", "case of the packet suite", |row: &Place| {
                Value::Text(row.link.case.clone())
            }),
            column(
                "transport",
                "Transport",
                "what carried the messages",
                |row: &Place| Value::Text(row.link.transport.name().into()),
            ),
            column("figure", "Figure", "what was measured", |row: &Place| {
                Value::Text(row.curve.name.into())
            }),
            column("over", "Parameter", "what `at` counts", |row: &Place| {
                Value::Text(row.curve.over.label().into())
            }),
            column(
                "at",
                "Value",
                "size, buffers, slaves, share, rate or window",
                |row: &Place| Value::Number(row.x),
            ),
        ];
        columns.extend(level_columns());
        columns.extend([
            column("runs", "Runs", "number of runs", |row: &Place| {
                Value::Count(row.runs as u64)
            }),
            column("unit", "Unit", "of the mean", |row: &Place| {
                Value::Text(row.curve.unit.into())
            }),
            column(
                "mean",
                "Mean",
                "mean over runs, with its interval",
                |row: &Place| Value::Estimate(row.value),
            )
            .of_estimates(),
        ]);
        columns
    }
}

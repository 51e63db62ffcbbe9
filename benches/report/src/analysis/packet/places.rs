//! The cases of the packet suite by size, window, slaves or reuse: a row for each place of each curve at each level.


use std::collections::BTreeMap;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use serde::Serialize;

use crate::analysis::condition::Link;
use crate::analysis::repeated::Repeated;
use crate::analysis::{AtLevel, level_columns};
use crate::table::{Column, Estimate, Row, Value, column};
use super::curves::{Curve, readings};

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
    /// Where on it.
    pub x: f64,
    /// Number of runs.
    pub runs: usize,
    /// Mean over runs, with its interval.
    pub value: Estimate,
}

/// Every place of every curve: case by case, curve by curve, level by level.
pub fn places(done: &[&RunRecord]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for link in Link::others(done) {
        let mut all: BTreeMap<(Curve, Level, u64), Repeated> = BTreeMap::new();
        for run in done
            .iter()
            .filter(|run| Link::of(run).as_ref() == Some(&link))
        {
            let Some(result) = run.packet() else { continue };
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
        places.extend(all.into_iter().map(|((curve, level, x), values)| Place {
            link: link.clone(),
            level,
            curve,
            x: f64::from_bits(x),
            runs: values.runs(),
            value: values.mean(),
        }));
    }
    places
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
                "Over",
                "what carried the messages",
                |row: &Place| Value::Text(row.link.transport.name().into()),
            ),
            column("figure", "Figure", "what was measured", |row: &Place| {
                Value::Text(row.curve.name.into())
            }),
            column("over", "By", "what `at` counts", |row: &Place| {
                Value::Text(row.curve.over.label().into())
            }),
            column(
                "at",
                "At",
                "size, buffers, slaves, share or rate",
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

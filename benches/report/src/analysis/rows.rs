//! The common parts of rows of tables: their condition as columns, and figures.

use jitterlab_experiment::level::Level;

use super::condition::Link;
use crate::table::{Column, Estimate, Value, column};

/// Rows that belong to one level.
pub trait AtLevel {
    /// The level.
    fn level(&self) -> Level;
}

/// The columns that say the level: one for people, and its parts for programs.
pub fn level_columns<R: AtLevel>() -> [Column<R>; 4] {
    [
        column("level", "Level", "condition of the runs", |row: &R| {
            Value::Level(row.level())
        }),
        column("level_kind", "Kind", "none, load or injected", |row: &R| {
            Value::Text(row.level().kind().name().into())
        })
        .in_csv_only(),
        column(
            "load_percent",
            "Load, %",
            "background load asked for, or imitated by injection",
            |row: &R| {
                let percent = row.level().percent();
                percent.map_or(Value::Missing, |percent| Value::Count(percent.into()))
            },
        )
        .in_csv_only(),
        column(
            "shape",
            "Shape",
            "distribution injected",
            |row: &R| match row.level() {
                Level::Injected { shape, .. } => Value::Text(shape.name().into()),
                Level::Shape { shape, .. } => Value::Text(shape.name().into()),
                _ => Value::Missing,
            },
        )
        .in_csv_only(),
    ]
}

/// Rows that belong to one load, or to delays that imitate it.
pub trait OfLoad {
    /// The percentage that was asked for.
    fn percent(&self) -> u8;
}

/// The columns that say the load: what it is called, and what was asked for.
pub fn load_columns<R: OfLoad>() -> [Column<R>; 2] {
    [
        column(
            "level",
            "Load",
            "background load, by what was produced; what was asked for in brackets where that is something else",
            |row: &R| {
                Value::Level(Level::Load {
                    percent: row.percent(),
                })
            },
        ),
        column(
            "load_percent",
            "Load asked for, %",
            "background load asked for",
            |row: &R| Value::Count(row.percent().into()),
        )
        .in_csv_only(),
    ]
}

/// Rows that belong to one link.
pub trait OverLink {
    /// The link.
    fn link(&self) -> &Link;
}

/// The columns that say the link.
pub fn link_columns<R: OverLink>() -> [Column<R>; 3] {
    [
        column("case", "Case", "case of the packet suite", |row: &R| {
            Value::Text(row.link().case.clone())
        })
        .in_csv_only(),
        column(
            "transport",
            "Transport",
            "what carried the messages",
            |row: &R| Value::Text(row.link().transport.name().into()),
        )
        .in_csv_only(),
        column("link", "Measured", "both in words", |row: &R| {
            Value::Text(row.link().to_string())
        }),
    ]
}

/// An estimate in nanoseconds, in microseconds.
pub fn micros(estimate: Estimate) -> Value {
    Value::Estimate(estimate.scaled(1e-3))
}

/// A part in proportion to a whole that may be 0.
pub fn share_of(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { f64::NAN } else { part / whole }
}

//! The tables that were made for a mean and a standard deviation, and claim to imitate nothing.

use jitterlab_experiment::delays::Made;
use jitterlab_experiment::level::Level;
use jitterlab_injector::check::AskedAndMade;
use serde::Serialize;

use crate::table::{Column, Row, Value, column};

/// Such a table, beside what it was made for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MadeTable {
    /// The level at which it was injected.
    pub level: Level,
    /// The moments that were asked for, and those that it has.
    #[serde(flatten)]
    pub moments: AskedAndMade,
    /// True if it has the mean within 1 % and the standard deviation within 5 %.
    pub are_met: bool,
}

impl From<Made> for MadeTable {
    fn from(made: Made) -> Self {
        MadeTable {
            level: made.level,
            moments: made.moments,
            are_met: made.moments.are_met(),
        }
    }
}

impl Row for MadeTable {
    const ID: &'static str = "made";
    const TITLE: &'static str = "Tables that were made for a mean and a standard deviation";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column("level", "Level", "what was injected", |row: &MadeTable| {
                Value::Level(row.level)
            }),
            column(
                "asked_mean_us",
                "Mean asked, µs",
                "mean that the table was made for, in microseconds",
                |row: &MadeTable| Value::Number(row.moments.asked_mean_ns / 1e3),
            ),
            column(
                "mean_us",
                "Mean, µs",
                "mean delay of the table",
                |row: &MadeTable| Value::Number(row.moments.mean_ns / 1e3),
            ),
            column(
                "asked_std_us",
                "Std asked, µs",
                "standard deviation that the table was made for, in microseconds",
                |row: &MadeTable| Value::Number(row.moments.asked_std_ns / 1e3),
            ),
            column(
                "std_us",
                "Std, µs",
                "standard deviation of the delays of the table",
                |row: &MadeTable| Value::Number(row.moments.std_ns / 1e3),
            ),
            column(
                "are_met",
                "As asked",
                "whether the mean is within 1 % of what was asked, and the standard deviation within 5 %",
                |row: &MadeTable| Value::Text(if row.are_met { "yes" } else { "no" }.into()),
            ),
        ]
    }
}

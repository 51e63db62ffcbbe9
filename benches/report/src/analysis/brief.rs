//! A short table of all that was measured. It stands on the first screen if no program was compared under varying delays.

use jitterlab_experiment::level::Level;
use serde::Serialize;

use crate::analysis::rows::{AtLevel, level_columns};
use crate::table::{Column, Estimate, Row, Value, column};

/// A figure of something at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    /// The subject of the figure.
    pub of: String,
    /// The level.
    pub level: Level,
    /// The figure.
    pub figure: &'static str,
    /// Its unit; of times, the second.
    pub unit: &'static str,
    /// Its mean over runs, with its interval.
    pub mean: Estimate,
}

/// The unit of times, which people read in one of their size.
const SECOND: &str = "s";
/// More rows are no short table.
const MOST: usize = 12;

/// A short table of these rows, which are of one kind: at each level but those that imitate a load.
pub fn short(mut rows: Vec<Brief>) -> Vec<Brief> {
    rows.sort_by(|a, b| a.of.cmp(&b.of).then(a.level.cmp(&b.level)));
    let imitates = |level: Level| matches!(level, Level::Injected { .. });
    if rows.iter().any(|row| !imitates(row.level)) {
        rows.retain(|row| !imitates(row.level));
    }
    if rows.len() > MOST && rows.iter().any(|row| row.level == Level::None) {
        rows.retain(|row| row.level == Level::None);
    }
    rows.truncate(MOST);
    rows
}

impl Brief {
    /// A time in nanoseconds.
    pub fn time(of: String, level: Level, figure: &'static str, ns: Estimate) -> Self {
        Brief {
            of,
            level,
            figure,
            unit: SECOND,
            mean: ns.scaled(1e-9),
        }
    }

    /// The first kind of which there is a row.
    pub fn first<const KINDS: usize>(kinds: [Vec<Brief>; KINDS]) -> Vec<Brief> {
        let found = kinds.into_iter().find(|rows| !rows.is_empty());
        found.unwrap_or_default()
    }

    fn value(&self) -> Value {
        match self.unit {
            SECOND => Value::Seconds(self.mean),
            _ => Value::Estimate(self.mean),
        }
    }

    /// The figure in a sentence, its level called so.
    pub fn in_words(&self, called: &dyn Fn(Level) -> String) -> String {
        let value = self.value().for_people();
        let unit = match self.unit {
            SECOND => String::new(),
            unit => format!(" {unit}"),
        };
        format!(
            "{}, {}: {} {value}{unit}.",
            self.of,
            called(self.level),
            self.figure
        )
    }
}

impl AtLevel for Brief {
    fn level(&self) -> Level {
        self.level
    }
}

impl Row for Brief {
    const ID: &'static str = "brief";
    const TITLE: &'static str = "What was measured, in short";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = vec![column(
            "of",
            "Measured",
            "what was measured",
            |row: &Brief| Value::Text(row.of.clone()),
        )];
        columns.extend(level_columns());
        columns.extend([
            column("figure", "Figure", "what it is", |row: &Brief| {
                Value::Text(match row.unit {
                    SECOND => row.figure.into(),
                    unit => format!("{}, {unit}", row.figure),
                })
            }),
            column(
                "mean",
                "Mean",
                "mean over runs with its 95 % interval; times in seconds",
                Brief::value,
            )
            .of_estimates(),
        ]);
        columns
    }
}

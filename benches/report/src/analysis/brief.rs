//! A short table of all that was measured. It stands on the first screen if no program was compared under varying delays.

use jitterlab_experiment::level::Level;
use serde::Serialize;

use crate::analysis::results::Results;
use crate::analysis::rows::{AtLevel, level_columns};
use crate::table::{Column, Estimate, Row, Value, column};

/// A figure of something at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    /// What it is of.
    pub of: String,
    /// The level.
    pub level: Level,
    /// What it is.
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

/// The kind of measurement that is nearest to programs, at each level but those that imitate a load.
pub fn brief(results: &Results) -> Vec<Brief> {
    let suites = &results.suites;
    let time = |of: &str, level, figure, ns: Estimate| Brief {
        of: of.into(),
        level,
        figure,
        unit: SECOND,
        mean: ns.scaled(1e-9),
    };
    let programs = suites.application.runtimes.iter();
    let programs = programs.map(|row| {
        time(
            &row.application,
            row.level,
            row.timed.name(),
            row.runtime_s.scaled(1e9),
        )
    });
    let operations = suites.library.operations.iter();
    let operations = operations.map(|row| time(&row.case, row.level, "mean time", row.mean_ns));
    let round_trips = suites.packet.latency.iter();
    let round_trips =
        round_trips.map(|row| time(&row.link.to_string(), row.level, "mean", row.mean_ns));
    let packets = suites.packet.places.iter();
    let packets = packets.filter(|row| row.is_first_curve_at_its_end(&suites.packet.places));
    let packets = packets.map(|row| Brief {
        of: row.of(),
        level: row.level,
        figure: row.curve.name,
        unit: row.curve.unit,
        mean: row.value,
    });
    let transactions = suites.amvia.transactions.iter();
    let transactions = transactions.map(|row| {
        time(
            &row.way.to_string(),
            row.way.level,
            "mean round trip",
            row.mean_ns,
        )
    });
    let rates = suites.amvia.rates.iter().map(|row| Brief {
        of: format!("{}, {} B", row.way, row.size),
        level: row.way.level,
        figure: "transactions",
        unit: "a second",
        mean: row.transactions,
    });
    let costs = suites.amvia.costs.iter();
    let costs = costs.map(|row| {
        time(
            &row.way.to_string(),
            row.way.level,
            "round trip",
            row.round_trip_ns,
        )
    });
    let kinds: [Vec<Brief>; 7] = [
        programs.collect(),
        operations.collect(),
        round_trips.collect(),
        packets.collect(),
        transactions.collect(),
        rates.collect(),
        costs.collect(),
    ];
    let mut rows = kinds
        .into_iter()
        .find(|rows| !rows.is_empty())
        .unwrap_or_default();
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
    fn value(&self) -> Value {
        match self.unit {
            SECOND => Value::Seconds(self.mean),
            _ => Value::Estimate(self.mean),
        }
    }

    /// In a sentence, its level called so.
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

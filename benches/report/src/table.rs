//! Tables: rows of one kind, each column declared once for CSV, HTML and terminal alike.

use jitterlab_base::show;
use jitterlab_experiment::level::Level;
use jitterlab_stats::bootstrap::Interval;
use serde::Serialize;

use crate::words;

/// An estimate, with its interval where one can be given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval; none without repeated runs.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The ends as they were found: what decides, also where it is not shown.
    #[serde(skip)]
    found: Option<(f64, f64)>,
}

/// A figure that cannot be below 0 is known to within a factor of this, or its interval says nothing.
const TOLD: f64 = 10.0;

impl Estimate {
    /// An estimate about which nothing more is known.
    pub fn alone(value: f64) -> Self {
        Estimate {
            value,
            low: None,
            high: None,
            found: None,
        }
    }

    /// An estimate with the ends of its interval.
    pub fn within(value: f64, (low, high): (f64, f64)) -> Self {
        Estimate {
            value,
            low: Some(low),
            high: Some(high),
            found: Some((low, high)),
        }
    }

    /// The ends of the interval, as it is shown and drawn.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// The ends of the interval as they were found: what is asked of an estimate is decided by these, however far apart they are.
    pub fn found(&self) -> Option<(f64, f64)> {
        self.found
    }

    /// The same, of what cannot be below 0: its interval is not shown where it reaches below 0, or its ends are more than
    /// a factor of 10 apart. So few runs do not estimate it. They can still decide ([`Estimate::found`]).
    pub fn positive(self) -> Self {
        let told = |&(low, high): &(f64, f64)| low >= 0.0 && high <= TOLD * low;
        let interval = self.interval().filter(told);
        Estimate {
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            ..self
        }
    }

    /// One over it, of an estimate above 0 whose interval is, too.
    pub fn inverse(&self) -> Self {
        Estimate {
            value: 1.0 / self.value,
            low: self.high.map(|x| 1.0 / x),
            high: self.low.map(|x| 1.0 / x),
            found: self.found.map(|(low, high)| (1.0 / high, 1.0 / low)),
        }
    }

    /// A time in nanoseconds and its interval, as people read them, in the unit of its size: `12.5 µs`, `11 to 14`.
    pub fn time(&self) -> (String, Option<String>) {
        let seconds = self.scaled(1e-9);
        let (factor, unit) = words::unit(seconds.value);
        let scaled = seconds.scaled(factor);
        let interval = scaled.interval();
        (
            format!("{} {unit}", words::short(scaled.value)),
            interval.map(|(low, high)| format!("{} to {}", words::short(low), words::short(high))),
        )
    }

    /// A time in nanoseconds with its interval, in a sentence: `12.5 µs (11 to 14)`.
    pub fn in_time(&self) -> String {
        Value::Seconds(self.scaled(1e-9)).for_people()
    }

    /// A ratio with its interval, in a sentence: `+12 % (+10 % to +14 %)`.
    pub fn in_percent(&self) -> String {
        Value::Change(*self).for_people()
    }

    /// Everything multiplied by a factor above 0: another unit.
    pub fn scaled(&self, factor: f64) -> Self {
        Estimate {
            value: self.value * factor,
            low: self.low.map(|x| x * factor),
            high: self.high.map(|x| x * factor),
            found: self.found.map(|(low, high)| (low * factor, high * factor)),
        }
    }
}

impl From<Interval> for Estimate {
    fn from(interval: Interval) -> Self {
        Estimate::within(interval.estimate, (interval.low, interval.high))
    }
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Words.
    Text(String),
    /// A level, which the table calls by what was produced ([`Table::calling`]).
    Level(Level),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A p value.
    P(f64),
    /// An estimate; takes three columns in CSV.
    Estimate(Estimate),
    /// An estimate of a time in seconds, which people read in a unit of its size; takes three columns in CSV.
    Seconds(Estimate),
    /// An estimate of a ratio, which people read as a change in percent; takes three columns in CSV.
    Change(Estimate),
    /// There is none.
    Missing,
}

impl Value {
    /// A number, or nothing.
    pub fn number(value: Option<f64>) -> Self {
        value.map_or(Value::Missing, Value::Number)
    }

    /// An estimate, or nothing.
    pub fn estimate(value: Option<Estimate>) -> Self {
        value.map_or(Value::Missing, Value::Estimate)
    }

    /// A p value, or nothing.
    pub fn p(value: Option<f64>) -> Self {
        value.map_or(Value::Missing, Value::P)
    }

    /// The value as people read it.
    pub fn for_people(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Level(level) => level.to_string(),
            Value::Count(n) => show::count(*n),
            Value::Number(value) => words::short(*value),
            Value::P(p) => words::minus(show::p_value(*p)),
            Value::Estimate(_) | Value::Seconds(_) | Value::Change(_) => {
                let Some((value, interval)) = self.estimated() else {
                    return String::new();
                };
                interval.map_or(value.clone(), |interval| format!("{value} ({interval})"))
            }
            Value::Missing => "–".into(),
        }
    }

    /// An estimate and its interval, as people read them: `12.5 µs`, `11 to 14`.
    pub fn estimated(&self) -> Option<(String, Option<String>)> {
        let (estimate, show): (_, fn(f64) -> String) = match *self {
            Value::Estimate(estimate) => (estimate, words::short),
            Value::Change(estimate) => (estimate, words::signed_percent),
            Value::Seconds(estimate) => return Some(estimate.scaled(1e9).time()),
            _ => return None,
        };
        let interval = estimate.interval();
        let interval = interval.map(|(low, high)| format!("{} to {}", show(low), show(high)));
        Some((show(estimate.value), interval))
    }
}

/// A column of a table of `R`.
pub struct Column<R> {
    heading: Heading,
    value: fn(&R) -> Value,
}

/// The head of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heading {
    /// Its name in CSV, with the unit as its end.
    pub name: &'static str,
    /// Its heading for people.
    pub text: &'static str,
    /// The meaning of its values.
    pub meaning: &'static str,
    /// True if people see it; the CSV holds all columns.
    pub shown: bool,
    /// True if it holds estimates, which take three columns in CSV: `name`, `name_low`,
    /// `name_high`.
    pub estimates: bool,
}

/// A column that people see and the CSV holds.
pub const fn column<R>(
    name: &'static str,
    text: &'static str,
    meaning: &'static str,
    value: fn(&R) -> Value,
) -> Column<R> {
    let heading = Heading {
        name,
        text,
        meaning,
        shown: true,
        estimates: false,
    };
    Column { heading, value }
}

impl<R> Column<R> {
    /// The same, only in the CSV.
    pub const fn in_csv_only(mut self) -> Self {
        self.heading.shown = false;
        self
    }

    /// The same, of values that are estimates or missing.
    pub const fn of_estimates(mut self) -> Self {
        self.heading.estimates = true;
        self
    }
}

/// A kind of row: what a table is made of.
pub trait Row: Sized {
    /// Name of the table's file, without the ending.
    const ID: &'static str;
    /// The title of the table.
    const TITLE: &'static str;

    /// Its columns.
    fn columns() -> Vec<Column<Self>>;
}

/// A table, ready to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name of its file, without the ending.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The meaning of its words, under the title.
    pub note: Option<String>,
    /// Its columns.
    pub headings: Vec<Heading>,
    /// Its rows, each with a value for every column.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// The table of these rows.
    pub fn of<R: Row>(rows: &[R]) -> Self {
        let columns = R::columns();
        Table {
            id: R::ID,
            title: R::TITLE,
            note: None,
            headings: columns.iter().map(|column| column.heading).collect(),
            rows: rows
                .iter()
                .map(|row| columns.iter().map(|column| (column.value)(row)).collect())
                .collect(),
        }
    }

    /// The same with a note.
    pub fn noted(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    /// The same with levels called so.
    pub fn calling(mut self, called: impl Fn(Level) -> String) -> Self {
        for value in self.rows.iter_mut().flatten() {
            if let Value::Level(level) = *value {
                *value = Value::Text(called(level));
            }
        }
        self
    }

    /// The names of the columns in CSV.
    pub fn csv_header(&self) -> Vec<String> {
        let mut names = Vec::new();
        for heading in &self.headings {
            names.push(heading.name.to_string());
            if heading.estimates {
                names.push(format!("{}_low", heading.name));
                names.push(format!("{}_high", heading.name));
            }
        }
        names
    }

    /// The table as CSV (RFC 4180), with a header. Missing values are empty, and numbers have as
    /// many digits as it takes to read the same number back.
    ///
    /// # Errors
    /// The writer refuses, which writing to memory does not.
    pub fn to_csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.csv_header())?;
        for row in &self.rows {
            let mut record = Vec::new();
            for (heading, value) in self.headings.iter().zip(row) {
                record.extend(csv_fields(heading, value));
            }
            writer.write_record(record)?;
        }
        writer
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))
    }

    /// The table for a terminal: columns side by side, those that people see.
    pub fn to_text(&self) -> String {
        let columns = self.text_columns();
        let mut out = format!("{}\n", self.title);
        for row in 0..=self.rows.len() {
            for column in &columns {
                out.push_str("  ");
                out.push_str(&column[row]);
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        out
    }

    /// The columns that people see, for a terminal: the heading and a cell for each row, all of one width.
    pub fn text_columns(&self) -> Vec<Vec<String>> {
        let column = |at: usize| {
            let heading = std::iter::once(self.headings[at].text.to_string());
            let cells = heading.chain(self.rows.iter().map(|row| self.seen(row, at).for_people()));
            let cells: Vec<String> = cells.collect();
            let width = cells.iter().map(|cell| cell.chars().count()).max();
            let (width, is_numeric) = (width.unwrap_or(0), self.is_numeric(at));
            let padded = cells.iter().map(|cell| match is_numeric {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
            padded.collect()
        };
        self.shown().map(column).collect()
    }

    /// A value of a row as people see it: in a column of microseconds a time from 1 s on has its own unit.
    pub fn seen(&self, row: &[Value], column: usize) -> Value {
        let is_of_micros = self.headings[column].name.ends_with("_us");
        let us = match row[column] {
            Value::Number(us) => Estimate::alone(us),
            Value::Estimate(us) => us,
            _ => return row[column].clone(),
        };
        match is_of_micros && us.value >= 1e6 {
            true => Value::Seconds(us.scaled(1e-6)),
            false => row[column].clone(),
        }
    }

    /// The columns that people see: those in which there is something.
    pub fn shown(&self) -> impl Iterator<Item = usize> + '_ {
        let is_empty = |i: usize| self.rows.iter().all(|row| row[i] == Value::Missing);
        (0..self.headings.len()).filter(move |&i| self.headings[i].shown && !is_empty(i))
    }

    /// True if a column holds numbers, which are set to the right.
    pub fn is_numeric(&self, column: usize) -> bool {
        let is_text = |row: &Vec<Value>| matches!(row[column], Value::Text(_) | Value::Level(_));
        !self.rows.iter().any(is_text)
    }
}

fn csv_fields(heading: &Heading, value: &Value) -> Vec<String> {
    let plain = |x: f64| format!("{x}");
    let fields = match value {
        Value::Text(text) => vec![text.clone()],
        Value::Level(level) => vec![level.to_string()],
        Value::Count(n) => vec![n.to_string()],
        Value::Number(x) | Value::P(x) => vec![plain(*x)],
        Value::Estimate(estimate) | Value::Seconds(estimate) | Value::Change(estimate) => {
            let end = |x: Option<f64>| x.map(plain).unwrap_or_default();
            vec![plain(estimate.value), end(estimate.low), end(estimate.high)]
        }
        Value::Missing => vec![],
    };
    let columns = if heading.estimates { 3 } else { 1 };
    let missing = std::iter::repeat_n(String::new(), columns);
    fields.into_iter().chain(missing).take(columns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pair(&'static str, Option<Estimate>);

    impl Row for Pair {
        const ID: &'static str = "pairs";
        const TITLE: &'static str = "Pairs";

        fn columns() -> Vec<Column<Self>> {
            vec![
                column("name", "Name", "its name", |r: &Pair| {
                    Value::Text(r.0.into())
                }),
                column("mean_us", "Mean", "its mean", |r: &Pair| {
                    Value::estimate(r.1)
                })
                .of_estimates(),
                column("rows", "Rows", "always 1", |_| Value::Count(1)).in_csv_only(),
            ]
        }
    }

    #[test]
    fn an_interval_that_says_nothing_is_left_out() {
        let known = |low: f64, high: f64| {
            let estimate = Estimate::within(2.0, (low, high)).positive();
            assert_eq!(estimate.found(), Some((low, high)));
            estimate.interval().is_some()
        };
        assert!(known(1.0, 3.0) && known(1.0, 10.0) && known(0.0, 0.0));
        assert!(!known(-0.1, 3.0) && !known(0.0, 3.0) && !known(1.0, 10.1));
    }

    #[test]
    fn times_and_changes_are_read_in_units_of_their_size() {
        let estimate = |value: f64| Estimate::within(value, (0.5 * value, 2.0 * value));
        for (value, text) in [
            (Value::Seconds(estimate(90e-6)), "90 µs (45 to 180)"),
            (Value::Seconds(estimate(2.0)), "2 s (1 to 4)"),
            (Value::Seconds(Estimate::alone(0.0)), "0 s"),
            (Value::Change(estimate(1.2)), "+20 % (−40 % to +140 %)"),
            (Value::Estimate(Estimate::alone(1.2)), "1.2"),
        ] {
            assert_eq!(value.for_people(), text);
        }
    }

    #[test]
    fn a_time_from_a_second_on_is_not_told_in_microseconds() {
        let pair = |us: f64| Pair("x", Some(Estimate::within(us, (0.5 * us, 2.0 * us))));
        let table = Table::of(&[pair(2e6), pair(2e5)]);
        let text = table.to_text();
        assert!(text.contains("2 s (1 to 4)"), "{text}");
        assert!(text.contains("200,000 (100,000 to 400,000)"), "{text}");
        let csv = String::from_utf8(table.to_csv().unwrap()).unwrap();
        assert!(csv.contains("2000000,1000000,4000000"), "{csv}");
    }

    #[test]
    fn one_declaration_gives_csv_and_text() {
        let estimate = Estimate::within(1.5, (1.25, 2.0));
        let table = Table::of(&[
            Pair("a, \"b\"", Some(estimate)),
            Pair("c", None),
            Pair("d", Some(Estimate::alone(4.0))),
        ]);
        assert_eq!(
            String::from_utf8(table.to_csv().unwrap()).unwrap(),
            "name,mean_us,mean_us_low,mean_us_high,rows\n\"a, \"\"b\"\"\",1.5,1.25,2,1\nc,,,,1\nd,4,,,1\n"
        );
        assert_eq!(
            table.to_text(),
            "Pairs\n  Name               Mean\n  a, \"b\"  1.5 (1.25 to 2)\n  c                     –\n  d                     4\n"
        );
    }
}

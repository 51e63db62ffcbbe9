//! The distribution table: 4,096 delays, in the paper's file format.
//!
//! The paper (section 3.1): "512 lines of eight space-separated integers". A first line
//!
//! ```text
//! # jitterlab-table 1 unit=ns origin=lognormal(shape=1.2, location=0, scale=4472)
//! ```
//!
//! may say what the integers count (`ns` or `spins`) and where they come from; `origin=` is the
//! last field and goes to the end of the line. A file without it holds nanoseconds, or spins if
//! the reader is told so.

use std::fmt;
use std::path::{Path, PathBuf};

use jitterlab_base::named;
use jitterlab_stats::distribution::Distribution;
use thiserror::Error;

use crate::generator::TABLE_ENTRIES;
use jitterlab_base::input::{self, InputError, Source, shortened};
use jitterlab_base::show;
use jitterlab_base::units::{Nanos, UnitError};

const LINES: usize = 512;
const PER_LINE: usize = 8;
/// The longest delay, 1 s: whoever asks for more has mistaken the unit.
pub const MAX_DELAY_NS: u32 = 1_000_000_000;
/// No table is longer: eight integers of ten digits a line, and a header.
const MAX_FILE_BYTES: u64 = 1 << 20;
const HEADER: &str = "# jitterlab-table ";

/// The unit of the integers of a distribution table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum DelayUnit {
    /// Nanoseconds, waited out by the clock.
    #[default]
    Nanoseconds,
    /// Rounds of the paper's counting loop (Algorithm 2), however long one takes.
    Spins,
}

named!(DelayUnit, serde, "a unit of delays", Nanoseconds => "ns", Spins => "spins");

/// A distribution table that cannot be used.
#[derive(Debug, Error)]
pub enum TableError {
    /// The file cannot be read.
    #[error("cannot read distribution table {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Something in it is wrong.
    #[error("{path}:{line}: {problem}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The problem, and what was expected.
        problem: String,
    },
}

/// 4,096 delays and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistributionTable {
    entries: Box<[u32; TABLE_ENTRIES]>,
    unit: DelayUnit,
    origin: String,
}

impl DistributionTable {
    /// A table of these delays. `origin` says where they come from, on one line.
    pub fn new(entries: Box<[u32; TABLE_ENTRIES]>, unit: DelayUnit, origin: &str) -> Self {
        DistributionTable {
            entries,
            unit,
            origin: origin.replace(['\n', '\r'], " ").trim().to_string(),
        }
    }

    /// A table in which every delay is `delay`.
    ///
    /// # Errors
    /// The delay is longer than [`MAX_DELAY_NS`].
    pub fn constant(delay: Nanos) -> Result<Self, UnitError> {
        let entry = u32::try_from(delay.0)
            .ok()
            .filter(|&entry| entry <= MAX_DELAY_NS)
            .ok_or_else(|| UnitError {
                text: delay.to_string(),
                expected: "short enough: a delay may be 1s at most",
            })?;
        let origin = Distribution::Constant {
            value: f64::from(entry),
        };
        Ok(DistributionTable::new(
            Box::new([entry; TABLE_ENTRIES]),
            DelayUnit::Nanoseconds,
            &origin.to_string(),
        ))
    }

    /// Reads a table file. `plain` is the unit of a file without a header. Only a regular file is
    /// read: a program in which something is injected does not wait for whoever writes to a pipe.
    ///
    /// # Errors
    /// The file cannot be read, or is not a table: with the line, and what was expected there.
    pub fn load(path: &Path, plain: DelayUnit) -> Result<Self, TableError> {
        DistributionTable::parse(&read_text(path, Source::File)?, path, plain)
    }

    /// The same, of a pipe too.
    ///
    /// # Errors
    /// As those of [`DistributionTable::load`].
    pub fn load_from_any(path: &Path, plain: DelayUnit) -> Result<Self, TableError> {
        DistributionTable::parse(&read_text(path, Source::Any)?, path, plain)
    }

    /// Reads a table from text; `path` is for messages only.
    ///
    /// Lines end with `\n` or `\r\n`; the last may lack its end. Spaces may repeat and tabs count
    /// as spaces. Nothing else is forgiven.
    ///
    /// # Errors
    /// The text is not a table: with the line, and what was expected there.
    pub fn parse(text: &str, path: &Path, plain: DelayUnit) -> Result<Self, TableError> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(i, line)| (i + 1, line))
            .peekable();
        let (unit, origin) = match lines.next_if(|(_, line)| line.starts_with('#')) {
            Some((number, line)) => {
                header(line).map_err(|problem| content(path, number, problem))?
            }
            None => (plain, ""),
        };
        let mut entries = Box::new([0; TABLE_ENTRIES]);
        let mut last = 0;
        let mut filled = 0;
        for (number, line) in lines {
            last = number;
            let row = entries.get_mut(filled..filled + PER_LINE).ok_or_else(|| {
                content(
                    path,
                    number,
                    format!("a line too many; a table has {LINES} lines of delays"),
                )
            })?;
            read_line(line, unit, row).map_err(|problem| content(path, number, problem))?;
            filled += PER_LINE;
        }
        if filled < TABLE_ENTRIES {
            let problem = format!(
                "the table ends after {} lines of delays; it needs {LINES}",
                filled / PER_LINE
            );
            return Err(content(path, last.max(1), problem));
        }
        Ok(DistributionTable::new(entries, unit, origin))
    }

    /// The text of the file, with a header.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{HEADER}1 unit={} origin={}\n",
            self.unit.name(),
            self.origin
        );
        for line in self.entries.chunks(PER_LINE) {
            let words: Vec<String> = line.iter().map(u32::to_string).collect();
            text.push_str(&words.join(" "));
            text.push('\n');
        }
        text
    }

    /// The delays, in [`DistributionTable::unit`].
    pub fn entries(&self) -> &[u32; TABLE_ENTRIES] {
        &self.entries
    }

    /// The delays as numbers for statistics, in ascending order.
    pub fn sorted(&self) -> Vec<f64> {
        let mut sorted: Vec<f64> = self.entries.iter().map(|&entry| f64::from(entry)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }

    /// The unit of the delays.
    pub fn unit(&self) -> DelayUnit {
        self.unit
    }

    /// The origin of the delays, as the header says; empty if it does not.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The distribution they come from, if the origin names one.
    pub fn distribution(&self) -> Option<Distribution> {
        self.origin.parse().ok()
    }

    /// The mean delay, in the table's unit.
    pub fn mean(&self) -> f64 {
        self.entries
            .iter()
            .map(|&entry| f64::from(entry))
            .sum::<f64>()
            / TABLE_ENTRIES as f64
    }

    /// The standard deviation of a delay drawn from the table (divisor n: the table is the whole
    /// population), in the table's unit.
    pub fn std(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self
            .entries
            .iter()
            .map(|&e| (f64::from(e) - mean).powi(2))
            .sum();
        (squares / TABLE_ENTRIES as f64).sqrt()
    }
}

/// The text of a table's file, if it can be one at all.
pub(crate) fn read_text(path: &Path, from: Source) -> Result<String, TableError> {
    input::read_text(path, from, MAX_FILE_BYTES).map_err(|error| match error {
        InputError::Read(source) => TableError::Read {
            path: path.into(),
            source,
        },
        InputError::TooLong { .. } => {
            let problem = format!("{error}; no distribution table has as many");
            content(path, 1, problem)
        }
        InputError::Encoding { line, problem } => content(
            path,
            line,
            format!("{problem}; a distribution table holds integers"),
        ),
    })
}

fn content(path: &Path, line: usize, problem: String) -> TableError {
    TableError::Content {
        path: path.into(),
        line,
        problem,
    }
}

/// Unit and origin from the header line.
fn header(line: &str) -> Result<(DelayUnit, &str), String> {
    let expected = || format!("expected `{HEADER}1 unit=ns origin=…` or a line of eight delays");
    let fields = line.strip_prefix(HEADER).ok_or_else(expected)?;
    let fields = fields.strip_prefix("1 ").ok_or_else(|| {
        let version = fields.split(' ').next().unwrap_or_default();
        format!("version `{version}` of the table format; this program reads version 1")
    })?;
    let fields = fields.strip_prefix("unit=").ok_or_else(expected)?;
    let (unit, origin) = fields.split_once(' ').unwrap_or((fields, "origin="));
    let unit = unit.parse().map_err(|error| format!("{error}"))?;
    Ok((unit, origin.strip_prefix("origin=").ok_or_else(expected)?))
}

fn read_line(line: &str, unit: DelayUnit, row: &mut [u32]) -> Result<(), String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    if words.len() != PER_LINE {
        return Err(format!(
            "this line has {}; each line of a table must have {PER_LINE} integers",
            show::counted(words.len(), "integer")
        ));
    }
    for (place, word) in row.iter_mut().zip(words) {
        *place = delay(word, unit).map_err(|problem| {
            let column = word.as_ptr() as usize - line.as_ptr() as usize + 1;
            format!("column {column}: {problem}")
        })?;
    }
    Ok(())
}

fn delay(word: &str, unit: DelayUnit) -> Result<u32, String> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("`{}` is not an integer", shortened(word)));
    }
    if word.starts_with('-') {
        return Err(format!(
            "`{}` is negative; a delay is 0 or more",
            shortened(word)
        ));
    }
    let most = match unit {
        DelayUnit::Nanoseconds => MAX_DELAY_NS,
        DelayUnit::Spins => u32::MAX,
    };
    match word.parse() {
        Ok(value) if value <= most => Ok(value),
        _ => Err(match unit {
            DelayUnit::Nanoseconds => format!("{} ns is beyond 1 s", shortened(word)),
            DelayUnit::Spins => format!("{} spins are beyond {most}", shortened(word)),
        }),
    }
}
/// The table of an injected program, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSource {
    /// The 4,096 delays.
    pub entries: Box<[u32; TABLE_ENTRIES]>,
    /// Its file, if it has one, and its origin; the first 256 bytes.
    pub origin: String,
    /// The factor that the delays of that origin were multiplied by; 1 where they are as they were.
    pub times: f64,
}

/// The origin, and the factor that its delays were multiplied by.
impl fmt::Display for TableSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        match self.times {
            1.0 => Ok(()),
            times => write!(f, ", times {times}"),
        }
    }
}

impl TableSource {
    /// A table that was read from `path`.
    pub fn of(table: &DistributionTable, path: &Path) -> Self {
        TableSource {
            origin: format!("{} {}", path.display(), table.origin())
                .trim_end()
                .to_string(),
            ..TableSource::made(table)
        }
    }

    /// A table that was made without a file.
    pub fn made(table: &DistributionTable) -> Self {
        TableSource {
            entries: Box::new(*table.entries()),
            origin: table.origin().to_string(),
            times: 1.0,
        }
    }

    /// The same, each delay multiplied by `factor` and rounded.
    ///
    /// # Errors
    /// `factor` is no number of 0 or more, or a delay would be longer than a table can hold.
    pub fn scaled(&self, factor: f64, unit: DelayUnit) -> Result<Self, ScaleError> {
        if !(factor.is_finite() && factor >= 0.0) {
            return Err(ScaleError::NoFactor(factor));
        }
        let most = match unit {
            DelayUnit::Nanoseconds => MAX_DELAY_NS,
            DelayUnit::Spins => u32::MAX,
        };
        let longest = self.entries.iter().copied().max().unwrap_or(0);
        if f64::from(longest) * factor > f64::from(most) {
            return Err(ScaleError::TooLong { factor, longest });
        }
        let mut entries = self.entries.clone();
        for entry in entries.iter_mut() {
            *entry = (f64::from(*entry) * factor).round() as u32;
        }
        Ok(TableSource {
            entries,
            origin: self.origin.clone(),
            times: self.times * factor,
        })
    }
}

/// Delays that cannot be multiplied so.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ScaleError {
    /// The factor is no number of 0 or more.
    #[error("delays are multiplied by a number of 0 or more, and not by {0}")]
    NoFactor(f64),
    /// A delay would be longer than a table can hold.
    #[error(
        "cannot multiply the delays by {factor}: the longest, {longest}, would be longer than a table can hold"
    )]
    TooLong {
        /// The factor.
        factor: f64,
        /// The longest delay as it is.
        longest: u32,
    },
}

//! Samples as text: CSV as people bring it, and what the programs over MPI write.

use std::io::{BufRead, Read};
use std::path::Path;

use jitterlab_base::input::{MARK, foreign, shortened};

use super::{Column, LONGEST_NS, SamplesError};

/// Bytes. What goes on for longer is no text.
const LONGEST_LINE: u64 = 64 << 10;
/// The separators of columns; the first of them in the first line counts.
const SEPARATORS: [char; 3] = [';', '\t', ','];

/// Reads the samples of a column. Empty lines and those that begin with `#` are passed over, and so is a first line
/// that is a heading.
pub(super) fn read(
    path: &Path,
    column: &Column,
    mut file: impl BufRead,
) -> Result<Vec<f64>, SamplesError> {
    let wrong = |line, problem| SamplesError::Content {
        path: path.into(),
        line,
        problem,
    };
    let system = |source| SamplesError::System {
        action: "read",
        path: path.into(),
        source,
    };
    if let Some(problem) = foreign(file.fill_buf().map_err(system)?) {
        return Err(wrong(1, problem));
    }
    let mut samples = Vec::new();
    let mut layout: Option<Layout> = None;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut rest = file.by_ref().take(LONGEST_LINE);
        if rest.read_until(b'\n', &mut line).map_err(system)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = match number {
            1 => text.strip_prefix(MARK).unwrap_or(&text),
            _ => &text,
        };
        let text = text.trim_matches([' ', '\r', '\n']);
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let wrong = |problem| wrong(number, problem);
        if layout.is_none() {
            let (found, is_heading) = Layout::of(text, column).map_err(wrong)?;
            layout = Some(found);
            if is_heading {
                continue;
            }
        }
        if let Some(layout) = &layout {
            samples.push(layout.sample(text).map_err(wrong)?);
        }
    }
    Ok(samples)
}

/// The layout of the lines of a file.
struct Layout {
    separator: Option<char>,
    columns: usize,
    /// The column with the samples.
    chosen: usize,
}

impl Layout {
    /// The layout by the first line, and whether that is a heading.
    fn of(line: &str, column: &Column) -> Result<(Self, bool), String> {
        let separator = SEPARATORS.into_iter().find(|&s| line.contains(s));
        let mut fields = fields(line, separator);
        if fields.len() > 1 && fields.last().is_some_and(|last| last.is_empty()) {
            fields.pop();
        }
        let is_heading = fields.iter().any(|field| is_name(field))
            && !fields.iter().any(|field| is_value(field));
        let names: Vec<String> = match is_heading {
            true => fields.iter().map(|&field| field.into()).collect(),
            false => (1..=fields.len())
                .map(|number| number.to_string())
                .collect(),
        };
        let chosen = column.choose(&names)?;
        let layout = Layout {
            separator,
            columns: fields.len(),
            chosen,
        };
        Ok((layout, is_heading))
    }

    fn sample(&self, line: &str) -> Result<f64, String> {
        let mut fields = fields(line, self.separator);
        if fields.len() == self.columns + 1 && fields.last().is_some_and(|last| last.is_empty()) {
            fields.pop();
        }
        let problem = |text: &str| {
            format!(
                "`{}` is not a sample: each line is one number of nanoseconds, from 0 to 1e18",
                shortened(text)
            )
        };
        if fields.len() != self.columns {
            return Err(match self.columns {
                1 => problem(line),
                columns => format!("{} fields, and the first line has {columns}", fields.len()),
            });
        }
        let field = fields[self.chosen];
        match field.parse::<f64>() {
            Ok(value) if (0.0..=LONGEST_NS).contains(&value) => Ok(value),
            _ => Err(problem(field)),
        }
    }
}

/// The fields of a line, without quotes around them. A separator may stand at the end of a line, too.
fn fields(line: &str, separator: Option<char>) -> Vec<&str> {
    let Some(separator) = separator else {
        return vec![bare(line)];
    };
    let mut quoted = false;
    let split = |c: char| {
        quoted ^= c == '"';
        c == separator && !quoted
    };
    line.split(split).map(bare).collect()
}

fn bare(field: &str) -> &str {
    let field = field.trim();
    let inside = field
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inside.map_or(field, str::trim)
}

/// True for a field that is a number, in any spelling, or stands for a missing one: it names no column.
fn is_value(field: &str) -> bool {
    const MISSING: [&str; 7] = ["nan", "inf", "infinity", "na", "n/a", "null", "none"];
    let begins_as_number = field.starts_with(|c: char| c.is_numeric() || "+-.∞".contains(c));
    let word = field.split_whitespace().next().unwrap_or_default();
    begins_as_number || MISSING.contains(&word.to_lowercase().as_str())
}

fn is_name(field: &str) -> bool {
    field.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_value(field)
}

/// A note at the beginning of a file, as [`to_text`] writes it.
pub(super) fn note(file: impl BufRead, key: &str) -> Option<String> {
    let lines = file.lines().map_while(Result::ok);
    let mut notes = lines.map_while(|line| line.strip_prefix("# ").map(String::from));
    notes.find_map(|note| Some(note.strip_prefix(key)?.strip_prefix(": ")?.into()))
}

pub(super) fn to_text(samples: &[u64], notes: &[(&str, String)]) -> Vec<u8> {
    let mut text = String::new();
    for (key, value) in notes {
        text.push_str(&format!("# {key}: {value}\n"));
    }
    for ns in samples {
        text.push_str(&format!("{ns}\n"));
    }
    text.into_bytes()
}

/// The samples of every rank that measured, as `jitterlab-mpi library --samples` writes them:
/// numbers of nanoseconds, one a line, the line `# rank K` before each rank's.
///
/// # Errors
/// A line is neither a comment nor a sample, or stands before the first rank; for people.
pub fn ranks_of_text(text: &str) -> Result<Vec<Vec<u64>>, String> {
    let mut ranks: Vec<Vec<u64>> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.starts_with("# rank ") {
            ranks.push(Vec::new());
        } else if !line.starts_with('#') {
            let sample = line.parse().ok();
            let (Some(samples), Some(sample)) = (ranks.last_mut(), sample) else {
                return Err(format!(
                    "line {} of the samples is no sample of a rank: `{line}`",
                    i + 1
                ));
            };
            samples.push(sample);
        }
    }
    Ok(ranks)
}

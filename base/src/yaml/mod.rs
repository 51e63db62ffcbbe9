//! YAML files that people write, read strictly: into a value, or an error that says where something is wrong and what to
//! write instead.

mod flow;
mod locate;
mod survey;
mod words;

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, Visitor};

use crate::input::{InputError, Source, decode, read_text};
use survey::{MOST_BYTES, survey};
use words::explained;

pub use flow::{flow, said, value};
pub use locate::{Step, locate};
pub use words::{list, suggestion};

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {kind} {path}", path = path.display())]
    Read {
        /// The kind of file that it should have been.
        kind: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Something in it is wrong.
    #[error("{path}:{line}:{column}: {problem}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The problem, what was expected, and what may have been meant.
        problem: String,
    },
}

/// Something wrong in a file, and where.
#[derive(Debug)]
pub struct Wrong<'a> {
    /// The way to it, from the whole file.
    pub path: Vec<Step<'a>>,
    /// The problem, and what was expected.
    pub problem: String,
}

/// The result of a check of a file.
pub type Checked<'a> = Result<(), Wrong<'a>>;

/// Something is wrong at a place.
///
/// # Errors
/// Always: that.
pub fn wrong<'a>(path: &[Step<'a>], problem: impl Into<String>) -> Checked<'a> {
    Err(Wrong {
        path: path.into(),
        problem: problem.into(),
    })
}

/// The text of a file of some kind; of no more than it may have.
///
/// # Errors
/// It cannot be read, is not UTF-8, or too long.
pub fn text_of(kind: &'static str, path: &Path) -> Result<String, FileError> {
    read_text(path, Source::Any, MOST_BYTES).map_err(|error| not_text(error, kind, path))
}

/// The text of what came from elsewhere; `path` is for messages.
///
/// # Errors
/// It is not UTF-8, or too long.
pub fn text_in(bytes: Vec<u8>, kind: &'static str, path: &Path) -> Result<String, FileError> {
    decode(bytes, MOST_BYTES).map_err(|error| not_text(error, kind, path))
}

fn not_text(error: InputError, kind: &'static str, path: &Path) -> FileError {
    let path = path.into();
    let (line, problem) = match error {
        InputError::Read(source) => return FileError::Read { kind, path, source },
        InputError::TooLong { .. } => (1, format!("{error}; no {kind} needs as many")),
        InputError::Encoding { line, problem } => (line, problem),
    };
    FileError::Content {
        path,
        line,
        column: 1,
        problem,
    }
}

/// Reads a text whose type says most of what is right, and `check` the rest.
///
/// # Errors
/// Something in it is wrong: with its place.
pub fn parse<T: DeserializeOwned>(
    text: &str,
    path: &Path,
    check: impl Fn(&T) -> Result<(), Wrong<'_>>,
) -> Result<T, FileError> {
    parse_filled(text, path, |_| (), check)
}

/// Does as [`parse`] for a text that may leave out what `fill` fills in.
///
/// # Errors
/// As those of [`parse`].
pub fn parse_filled<T: DeserializeOwned>(
    text: &str,
    path: &Path,
    fill: impl Fn(&mut T),
    check: impl Fn(&T) -> Result<(), Wrong<'_>>,
) -> Result<T, FileError> {
    let content = |(problem, (line, column))| FileError::Content {
        path: path.into(),
        line,
        column,
        problem,
    };
    if let Some(wrong) = survey(text) {
        return Err(content(wrong));
    }
    let mut value: T = serde_yaml::from_str(text).map_err(|error| content(explained(&error)))?;
    fill(&mut value);
    if let Err(Wrong { path, problem }) = check(&value) {
        return Err(content((problem, locate(text, &path).unwrap_or((1, 1)))));
    }
    Ok(value)
}

/// The keys of a text that is a map; nothing of one that cannot be read.
pub fn keys(text: &str) -> Option<Vec<String>> {
    if survey(text).is_some() {
        return None;
    }
    let map: BTreeMap<String, IgnoredAny> = serde_yaml::from_str(text).ok()?;
    Some(map.into_keys().collect())
}

/// The beginning of comments that say what a file leaves out.
const LEFT_OUT: &str = "\n# Left out of this file, and taken as:\n";

/// A text with comments at its end, a line each, that say what it leaves out and what is taken. They say nothing to a parser.
pub fn with_left_out(text: &str, said: &[String]) -> String {
    if said.is_empty() {
        return text.into();
    }
    let lines: Vec<String> = said.iter().map(|line| format!("#   {line}\n")).collect();
    format!("{text}{LEFT_OUT}{}", lines.concat())
}

/// A text without the comments that [`with_left_out`] adds.
pub fn as_written(text: &str) -> &str {
    text.find(LEFT_OUT).map_or(text, |end| &text[..end])
}

/// A value that is written as text, and read from it. Its error keeps its place in the file, as that of a visitor does.
///
/// # Errors
/// It is not written as text, or the text is none of its kind.
pub fn of_text<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<T, D::Error> {
    struct Text<T>(&'static str, PhantomData<T>);

    impl<T: FromStr<Err: Display>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Text(expected, PhantomData))
}

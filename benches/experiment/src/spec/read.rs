//! From text to an experiment, or to an error that says where and what to write instead.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jitterlab_base::input::{InputError, Source, decode, read_text};
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};

use super::Experiment;
use super::check::{self, Wrong};
use super::locate::locate;
use super::survey::{MOST_BYTES, survey};
use super::words::explained;

/// An experiment file, or a hosts file, that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It cannot be read.
    #[error("cannot read {kind} {path}", path = path.display())]
    Read {
        /// What it should have been.
        kind: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
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
        /// What is wrong, what was expected, and what may have been meant.
        problem: String,
    },
}

impl Experiment {
    /// Reads an experiment file.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong: with its place.
    pub fn load(path: &Path) -> Result<(Experiment, String), SpecError> {
        let text = text_of("experiment file", path)?;
        Ok((Experiment::parse(&text, path)?, text))
    }

    /// Reads the text of an experiment file; `path` is for messages.
    ///
    /// # Errors
    /// Something in it is wrong: with its place.
    pub fn parse(text: &str, path: &Path) -> Result<Experiment, SpecError> {
        parse(text, path, check::check)
    }
}

/// The text of a file of some kind; of no more than it may have.
///
/// # Errors
/// It cannot be read, is not UTF-8, or too long.
pub fn text_of(kind: &'static str, path: &Path) -> Result<String, SpecError> {
    read_text(path, Source::Any, MOST_BYTES).map_err(|error| not_text(error, kind, path))
}

/// The same of what came from elsewhere; `path` is for messages.
///
/// # Errors
/// It is not UTF-8, or too long.
pub fn text_in(bytes: Vec<u8>, kind: &'static str, path: &Path) -> Result<String, SpecError> {
    decode(bytes, MOST_BYTES).map_err(|error| not_text(error, kind, path))
}

fn not_text(error: InputError, kind: &'static str, path: &Path) -> SpecError {
    let path = path.into();
    let (line, problem) = match error {
        InputError::Read(source) => return SpecError::Read { kind, path, source },
        InputError::TooLong { .. } => (1, format!("{error}; no {kind} needs as many")),
        InputError::Encoding { line, problem } => (line, problem),
    };
    SpecError::Content {
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
) -> Result<T, SpecError> {
    let content = |(problem, (line, column))| SpecError::Content {
        path: path.into(),
        line,
        column,
        problem,
    };
    if let Some(wrong) = survey(text) {
        return Err(content(wrong));
    }
    let value: T = serde_yaml::from_str(text).map_err(|error| content(explained(&error)))?;
    if let Err(Wrong { path, problem }) = check(&value) {
        return Err(content((problem, locate(text, &path).unwrap_or((1, 1)))));
    }
    Ok(value)
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

//! From text to an experiment, or to an error that says where and what to write instead.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::Experiment;
use super::check::{self, Wrong};
use super::locate::{doubled, locate};

/// An experiment file, or a hosts file, that cannot be used.
#[derive(Debug, Error)]
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

/// The text of a file of some kind.
pub fn text_of(kind: &'static str, path: &Path) -> Result<String, SpecError> {
    std::fs::read_to_string(path).map_err(|source| SpecError::Read {
        kind,
        path: path.into(),
        source,
    })
}

/// Reads a text whose type says most of what is right, and `check` the rest.
pub fn parse<T: DeserializeOwned>(
    text: &str,
    path: &Path,
    check: impl Fn(&T) -> Result<(), Wrong<'_>>,
) -> Result<T, SpecError> {
    let content = |(line, column), problem| SpecError::Content {
        path: path.into(),
        line,
        column,
        problem,
    };
    if let Some((key, place)) = doubled(text) {
        return Err(content(place, format!("`{key}` stands there twice")));
    }
    let value: T = serde_yaml::from_str(text).map_err(|error| {
        let place = error.location().map(|at| (at.line(), at.column()));
        content(place.unwrap_or((1, 1)), explained(&error.to_string()))
    })?;
    if let Err(Wrong { path, problem }) = check(&value) {
        return Err(content(locate(text, &path).unwrap_or((1, 1)), problem));
    }
    Ok(value)
}

/// The parser's message without the place, which stands before it, and with what may have been
/// meant.
fn explained(message: &str) -> String {
    let message = match message.rfind(" at line ") {
        Some(end) => &message[..end],
        None => message,
    };
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = message.contains("unknown field") || message.contains("unknown variant");
    match names.next().filter(|_| unknown) {
        Some(given) => format!("{message}{}", suggestion(given, names)),
        None => message.into(),
    }
}

/// `; did you mean …?`, if one of the names is near to what was given.
pub fn suggestion<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> String {
    /// Jaro-Winkler similarity from which on two names are taken for one with a slip.
    const NEAR: f64 = 0.7;
    names
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|&(similarity, _)| similarity >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

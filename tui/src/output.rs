//! How results are printed.

use std::io::{self, Write};

use crate::outcome::Failure;

/// The value of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document.
    Json,
}

/// Prints a result on stdout: `text` for people, or `value` as one JSON document.
///
/// # Errors
/// stdout cannot be written. A reader that has gone away (`jitterlab … | head`) is no error.
pub fn print(
    format: Format,
    value: &impl serde::Serialize,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let mut out = match format {
        Format::Text => text(),
        Format::Json => serde_json::to_string_pretty(value).map_err(Failure::run)?,
    };
    if !out.ends_with('\n') {
        out.push('\n');
    }
    match io::stdout().write_all(out.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::run(error)),
        _ => Ok(()),
    }
}

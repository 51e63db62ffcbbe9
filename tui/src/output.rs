//! The ways that results are printed.

use std::io::{self, Write};
use std::net::SocketAddr;

use jitterlab_base::show;

use crate::outcome::Failure;

/// The value of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document for programs.
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
    let out = match format {
        Format::Text => text(),
        Format::Json => serde_json::to_string_pretty(value).map_err(Failure::run)?,
    };
    print_text(out)
}

/// Prints what has no other form than text, on stdout.
///
/// # Errors
/// As those of [`print`].
pub fn print_text(mut out: String) -> Result<(), Failure> {
    if !out.ends_with('\n') {
        out.push('\n');
    }
    match io::stdout().write_all(out.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::run(error)),
        _ => Ok(()),
    }
}

/// Prints the line of a server on stdout when it is ready: `{"listening":"127.0.0.1:7411"}`.
///
/// # Errors
/// stdout cannot be written.
pub fn announce(address: SocketAddr) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{{\"listening\":\"{address}\"}}")?;
    out.flush()
}

/// A time in nanoseconds, for people, that there may be none of.
pub fn time_of(ns: Option<f64>) -> String {
    ns.map_or_else(|| "unknown".into(), show::time)
}

//! The events of a validation, as they are told to those who wait, and as they stand in a file.

use std::borrow::Cow;

use jitterlab_stats::histogram::Compact;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::report::{Failure, Lost, Run, Validation};
use crate::format;

/// An event. A line of the file of events is one of these as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event<'a> {
    /// All pairs of these hosts are going to be measured. With spares among them this happens again.
    Begins {
        /// The format of all lines: [`Validation::VERSION`].
        version: u32,
        /// The process that validates.
        pid: i32,
        /// The hosts.
        hosts: Vec<String>,
        /// Measurements that there will be.
        measurements: usize,
    },
    /// A pair was measured once.
    Run {
        /// The measurement.
        run: Cow<'a, Run>,
        /// The number of round trips of each size in it, in nanoseconds.
        histogram_ns: Cow<'a, Compact>,
    },
    /// A host cannot be measured.
    Lost {
        /// The host.
        lost: Cow<'a, Lost>,
    },
    /// A measurement failed.
    Failed {
        /// The measurement.
        failed: Cow<'a, Failure>,
    },
    /// So many measurements have been made, or were left out.
    Measured {
        /// The number so far.
        done: usize,
        /// The number there will have been.
        of: usize,
    },
    /// All has been measured and judged, and compared with a baseline, if there is one. The caller of
    /// [`validate`](super::validate) tells this.
    Ends {
        /// The report on what was found.
        validation: Cow<'a, Validation>,
    },
}

/// A file of events that cannot be read.
#[derive(Debug, Error)]
pub enum EventsError {
    /// Another version of jitterlab has written it.
    #[error(
        "its format is {found}, and this jitterlab reads format {}: validate again",
        Validation::VERSION
    )]
    Format {
        /// Its format.
        found: u32,
    },
    /// A line is no event.
    #[error("line {line} was not written by this version of jitterlab")]
    Broken {
        /// The line, counted from 1.
        line: usize,
        /// The error of the reader.
        source: serde_json::Error,
    },
}

impl Event<'static> {
    /// Reads a file of events, or what was added to it after so many events. A last line without its end is still being written,
    /// and is left out. Also gives the number of bytes that were read.
    ///
    /// # Errors
    /// The file has another format, or a line of it is no event.
    pub fn read(text: &[u8], before: usize) -> Result<(Vec<Self>, usize), EventsError> {
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let whole = lines.filter(|line| line.ends_with(b"\n"));
        let read = |(line, text): (usize, &[u8])| {
            let broken = |source| EventsError::Broken { line, source };
            if line == 1 {
                let found = format::version(text).map_err(broken)?;
                if found != Validation::VERSION {
                    return Err(EventsError::Format { found });
                }
            }
            serde_json::from_slice(text).map_err(broken)
        };
        let bytes = whole.clone().map(<[u8]>::len).sum();
        let events: Result<Vec<Self>, _> = (before + 1..).zip(whole).map(read).collect();
        Ok((events?, bytes))
    }
}

//! The end of a program.

use jitterlab_base::units::Nanos;
use serde::{Deserialize, Serialize};

/// The end of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// True if it was killed because its time was over.
    pub timed_out: bool,
    /// The time from start to end, in seconds.
    pub seconds: f64,
    /// Its output; only the end, if there was very much.
    pub stdout: String,
    /// Its output on stderr; only the end, if there was very much.
    pub stderr: String,
}

/// The failure of a program, if it failed: anything but exit status 0 in time.
pub fn failure(name: &str, ended: &Ended, timeout: Nanos) -> Option<String> {
    if ended.timed_out {
        return Some(format!("{name} did not end within {timeout}"));
    }
    match (ended.status, ended.signal) {
        (Some(0), _) => None,
        // Shells and launchers make this status of a signal that ended what they had started.
        (Some(status @ 129..=192), _) => {
            let signal = status - 128;
            Some(format!(
                "{name} ended with exit status {status}, as after signal {signal}"
            ))
        }
        (Some(status), _) => Some(format!("{name} ended with exit status {status}")),
        (None, Some(signal)) => Some(format!("{name} was ended by signal {signal}")),
        (None, None) => Some(format!("{name} ended with an unknown status")),
    }
}

/// `: ` and the last line that says something, of the first text that has one.
pub fn last_line(first: &str, second: &str) -> String {
    [first, second]
        .iter()
        .find_map(|text| {
            text.lines()
                .rev()
                .map(str::trim)
                .find(|line| !line.is_empty())
        })
        .map(|line| format!(": {line}"))
        .unwrap_or_default()
}

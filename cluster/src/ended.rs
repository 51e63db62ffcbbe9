//! The end of a program.

use jitterlab_base::units::Nanos;
use serde::{Deserialize, Serialize};

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was killed because its time was over.
    pub timed_out: bool,
    /// From start to end, in seconds.
    pub seconds: f64,
    /// What it printed; of very much, the end.
    pub stdout: String,
    /// What it printed on stderr; of very much, the end.
    pub stderr: String,
}

/// How a program failed, if it did: anything but exit status 0 in time.
pub fn failure(name: &str, ended: &Ended, timeout: Nanos) -> Option<String> {
    if ended.timed_out {
        return Some(format!("{name} did not end within {timeout}"));
    }
    match (ended.status, ended.signal) {
        (Some(0), _) => None,
        // What shells and launchers make of a signal that ended what they had started.
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

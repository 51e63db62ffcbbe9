//! Commands that a run is made of, what they print, and why one fails.

use jitterlab_base::units::Nanos;
use jitterlab_cluster::{Ended, Program, last_line};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// A run is given this time beside its own.
pub const SLACK: Nanos = Nanos(20_000_000_000);

/// Why a run failed, for people. What was started for it may still run, as a background load does, and files of it may
/// be left: both go with the workers.
#[derive(Debug, PartialEq)]
pub enum Failed {
    /// It may go well the next time.
    Once(String),
    /// It would fail again.
    Always(String),
}

impl Failed {
    /// The reason.
    pub fn reason(self) -> String {
        match self {
            Failed::Once(reason) | Failed::Always(reason) => reason,
        }
    }

    /// The same with its reason in other words.
    pub fn say(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Failed::Once(reason) => Failed::Once(words(reason)),
            Failed::Always(reason) => Failed::Always(words(reason)),
        }
    }
}

impl From<String> for Failed {
    fn from(reason: String) -> Self {
        Failed::Once(reason)
    }
}

impl From<&str> for Failed {
    fn from(reason: &str) -> Self {
        reason.to_string().into()
    }
}

/// Words of a command.
pub fn words(words: &[&str]) -> impl Iterator<Item = String> + use<> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_string()).collect();
    words.into_iter()
}

/// A command of ours.
pub fn own(arguments: impl Iterator<Item = String>, cpu: Option<usize>) -> Program {
    Program {
        command: std::iter::once("jitterlab".into())
            .chain(arguments)
            .collect(),
        cpu,
    }
}

/// Reads what a program of ours has printed.
pub fn printed<T: DeserializeOwned>(ended: &Ended) -> Result<T, String> {
    serde_json::from_str(&ended.stdout).map_err(|error| match error.classify() {
        Category::Data => format!("its result cannot be read: {error}"),
        _ => {
            let said = last_line(&ended.stderr, &ended.stdout);
            let how = if ended.timed_out {
                "it had to be killed, and "
            } else {
                ""
            };
            format!("{how}no result was printed{said}")
        }
    })
}

//! Which settings belong together.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A set of settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// All that makes a microsecond measurable.
    #[default]
    Measure,
    /// Of that, what takes effect at once and is gone with the next boot.
    Reversible,
    /// Exactly what the paper on latency variation set (section 4.1.2), and its MTU (4.2).
    Paper,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Profile::Measure => "measure",
            Profile::Reversible => "reversible",
            Profile::Paper => "paper",
        })
    }
}

//! Which settings belong together.

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

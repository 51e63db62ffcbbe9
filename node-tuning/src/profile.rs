//! Which settings belong together.

use jitterlab_base::named;

/// A set of settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// All that makes a microsecond measurable.
    #[default]
    Measure,
    /// Of that, what takes effect at once and is gone with the next boot.
    Reversible,
    /// Exactly what the paper on latency variation set (section 4.1.2), and its MTU (4.2).
    Paper,
}

named!(Profile, serde, Measure => "measure", Reversible => "reversible", Paper => "paper");

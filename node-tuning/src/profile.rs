//! The sets of settings that belong together.

use jitterlab_base::named;

/// A set of settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// Everything that disturbs measurements of microseconds.
    #[default]
    Measure,
    /// The part that takes effect at once and ends with the next boot.
    Reversible,
    /// The settings of the latency-variation paper (section 4.1.2), and its MTU (4.2).
    Paper,
}

named!(Profile, serde, "a profile", Measure => "measure", Reversible => "reversible", Paper => "paper");

//! How long something is measured.

use jitterlab_base::units::Nanos;

/// How long something goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// For so many messages.
    Messages(u64),
    /// For so long.
    Time(Nanos),
}

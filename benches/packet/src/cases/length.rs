//! The length of a measurement.

use jitterlab_base::units::Nanos;

/// The length of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many messages.
    Messages(u64),
    /// So much time.
    Time(Nanos),
}

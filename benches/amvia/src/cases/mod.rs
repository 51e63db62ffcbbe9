//! Cases: a file each, chosen from one list.

pub mod bandwidth;
mod report;
pub mod rtt;

use jitterlab_amvia::protocol::Config;
use jitterlab_base::named;
use jitterlab_base::units::Nanos;

pub use report::Setting;

/// The measurement that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Transactions one after the other, of messages of one size.
    Rtt,
    /// Transactions up to a window at once, by size.
    Bandwidth,
    /// The cost of a frame: [`crate::loggp`].
    Loggp,
    /// The cost of failures, by model, simulation and experiment: [`crate::performability`].
    Performability,
}

named!(
    Case, serde, "a case",
    Rtt => "rtt",
    Bandwidth => "bandwidth",
    Loggp => "loggp",
    Performability => "performability",
);

impl Case {
    /// The floor of the timeout, if nothing is said: the library's. [`Case::Loggp`] has so much that no frame is sent again
    /// because it waits while the processor computes.
    pub fn min_rto(self) -> Nanos {
        match self {
            Case::Rtt | Case::Bandwidth | Case::Performability => Nanos(Config::default().min_rto),
            Case::Loggp => Nanos(1_000_000_000),
        }
    }
}

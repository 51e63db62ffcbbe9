//! Cases: a file each, chosen from one list.

pub mod bandwidth;
mod report;
pub mod rtt;

use jitterlab_base::named;

pub use report::Setting;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Transactions one after the other, of messages of one size.
    Rtt,
    /// Transactions up to a window at once, by size.
    Bandwidth,
}

named!(
    Case, serde, "a case",
    Rtt => "rtt",
    Bandwidth => "bandwidth",
);

//! The delays that are injected, as they lie in the result folder.

use jitterlab_injector::check::AskedAndMade;
use serde::{Deserialize, Serialize};

use crate::level::Level;

/// The content of a file of delays.
#[derive(Debug, Clone, PartialEq)]
pub enum Delays {
    /// A distribution table that delays are drawn from.
    Table(Vec<u8>),
    /// A recording whose delays come in their order.
    Recording(Vec<u8>),
}

/// A table that claims to imitate nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The level that it is for.
    pub level: Level,
    /// The mean and the standard deviation that it was made for, and those that it has.
    pub moments: AskedAndMade,
    /// Its file, relative to the result folder.
    pub table: String,
}

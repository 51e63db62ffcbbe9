//! The cases, a file each.

pub mod rtt;

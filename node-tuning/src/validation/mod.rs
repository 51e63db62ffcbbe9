//! The nodes and pairs that do not fit. Every pair of n nodes is measured, and the nodes are found
//! whose latency is stochastically larger than the others' (`latency-variation.md`, section 4.1.1).
//!
//! Everything here takes values and gives values; whoever measures drives it:
//! [`tournament::schedule`] says who is measured against whom and when, [`judge::judge`] what the
//! measurements mean, [`remain::left_out`] which nodes go, and [`hostfile`] writes those that stay.

mod additive;
pub mod baseline;
pub mod hostfile;
pub mod judge;
pub mod remain;
pub mod tournament;

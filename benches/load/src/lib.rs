//! Congestion load on the packet level: the paper's congestion simulator (latency-variation,
//! section 5.1, Algorithm 3).
//!
//! [`bucket`] decides when a message may go; [`sender`] sends it; [`sink`], at the other end,
//! counts what arrives, so that the load which is reported is the load that was produced. What decides is given the time
//! (`bucket`, `pace`, `arrival`); `sender` alone reads the clock.

#![forbid(unsafe_code)]

mod arrival;
pub mod bucket;
mod control;
mod error;
mod pace;
mod produced;
pub mod sender;
pub mod sink;
pub mod transport;
mod verbs;
mod way;

pub use error::Error;
pub use produced::Produced;

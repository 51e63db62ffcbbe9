//! Congestion load on the packet level: the paper's congestion simulator (latency-variation,
//! section 5.1, Algorithm 3).
//!
//! [`bucket`] decides when a message may go; [`sender`] sends it; [`sink`], at the other end,
//! counts what arrives, so that the load which is reported is the load that was produced.

#![forbid(unsafe_code)]

pub mod bucket;
mod control;
mod error;
pub mod sender;
pub mod sink;
pub mod transport;

pub use error::Error;

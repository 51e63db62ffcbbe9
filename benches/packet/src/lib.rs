//! The packet suite: latency cases over a transport interface.
//!
//! A case ([`cases`]) knows the network only as a [`transport::Connection`]; a transport
//! ([`transport`]) knows nothing of cases. The other end is [`server`].

#![forbid(unsafe_code)]

pub mod cases;
mod error;
mod pace;
pub mod server;
mod service;
pub mod transport;

pub use error::Error;

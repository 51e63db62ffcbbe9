//! The active-message suite: what a transaction costs, over each transport and in each protocol of [`jitterlab_amvia`].
//!
//! A [`Client`] is an endpoint that measures; the other end is `jitterlab amvia serve`, with the handlers of [`handlers`].
//! Both ends poll. A case is a file of [`cases`], or a folder beside it.

#![forbid(unsafe_code)]

mod carrier;
pub mod cases;
mod client;
pub mod delayed;
mod error;
pub mod handlers;
pub mod loggp;
pub mod performability;
mod protocol;

pub use carrier::Carrier;
pub use client::{Client, Options, WINDOW, message_for};
pub use error::Error;
pub use protocol::Protocol;

//! The active-message suite: what a transaction costs, over each transport and in each protocol of [`jitterlab_amvia`].
//!
//! A [`Client`] is an endpoint that measures; the other end is `jitterlab amvia serve`, with the handlers of [`handlers`].
//! Both ends poll. A case is a file of [`cases`].

#![forbid(unsafe_code)]

pub mod cases;
mod client;
mod error;
pub mod handlers;
mod protocol;

pub use client::{Client, Options};
pub use error::Error;
pub use protocol::Protocol;

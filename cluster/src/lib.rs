//! The hosts of a cluster: where each is, the worker that runs programs on it, and the controller's end of that worker.
//!
//! It knows nothing of what is measured. A worker keeps files, and starts, stops and runs programs; what they are, the rooms
//! above say.

#![forbid(unsafe_code)]

pub mod agent;
mod connections;
mod ended;
mod folder;
mod host;
mod identity;
pub mod inventory;
pub mod pattern;
mod place;
pub mod protocol;
pub mod schedulers;
pub mod ssh;
mod together;
mod trust;
mod worker;

pub use ended::{Ended, failure, last_line};
pub use host::{Host, NO_ADDRESS};
pub use identity::OWN_VERSION;
pub use place::Place;
pub use protocol::{News, Program, Ready};
pub use together::together;
pub use trust::{HostKey, KnownHost, Trust};
pub use worker::{Controller, PROMPT, Unfit, Worker};

//! The work of the appliance at boot: it reads `node.yaml`, brings the node to what that says, and leaves
//! a report of what it did.
//!
//! Whatever fails is said and does not stop the rest: a node that boots badly is one that somebody has to
//! be able to look at.

#![forbid(unsafe_code)]

mod command;
mod kernel;
mod network;
pub mod node_file;
mod phases;
mod rdma;
pub mod report;
mod session;
mod source;
mod ssh;
mod start;
mod time;
mod tuning;
mod volume;

pub use session::run_experiment;
pub use start::start;

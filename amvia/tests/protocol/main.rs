//! The wire and the protocol machines.

mod exchange;
mod pair;
mod recovery;
mod wire;

//! The wire and the protocol machines.

mod bulk;
mod exchange;
mod handshake;
mod liars;
mod pair;
mod recovery;
mod shared_pool;
mod straight;
mod timeouts;
mod wire;

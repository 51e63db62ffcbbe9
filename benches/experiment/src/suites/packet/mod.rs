//! The packet suite: messages between two hosts.

mod options;
mod perform;
mod result;
mod spec;
mod work;

pub use result::PacketResult;
pub use spec::PacketCase;
pub use work::Work;

//! The packet suite: messages between two hosts.

mod perform;
mod spec;
mod work;

pub use spec::{PacketCase, PacketCaseKind};
pub use work::Work;

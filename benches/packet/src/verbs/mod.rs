//! The verbs, safely: the one wrapper over libibverbs.
//!
//! A value keeps alive what it stands on: a [`QueuePair`] its completion queues and its memory, a
//! [`MemoryRegion`] its [`ProtectionDomain`], that one its [`Device`]. Work requests name places in the
//! memory of their queue pair, checked against its length, so that nothing which is posted can dangle.
//! A queue pair that is not connected yet is a [`Prepared`] one and cannot send.
//!
//! Devices write into memory at any moment. Nothing here hands out a reference to such memory; it is read
//! and written byte by byte, volatile or atomic.

mod completion;
mod device;
mod error;
mod gid;
mod memory;
mod queue_pair;

pub use completion::{Completion, CompletionQueue, Events};
pub use device::{Device, Port};
pub use error::Error;
pub use gid::{Gid, GidKind, gids};
pub use memory::{MemoryRegion, ProtectionDomain};
pub use queue_pair::{EndPoint, Limits, Prepared, QueuePair, Remote, Route, SendKind, Work};

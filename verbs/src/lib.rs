//! The verbs, safely: the one wrapper over libibverbs, and what two ends need before they can send.
//!
//! An end chooses its port among [`ports`] with [`choose()`], makes a [`Prepared`] queue pair on it, and tells the other
//! end where that is ([`exchange`]). A connected one is a [`QueuePair`], which posts sends and receives and polls their
//! completions.
//!
//! A value keeps alive what it stands on: a [`QueuePair`] its completion queues and its memory, a
//! [`MemoryRegion`] its [`ProtectionDomain`], that one its [`Device`]. Work requests name places in the
//! memory of their queue pair, checked against its length, so that nothing which is posted can dangle.
//! A queue pair that is not connected yet is a [`Prepared`] one and cannot send.
//!
//! Devices write into memory at any moment. Nothing here hands out a reference to such memory; it is read
//! and written byte by byte, volatile or atomic. A [`Mailbox`] alone gives messages where they lie: in memory that the other
//! end may not write to, in a place where no receive is posted.
//!
//! Every value may be handed to another thread, and is used by one at a time.
//!
//! libibverbs is opened when the program starts. A machine without it has no ports, and is told so
//! ([`Error::NoLibrary`]). `unsafe` is confined to the modules that call it (`completion`, `device`, `memory`,
//! `queue_pair`), and to `mailbox`.

#![deny(unsafe_code)]

mod choose;
mod completion;
mod device;
mod error;
pub mod exchange;
mod mailbox;
mod memory;
mod port;
mod queue_pair;

pub use choose::{Adapter, Chosen, choose};
pub use completion::{Completion, CompletionQueue, Events};
pub use device::{Device, ports};
pub use error::Error;
pub use mailbox::{Draft, Mailbox, Message, Received};
pub use memory::{MemoryRegion, ProtectionDomain};
pub use port::{Gid, Mtu, Port};
pub use queue_pair::{
    EndPoint, Limits, Prepared, QueuePair, Remote, Route, SendKind, Service, Work,
};

//! The data that is sent, as far as it counts, and its way into the record.

use super::call::Call;
use super::library::Library;
use crate::recorder::{self, Peers};

/// A message, as far as it counts.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    /// The rank among all ranks, if it is one of them.
    pub(super) peer: Option<usize>,
    pub(super) bytes: u64,
}

/// The purpose of a persistent request.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    /// Each start sends a message.
    Message(Sent),
    /// After a start each partition is sent when it is said to be ready.
    Partitions(Sent),
    /// Each start is a collective of that call, with so many bytes given to it.
    Collective(Call, u64),
}

/// The ranks that take part, for the first call that is recorded.
pub(super) fn peers(library: &Library) -> impl FnOnce() -> Option<Peers> {
    || {
        let world = library.world()?;
        Some(Peers {
            ranks: library.ranks_of(world),
            own: library.rank_in(world)?,
            are_spawned: library.is_spawned(),
        })
    }
}

pub(super) fn record_messages(call: Call, library: &Library, sent: impl Iterator<Item = Sent>) {
    let messages = sent.map(|sent| (sent.peer, sent.bytes));
    recorder::messages(call, peers(library), messages);
}

//! A peer of an endpoint: its connection, and the messages that are under way.

use super::received::Received;
use super::text::Text;
use crate::log;
use crate::protocol::{Connection, Nanos, Protocol};
use crate::transaction::{EndpointId, Incarnation};
use crate::transport;
use crate::wire::{Refusal, Tag};

/// A peer of an endpoint.
pub(super) struct Peer {
    pub(super) id: EndpointId,
    /// The name and the address that the application gave; empty for a peer that connected by itself.
    pub(super) name: Text,
    pub(super) address: Text,
    /// The address that frames to it go to; none while that is not known.
    pub(super) to: Option<transport::Peer>,
    /// The tag that it has been given.
    pub(super) tag: Tag,
    pub(super) connection: Connection,
    pub(super) standing: Standing,
    /// Messages to it, by slot of the send pool.
    pub(super) sent: Vec<Sent>,
    /// Messages from it, by slot of the receive pool; none where all peers share one.
    pub(super) received: Vec<Received>,
}

/// The standing of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The peer has not answered yet.
    Connecting,
    /// The peer has answered, in this incarnation.
    Connected(Incarnation),
    /// The peer does not answer, or refuses.
    Unreachable(Option<Refusal>),
}

/// A request that this endpoint has made.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Its place in the log; none while the slot is free.
    pub(super) place: Option<log::Place>,
    /// Bytes of the request that wait for their first commit.
    pub(super) unlogged: Option<usize>,
    /// The part of the reply that has come.
    pub(super) reply: Received,
}

impl Peer {
    /// A peer with empty pools.
    pub(super) fn new(id: EndpointId, tag: Tag, connection: Connection) -> Self {
        let window = usize::from(connection.config().window);
        let received = match connection.config().protocol {
            Protocol::Amudp => 0,
            Protocol::Amvia | Protocol::TwoWay => window,
        };
        Peer {
            id,
            name: Text::default(),
            address: Text::default(),
            to: None,
            tag,
            connection,
            standing: Standing::Connecting,
            sent: (0..window).map(|_| Sent::default()).collect(),
            received: (0..received).map(|_| Received::default()).collect(),
        }
    }

    /// Frames of it come from there.
    #[inline]
    pub(super) fn is_heard_at(&self, from: &transport::Peer) -> bool {
        self.to.as_ref() == Some(from)
    }

    /// Nothing is due before.
    #[inline]
    pub(super) fn deadline(&self) -> Nanos {
        self.connection.deadline().unwrap_or(Nanos::MAX)
    }

    /// All peers share one pool (AMUDP).
    #[inline]
    pub(super) fn shares_pool(&self) -> bool {
        self.received.is_empty()
    }

    /// The number of its receive pool, where it has the number `own`.
    #[inline]
    pub(super) fn pool_of(&self, own: usize) -> usize {
        if self.shares_pool() { 0 } else { own }
    }
}

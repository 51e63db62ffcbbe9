//! The protocols as machines without I/O, clock or chance: events and the time go in, actions come out.
//!
//! A [`Connection`] is one pair of endpoints, both roles of it: it makes requests of the peer (as initiator), and answers
//! those that the peer makes (as target). It speaks of slots; the bytes of requests and replies are in the driver's pools,
//! which have `window` slots each: the *send pool* (a request, and the reply to it when it comes) and the *receive pool* (a
//! request that came, and its reply). With [`Protocol::Amudp`] all connections of an endpoint share one receive pool, a
//! [`ReplyPool`].
//!
//! # What a driver does
//!
//! **Time** is a `u64` of nanoseconds from any origin; it never goes back.
//!
//! **One rule holds everywhere**: after each call that changes the connection, the driver takes [`Connection::next`] until
//! there is none, and carries out each action before it takes the one after it. Actions stand in the order that recovery
//! relies on: an [`Action::Log`] comes before each [`Action::Send`] that speaks of it.
//!
//! | it happens | the driver calls |
//! |---|---|
//! | start, with an empty log | [`Connection::new`] |
//! | start, with a log | [`Connection::recover`] with every record of this peer, then [`Connection::connect`] |
//! | a frame of a known peer arrives | [`decode`](crate::wire::decode), then [`Connection::frame`] |
//! | a `Connect` of an unknown peer arrives | [`greet`]: it says whether to answer, or to make a connection and give it the frame |
//! | the application makes a request | [`Connection::request`]; then it writes the payload into the send slot, then takes the actions |
//! | an [`Action::Run`] | when it comes to it: [`Connection::start`], the actions, the handler if that said true, [`Connection::handled`], the actions |
//! | [`Connection::deadline`] has come | [`Connection::expire`] |
//! | an [`Action::Deliver`] | it tells the application, which reads [`Connection::state`] and the reply in the send slot |
//! | the application has read what became of it | [`Connection::release`]: the credit comes back |
//! | the application asks what became of an unknown | [`Connection::ask`]; an [`Action::Deliver`] follows |
//! | the name server says that an endpoint is gone for good, or an [`Action::Forget`] | it drops the connection, clears its log, and takes a new incarnation |
//!
//! **The straight way.** A message in one frame of an end that keeps no log takes fewer calls: [`Connection::request_straight`] in
//! place of `request`, [`Connection::start_straight`] of `frame` and `start`, [`Connection::handled_straight`] of `handled`, and
//! [`Connection::reply_straight`] of `frame`. Each stands for its actions, too: what it says is to go out, with the head of
//! [`Connection::ack_straight`] where it asks for an acknowledgement, goes out at once. A driver that uses them calls the others wherever
//! one of these gives nothing.
//!
//! **Payloads.** [`Connection::frame`] says where the payload of the frame belongs, if anywhere ([`Place`]). The driver puts
//! it there (or keeps the buffer where it landed) *before* it takes the actions, since one of them may be the log of it.
//!
//! **Frames that cannot be sent** (the transport is full) may be dropped: they count as lost.
//!
//! **Handlers** may be slow. Between [`Connection::start`] and [`Connection::handled`] another thread may give frames and
//! time to the connection: acknowledgements go on. [`Action::Run`]s that come meanwhile wait in the driver, not started.
//!
//! **Allocation**: slots are made with the connection, bitmaps when the peer is first known; the queue of actions keeps the
//! room that it has once needed.

mod answer;
mod config;
mod connection;
mod initiator;
mod link;
mod pool;
mod segments;
mod sent;
mod straight;
mod target;
mod timeout;

use crate::transaction::{EndpointId, Incarnation, InitiatorState, TargetState, TransactionId};
use crate::wire::{Body, Head, Hello, Refusal, Tag};

pub use crate::wire::Protocol;
pub use config::{Config, ConfigError, MAX_BURST};
pub use connection::Connection;
pub use pool::ReplyPool;
pub use timeout::Timeout;

/// Nanoseconds, of a duration or since the driver's origin.
pub type Nanos = u64;

/// A slot of a pool. Its number in the pools of a connection is the sequence modulo the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

impl Slot {
    /// The slot of a sequence in a pool of so many, which is not shared.
    #[inline]
    fn of(sequence: u64, slots: usize) -> Self {
        let slots = slots as u64;
        // A window is seldom anything else than a power of two, which takes no division.
        let place = match slots.is_power_of_two() {
            true => sequence & (slots - 1),
            false => sequence % slots,
        };
        Slot(place as u16)
    }

    /// The slot as an index.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// The end of a connection that a driver holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Local {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// The incarnation since which its memory of the peer has no gap: that in which the log was made, or in which the
    /// endpoint last let a client go. Without a log: the incarnation itself.
    pub since: Incarnation,
    /// The tag that it gives to this peer: [`Tag::of`].
    pub tag: Tag,
    /// Records are kept: without, there is no [`Action::Log`].
    pub keeps_log: bool,
}

/// The bytes that go behind a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// None.
    None,
    /// The request's bytes in a slot of the send pool.
    Request {
        /// The slot.
        slot: Slot,
        /// Bytes before.
        offset: u32,
        /// Bytes.
        size: u32,
    },
    /// The reply's bytes in a slot of the receive pool.
    Reply {
        /// The slot.
        slot: Slot,
        /// Bytes before.
        offset: u32,
        /// Bytes.
        size: u32,
    },
}

/// The place that the payload of a frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The request in a slot of the receive pool, so many bytes from its start.
    Request {
        /// The slot.
        slot: Slot,
        /// Bytes before.
        offset: u32,
    },
    /// The reply in a slot of the send pool, so many bytes from its start.
    Reply {
        /// The slot.
        slot: Slot,
        /// Bytes before.
        offset: u32,
    },
}

/// The log's record of a transaction, beside the bytes of its request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record<S> {
    /// The transaction.
    pub id: TransactionId,
    /// The incarnation of the target that it was first sent to, 0 before that, in the send pool; 0 in the receive pool.
    pub target: Incarnation,
    /// The handler of the request.
    pub handler: u16,
    /// Bytes of the request.
    pub request: u32,
    /// The handler of the reply, once there is one.
    pub reply_handler: u16,
    /// Bytes of the reply.
    pub reply: u32,
    /// The state.
    pub state: S,
}

/// A record of one of the pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A record of the send pool.
    Sent(Record<InitiatorState>),
    /// A record of the receive pool.
    Received(Record<TargetState>),
}

/// An action of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Write a record, with the bytes of the request and the reply that its slot holds, and commit it.
    Log {
        /// The slot of the pool that the entry names.
        slot: Slot,
        /// The record.
        entry: Entry,
    },
    /// Send a frame to the peer.
    Send {
        /// Its head.
        head: Head,
        /// The bytes behind it.
        payload: Payload,
    },
    /// Run a handler on the request in a slot of the receive pool, in its turn: see [`Connection::start`].
    Run {
        /// The slot.
        slot: Slot,
        /// The transaction.
        id: TransactionId,
        /// The handler.
        handler: u16,
    },
    /// Tell the application that the transaction in a slot of the send pool has come to an end, or to an unknown. After an
    /// unknown there may be another, with the end: when it is asked for, and when an answer comes late.
    Deliver {
        /// The slot.
        slot: Slot,
    },
    /// The peer is connected: for the first time, in a new incarnation, or after it could not be.
    Connected {
        /// The peer's incarnation.
        incarnation: Incarnation,
    },
    /// The peer cannot be connected to.
    Unreachable {
        /// Why, where it has said so; none: no answer.
        refusal: Option<Refusal>,
    },
    /// The peer's lease has ended: drop the connection, clear its records, take a new incarnation.
    Forget,
}

/// Why a request is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// `window` transactions are not released yet.
    #[error(
        "no credit: the window is full of transactions that are not released; release one that has ended"
    )]
    NoCredit,
    /// The peer takes no message of this length.
    #[error("the message has {length} bytes, the peer takes {most}")]
    TooLong {
        /// Its bytes.
        length: u32,
        /// Bytes that the peer takes.
        most: u32,
    },
}

/// Why a call that names a slot is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// There is no transaction in this slot.
    #[error("there is no transaction in slot {}", .0.0)]
    Empty(Slot),
    /// The transaction is neither final nor unknown.
    #[error("the transaction in slot {} is under way", .0.0)]
    UnderWay(Slot),
    /// Only an unknown can be asked for.
    #[error("the state of the transaction in slot {} is known", .0.0)]
    Known(Slot),
    /// No handler runs in this slot.
    #[error("no handler runs in slot {}", .0.0)]
    NotRunning(Slot),
    /// A slot has no room for a reply of this length.
    #[error("the reply has {length} bytes, a slot has room for {most}")]
    TooLong {
        /// Its bytes.
        length: u32,
        /// Bytes that a slot has room for.
        most: u32,
    },
}

/// Why records are not those of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// Neither end of this connection has made the request.
    #[error("transaction {0} is not one of this connection")]
    Foreign(TransactionId),
    /// The log was made with another window.
    #[error("the log has transaction {id} in slot {}, but a window of {window} puts it into another slot: the log was made with another window", slot.0)]
    Slot {
        /// The transaction.
        id: TransactionId,
        /// Its slot.
        slot: Slot,
        /// The window.
        window: u8,
    },
}

/// Counts of what has happened on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Requests made.
    pub requests: u64,
    /// Requests sent again because no answer came.
    pub retransmissions: u64,
    /// Those of them that were needless: the answer to an earlier attempt came after them.
    pub needless: u64,
    /// Transactions given up, since no answer came to any attempt.
    pub abandoned: u64,
    /// Questions for the reply after the acknowledgement.
    pub pulls: u64,
    /// Connects sent beside retransmissions.
    pub renewals: u64,
    /// Acknowledgements sent in frames of their own.
    pub acks_alone: u64,
    /// Acknowledgements that rode on their reply.
    pub acks_riding: u64,
    /// Handlers started.
    pub started: u64,
    /// Requests that came again.
    pub duplicates: u64,
    /// Frames with a wrong tag.
    pub wrong_tag: u64,
    /// Frames from a peer that has not been connected yet.
    pub unconnected: u64,
    /// Frames that no honest peer sends.
    pub malformed: u64,
    /// Requests that found no free slot in the receive pool.
    pub no_room: u64,
}

/// The greeting for a frame without a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// Make a connection with [`Connection::new`] (or [`Connection::recover`]), and give it the frame.
    Welcome,
    /// Send this, and keep nothing.
    Answer(Head),
    /// Nothing.
    Ignore,
}

/// Judges a frame for `local` from a peer without a known connection. Nothing about the peer is kept until it shows that
/// answers reach it, with the tag that it is given.
pub fn greet(local: &Local, config: &Config, head: &Head) -> Greeting {
    let Body::Connect(theirs) = head.body else {
        return Greeting::Ignore;
    };
    if head.tag == local.tag {
        return Greeting::Welcome;
    }
    let link = link::Link::new(config.clone(), *local, head.from);
    let body = match link.refusal(&theirs) {
        Some(reason) => Body::Refuse { reason },
        None => Body::Accept(link.hello(1, theirs.attempt)),
    };
    Greeting::Answer(Head {
        tag: theirs.tag,
        from: local.endpoint,
        body,
    })
}

/// The answer to a Connect that the driver itself refuses; none if the frame is something else.
pub fn refuse(endpoint: EndpointId, head: &Head, reason: Refusal) -> Option<Head> {
    match head.body {
        Body::Connect(Hello { tag, .. }) => Some(Head {
            tag,
            from: endpoint,
            body: Body::Refuse { reason },
        }),
        _ => None,
    }
}

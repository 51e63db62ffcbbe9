//! Frames. One frame is one datagram: a head and, in requests and replies, a part of a message.
//!
//! All numbers are little-endian. `docs/amvia-protocol.md` lists the fields. [`Head::encode`] writes a head, [`decode`] reads
//! a frame: it never panics, and whatever [`Head::encode`] cannot have written is a [`WireError`]. [`Head::encode_bare`] and
//! [`decode_bare`] leave the checksum out, [`Head::encode_sealed`] and [`decode_sealed`] all that two ends know of each other,
//! [`Head::encode_short`] and [`decode_short`] both.

mod layout;
mod short;

use std::fmt;

use jitterlab_base::named;
use sha2::{Digest, Sha256};

use crate::transaction::{EndpointId, Incarnation, first_eight};

pub use layout::{HEAD, MAGIC, Room, VERSION, decode, decode_bare};
pub use short::{SEALED_HEAD, SHORT_HEAD, ShortFrame, decode_sealed, decode_short};

/// Maximum number of transactions under way, in each direction of a connection.
pub const MAX_WINDOW: u8 = 64;
/// Bytes at least that an end must be able to take in a frame.
pub const MIN_MTU: u32 = 128;

/// A number that each end of a connection draws, and that each frame to it carries: who is off the path does not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

impl Tag {
    /// The tag in a frame to somebody whose tag is not known.
    pub const UNKNOWN: Self = Self(0);

    /// The tag that the holder of `secret` gives to `peer`: the first eight bytes of the SHA-256 of both.
    ///
    /// The secret is drawn at each start of the process. So an endpoint can accept a connection without keeping anything,
    /// and keeps something only once the peer has shown, with this tag, that the answer has reached it.
    pub fn of(secret: &[u8; 32], peer: EndpointId) -> Self {
        let digest = Sha256::new()
            .chain_update(secret)
            .chain_update(peer.0.to_be_bytes())
            .finalize();
        Self(first_eight(&digest).max(1))
    }
}

/// A request by its number. The initiator is the sender of a request, and the receiver of what answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    /// Counts the requests of this initiator to this target.
    pub sequence: u64,
    /// The incarnation of the initiator that made the request.
    pub incarnation: Incarnation,
}

/// Protocols of request and reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Request, acknowledgement, reply (Kaur, figure 3.1).
    Amvia,
    /// Request, reply, acknowledgement of the reply (Kaur, figure 3.6).
    Amudp,
    /// Request and reply, with retransmission (Kaur, figure 4.3).
    TwoWay,
}

named!(Protocol, "a protocol", Amvia => "amvia", Amudp => "amudp", TwoWay => "two-way");

/// An end's introduction of itself when it connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hello {
    /// The endpoint that is meant.
    pub to: EndpointId,
    /// The tag that frames to the sender must carry.
    pub tag: Tag,
    /// The sender's incarnation.
    pub incarnation: Incarnation,
    /// The incarnation since which the sender's memory of this peer has no gap. The incarnation itself: it has no log.
    pub since: Incarnation,
    /// The lowest sequence that the sender has not released.
    pub first_incomplete: u64,
    /// Bytes of a frame that the sender can take.
    pub mtu: u32,
    /// Bytes of a message that the sender can take.
    pub message: u32,
    /// Maximum number of transactions under way, in each direction.
    pub window: u8,
    /// The protocol.
    pub protocol: Protocol,
    /// The attempt, which the answer echoes.
    pub attempt: u16,
}

/// The attempt in what the target repeats by itself: it answers none.
pub const UNASKED: u16 = 0;

/// A part of a request or of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// The transaction.
    pub number: Number,
    /// The lowest sequence that the initiator has not released, in a request; 0 in a reply.
    pub first_incomplete: u64,
    /// The attempt, in a request. The attempt that it answers, or [`UNASKED`], in a reply.
    pub attempt: u16,
    /// The handler that is to take the message.
    pub handler: u16,
    /// The place of the part in the message, in bytes.
    pub offset: u32,
    /// Bytes of the part: the payload of this frame.
    pub size: u32,
    /// Bytes of the whole message.
    pub length: u32,
    /// True if the receiver shall say at once what it has.
    pub push: bool,
}

/// The segments of a message that have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Have {
    /// The first segment that is missing.
    pub first: u32,
    /// Bit `i`: whether segment `first + 1 + i` is there.
    pub beyond: u64,
}

/// Why there will be no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The target has no such handler.
    NoHandler,
    /// The handler has run over its time.
    HandlerTime,
    /// The initiator had said that it needs no answer, and the record is freed.
    Stale,
    /// The handler has not run and never will.
    NotRun,
    /// The process was killed while the handler ran.
    Indeterminate,
    /// The handler has run; the reply is freed, or longer than what the initiator takes.
    ReplyGone,
}

named!(
    Reason,
    NoHandler => "no such handler",
    HandlerTime => "handler over its time",
    Stale => "record freed",
    NotRun => "not run",
    Indeterminate => "indeterminate",
    ReplyGone => "reply gone",
);

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No such endpoint at this address.
    NoEndpoint,
    /// The peer speaks another protocol.
    Protocol,
    /// The peer has another window.
    Window,
    /// The peer has already seen a later incarnation of this endpoint.
    OldIncarnation,
    /// The peer has no room for another connection.
    Full,
    /// The peer is connected to another endpoint of this name.
    NameInUse,
}

named!(
    Refusal,
    NoEndpoint => "the peer has no such endpoint",
    Protocol => "the peer speaks another protocol",
    Window => "the peer has another window",
    OldIncarnation => "the peer knows a later incarnation of this endpoint",
    Full => "the peer has no room for another connection",
    NameInUse => "the peer is connected to another endpoint of this name; each needs a name of its own",
);

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Body {
    /// An end wishes to be connected, or says that it has a new incarnation.
    Connect(Hello),
    /// The answer.
    Accept(Hello),
    /// The other answer.
    Refuse {
        /// The reason.
        reason: Refusal,
    },
    /// A part of a request.
    Request(Part),
    /// A part of a reply.
    Reply(Part),
    /// The initiator asks for what is missing of the reply.
    Pull {
        /// The transaction.
        number: Number,
        /// The lowest sequence that the initiator has not released.
        first_incomplete: u64,
        /// The attempt.
        attempt: u16,
        /// The part of the reply that it has.
        have: Have,
    },
    /// The initiator asks what became of a transaction that it has given up.
    Query {
        /// The transaction.
        number: Number,
        /// The lowest sequence that the initiator has not released.
        first_incomplete: u64,
        /// The attempt.
        attempt: u16,
    },
    /// The target has the request, and knows its handler.
    Ack {
        /// The transaction.
        number: Number,
        /// The attempt that is answered.
        attempt: u16,
    },
    /// The target asks for what is missing of the request.
    Missing {
        /// The transaction.
        number: Number,
        /// The attempt that is answered.
        attempt: u16,
        /// The part of the request that it has.
        have: Have,
    },
    /// There will be no reply.
    Nack {
        /// The transaction.
        number: Number,
        /// The attempt that is answered, or [`UNASKED`].
        attempt: u16,
        /// The reason.
        reason: Reason,
    },
    /// The initiator has the reply: its buffer may go.
    ReplyAck {
        /// The transaction.
        number: Number,
        /// The lowest sequence that the initiator has not released.
        first_incomplete: u64,
        /// The attempt of the reply that is acknowledged.
        attempt: u16,
    },
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    /// The receiver's tag; [`Tag::UNKNOWN`] in a [`Body::Connect`] to somebody new.
    pub tag: Tag,
    /// The sender.
    pub from: EndpointId,
    /// Its content.
    pub body: Body,
}

/// Why bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than a head has.
    #[error("a frame of {0} bytes is shorter than its head")]
    Short(usize),
    /// Something else that came to this port.
    #[error("the frame does not begin with AM")]
    Magic,
    /// A later or earlier program.
    #[error("the frame has version {0}, this program speaks version {VERSION}")]
    Version(u8),
    /// Damaged on the way.
    #[error("the frame is damaged: its checksum is wrong")]
    Checksum,
    /// A kind that this version does not know.
    #[error("the frame has the unknown kind {0}")]
    Kind(u8),
    /// A field with a value that nobody writes.
    #[error("the frame's field `{0}` has an invalid value")]
    Field(Field),
}

/// The fields that can be wrong in a frame whose checksum is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Bytes that the kind does not use.
    Unused,
    /// The payload: its size differs from that in the head, it reaches beyond the message, or the kind has none.
    Size,
    /// The protocol of a hello.
    Protocol,
    /// The window of a hello.
    Window,
    /// The frame size of a hello.
    Mtu,
    /// The reason of a Nack or a Refuse.
    Reason,
    /// A sequence of 0.
    Sequence,
    /// A tag of 0 in a hello.
    Tag,
}

named!(
    Field,
    Unused => "unused",
    Size => "size",
    Protocol => "protocol",
    Window => "window",
    Mtu => "mtu",
    Reason => "reason",
    Sequence => "sequence",
    Tag => "tag",
);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.incarnation, self.sequence)
    }
}

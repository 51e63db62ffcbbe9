//! The parties of a transaction, its name, and the states that each side can see it in.
//!
//! The states are those of Kaur (2000), sections 3.2.1 and 3.2.2, written `<acknowledgement, operation>`, and those that
//! answer the question what became of a transaction whose target had gone away.

use std::fmt;

use jitterlab_base::named;
use sha2::{Digest, Sha256};

/// An endpoint, by the hash of its name: the same after each restart, and no server has to hand it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u64);

impl EndpointId {
    /// The first eight bytes of the SHA-256 of `name`, big-endian.
    pub fn of(name: &str) -> Self {
        Self(first_eight(&Sha256::digest(name)))
    }
}

/// The first eight bytes of a digest, which has 32.
pub(crate) fn first_eight(digest: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(bytes)
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// One life of the memory behind an endpoint. It grows at each start, and each time that the endpoint lets go a client
/// whose lease has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u32);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of a transaction. The target knows it by all three; the initiator knows which peer it went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId {
    /// The endpoint that made the request.
    pub initiator: EndpointId,
    /// Its incarnation when it made the request.
    pub incarnation: Incarnation,
    /// The number of the request: consecutive from 1 to each peer; it goes on over restarts as long as the log is kept.
    pub sequence: u64,
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{}.{}",
            self.initiator, self.incarnation, self.sequence
        )
    }
}

/// The first part of a state: what is known of the acknowledgement, or of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// No acknowledgement yet.
    NotAcked,
    /// The target has the request, and knows its handler.
    Acked,
    /// The target has no such handler (at the initiator).
    AckNotFound,
    /// A negative acknowledgement was sent (at the target).
    ErrAck,
    /// Acknowledged, and then no reply after all retransmissions.
    ReplyRtxExceeded,
    /// The target has freed its record.
    Stale,
}

named!(
    Acknowledgement,
    NotAcked => "NOT_ACKED",
    Acked => "ACKED",
    AckNotFound => "ACK_NOT_FOUND",
    ErrAck => "ERR_ACK",
    ReplyRtxExceeded => "REPLY_RTX_EXCEEDED",
    Stale => "STALE",
);

/// The second part of a state: what is known of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Nothing has been sent, or the request is not whole at the target.
    NotProcessed,
    /// The request has been sent.
    RequestSent,
    /// The target works on it.
    RequestProcessing,
    /// The handler has run once, and its reply is here.
    Processed,
    /// The handler has run once, and its reply is gone.
    ProcessedWithoutReply,
    /// No acknowledgement after all retransmissions.
    RequestRtxExceeded,
    /// The target stopped waiting for the handler, which may have had effects.
    HandlerTimeExceeded,
    /// The handler has not run and never will.
    NotRun,
    /// Nobody can ever know whether the handler ran.
    Indeterminate,
    /// The request is in the target's log.
    RequestReceived,
    /// The target has acknowledged, and the handler has not started.
    ReplyNotSent,
    /// The handler has started.
    HandlerStarted,
    /// The reply is logged and has been sent.
    ReplySent,
    /// The handler has run over its time.
    HandlerTimeout,
}

named!(
    Operation,
    NotProcessed => "NOT_PROCESSED",
    RequestSent => "REQUEST_SENT",
    RequestProcessing => "REQUEST_PROCESSING",
    Processed => "PROCESSED",
    ProcessedWithoutReply => "PROCESSED_WITHOUT_REPLY",
    RequestRtxExceeded => "REQUEST_RTX_EXCEEDED",
    HandlerTimeExceeded => "HANDLER_TIME_EXCEEDED",
    NotRun => "NOT_RUN",
    Indeterminate => "INDETERMINATE",
    RequestReceived => "REQUEST_RECVD",
    ReplyNotSent => "REPLY_NOT_SENT",
    HandlerStarted => "HANDLER_STARTED",
    ReplySent => "REPLY_SENT",
    HandlerTimeout => "HANDLER_TIMEOUT",
);

/// A state as an application sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status {
    /// The state of the acknowledgement or the reply.
    pub acknowledgement: Acknowledgement,
    /// The state of the operation.
    pub operation: Operation,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}, {}>", self.acknowledgement, self.operation)
    }
}

/// Gives an enumeration of states its codes in the log (the places in the list) and its [`Status`].
macro_rules! states {
    ($type:ident, $($variant:ident => $acknowledgement:ident, $operation:ident);+ $(;)?) => {
        impl $type {
            /// Every one, each at the place of its code.
            pub const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            /// The byte that stands for it in the log.
            pub fn code(self) -> u8 {
                self as u8
            }

            /// The state that a byte of the log stands for.
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.get(usize::from(code)).copied()
            }

            /// The state as `<acknowledgement, operation>`.
            pub fn status(self) -> Status {
                let (acknowledgement, operation) = match self {
                    $(Self::$variant => (Acknowledgement::$acknowledgement, Operation::$operation)),+
                };
                Status { acknowledgement, operation }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.status().fmt(f)
            }
        }
    };
}

/// A transaction as its initiator sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InitiatorState {
    /// Logged, and certainly never sent.
    NotProcessed,
    /// Sent, perhaps more than once.
    RequestSent,
    /// Acknowledged.
    RequestProcessing,
    /// The reply is here. Final.
    Processed,
    /// The handler has run, and its reply is gone: the target has freed it, or this end takes no message so long. Final.
    ReplyGone,
    /// The target has no such handler; nothing ran. Final.
    AckNotFound,
    /// No acknowledgement: unknown until the target answers the question what became of it.
    RequestRtxExceeded,
    /// Acknowledged, no reply: unknown until the target answers the question what became of it.
    ReplyRtxExceeded,
    /// The target stopped waiting for the handler. Final.
    HandlerTimeExceeded,
    /// The target has freed its record. Final: the initiator had said that it needs no answer.
    Stale,
    /// The handler has not run and never will. Final.
    NotRun,
    /// The target was killed between the start and the end of the handler, or the handler panicked, or the target has no log of
    /// that time. Final.
    Indeterminate,
    /// The application has read what became of it.
    Released,
}

states!(
    InitiatorState,
    NotProcessed => NotAcked, NotProcessed;
    RequestSent => NotAcked, RequestSent;
    RequestProcessing => Acked, RequestProcessing;
    Processed => Acked, Processed;
    ReplyGone => Acked, ProcessedWithoutReply;
    AckNotFound => AckNotFound, RequestSent;
    RequestRtxExceeded => NotAcked, RequestRtxExceeded;
    ReplyRtxExceeded => ReplyRtxExceeded, RequestSent;
    HandlerTimeExceeded => Acked, HandlerTimeExceeded;
    Stale => Stale, RequestSent;
    NotRun => NotAcked, NotRun;
    Indeterminate => NotAcked, Indeterminate;
    Released => NotAcked, NotProcessed;
);

impl InitiatorState {
    /// True if nothing can change it any more but its release.
    pub fn is_final(self) -> bool {
        !matches!(
            self,
            Self::NotProcessed | Self::RequestSent | Self::RequestProcessing
        ) && !self.is_unknown()
    }

    /// True if the target can still be asked what became of it.
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::RequestRtxExceeded | Self::ReplyRtxExceeded)
    }
}

/// A transaction as its target sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TargetState {
    /// Nothing is there yet, or not the whole request.
    NotProcessed,
    /// The request is whole and logged.
    RequestReceived,
    /// It has been acknowledged; the handler has not started. Not logged: after a restart it is `RequestReceived`.
    ReplyNotSent,
    /// The handler runs.
    Started,
    /// The handler has ended; its reply is logged.
    ReplySent,
    /// There is no such handler.
    ErrAck,
    /// The handler has run over its time.
    HandlerTimeout,
    /// A question was answered with "not run": it never will.
    Cancelled,
    /// The handler was cut off: it panicked, or its process was killed.
    Indeterminate,
}

states!(
    TargetState,
    NotProcessed => NotAcked, NotProcessed;
    RequestReceived => NotAcked, RequestReceived;
    ReplyNotSent => Acked, ReplyNotSent;
    Started => Acked, HandlerStarted;
    ReplySent => Acked, ReplySent;
    ErrAck => ErrAck, NotProcessed;
    HandlerTimeout => Acked, HandlerTimeout;
    Cancelled => ErrAck, NotRun;
    Indeterminate => Acked, Indeterminate;
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_as_in_the_paper() {
        let paper = [
            (InitiatorState::NotProcessed, "<NOT_ACKED, NOT_PROCESSED>"),
            (InitiatorState::RequestSent, "<NOT_ACKED, REQUEST_SENT>"),
            (
                InitiatorState::RequestProcessing,
                "<ACKED, REQUEST_PROCESSING>",
            ),
            (InitiatorState::Processed, "<ACKED, PROCESSED>"),
            (InitiatorState::AckNotFound, "<ACK_NOT_FOUND, REQUEST_SENT>"),
            (
                InitiatorState::RequestRtxExceeded,
                "<NOT_ACKED, REQUEST_RTX_EXCEEDED>",
            ),
            (
                InitiatorState::ReplyRtxExceeded,
                "<REPLY_RTX_EXCEEDED, REQUEST_SENT>",
            ),
            (
                InitiatorState::HandlerTimeExceeded,
                "<ACKED, HANDLER_TIME_EXCEEDED>",
            ),
        ];
        for (state, text) in paper {
            assert_eq!(state.to_string(), text);
        }
        assert_eq!(
            TargetState::RequestReceived.to_string(),
            "<NOT_ACKED, REQUEST_RECVD>"
        );
        assert_eq!(
            TargetState::ReplyNotSent.to_string(),
            "<ACKED, REPLY_NOT_SENT>"
        );
        assert_eq!(TargetState::ErrAck.to_string(), "<ERR_ACK, NOT_PROCESSED>");
    }

    #[test]
    fn a_code_of_the_log_stands_for_one_state() {
        for state in InitiatorState::ALL {
            assert_eq!(InitiatorState::from_code(state.code()), Some(state));
        }
        for state in TargetState::ALL {
            assert_eq!(TargetState::from_code(state.code()), Some(state));
        }
        assert_eq!(
            InitiatorState::from_code(InitiatorState::ALL.len() as u8),
            None
        );
        assert_eq!(TargetState::from_code(u8::MAX), None);
    }

    #[test]
    fn an_endpoint_is_known_by_the_hash_of_its_name() {
        // The start of `printf counter | sha256sum`.
        assert_eq!(EndpointId::of("counter").to_string(), "efe899c74558f20b");
    }
}

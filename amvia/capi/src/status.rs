//! The states of a transaction.

use std::ffi::{CString, c_char};
use std::sync::LazyLock;

use jitterlab_amvia::transaction::{Acknowledgement, InitiatorState, Operation, Status};

/// The first part of a state: what is known of the acknowledgement, or of the reply.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AM_Acknowledgement {
    /// No acknowledgement yet.
    AM_NOT_ACKED = 0,
    /// The target has the request, and knows its handler.
    AM_ACKED = 1,
    /// The target has no such handler.
    AM_ACK_NOT_FOUND = 2,
    /// A negative acknowledgement was sent (at the target).
    AM_ERR_ACK = 3,
    /// Acknowledged, and then no reply after all retransmissions.
    AM_REPLY_RTX_EXCEEDED = 4,
    /// The target has freed its record.
    AM_STALE = 5,
}

/// The second part of a state: what is known of the operation.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AM_Operation {
    /// Nothing has been sent.
    AM_NOT_PROCESSED = 0,
    /// The request has been sent.
    AM_REQUEST_SENT = 1,
    /// The target works on it.
    AM_REQUEST_PROCESSING = 2,
    /// The handler has run once, and its reply is here.
    AM_PROCESSED = 3,
    /// The handler has run once, and its reply is gone.
    AM_PROCESSED_WITHOUT_REPLY = 4,
    /// No acknowledgement after all retransmissions.
    AM_REQUEST_RTX_EXCEEDED = 5,
    /// The target stopped waiting for the handler, which may have had effects.
    AM_HANDLER_TIME_EXCEEDED = 6,
    /// The handler has not run and never will.
    AM_NOT_RUN = 7,
    /// Nobody can ever know whether the handler ran.
    AM_INDETERMINATE = 8,
    /// The request is in the target's log (at the target).
    AM_REQUEST_RECVD = 9,
    /// The target has acknowledged, and the handler has not started (at the target).
    AM_REPLY_NOT_SENT = 10,
    /// The handler has started (at the target).
    AM_HANDLER_STARTED = 11,
    /// The reply is logged and has been sent (at the target).
    AM_REPLY_SENT = 12,
    /// The handler has run over its time (at the target).
    AM_HANDLER_TIMEOUT = 13,
}

/// The state of a transaction: <acknowledgement, operation>.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Status {
    /// The state of the acknowledgement or the reply.
    pub acknowledgement: AM_Acknowledgement,
    /// The state of the operation.
    pub operation: AM_Operation,
    /// Nothing can change it any more but its release.
    pub is_final: bool,
    /// Its target can be asked what became of it: AMVIA_Ask().
    pub is_unknown: bool,
    /// As text, "<ACKED, PROCESSED>": for ever there.
    pub text: *const c_char,
}

/// The texts of the states, by their codes.
static TEXTS: LazyLock<Vec<CString>> = LazyLock::new(|| {
    let texts = InitiatorState::ALL.iter().map(ToString::to_string);
    texts
        .map(|text| CString::new(text).unwrap_or_default())
        .collect()
});

impl From<InitiatorState> for AM_Status {
    fn from(state: InitiatorState) -> Self {
        let Status {
            acknowledgement,
            operation,
        } = state.status();
        let text = TEXTS.get(usize::from(state.code()));
        AM_Status {
            acknowledgement: acknowledgement.into(),
            operation: operation.into(),
            is_final: state.is_final(),
            is_unknown: state.is_unknown(),
            text: text.map_or(c"".as_ptr(), |text| text.as_ptr()),
        }
    }
}

impl From<Acknowledgement> for AM_Acknowledgement {
    fn from(known: Acknowledgement) -> Self {
        match known {
            Acknowledgement::NotAcked => Self::AM_NOT_ACKED,
            Acknowledgement::Acked => Self::AM_ACKED,
            Acknowledgement::AckNotFound => Self::AM_ACK_NOT_FOUND,
            Acknowledgement::ErrAck => Self::AM_ERR_ACK,
            Acknowledgement::ReplyRtxExceeded => Self::AM_REPLY_RTX_EXCEEDED,
            Acknowledgement::Stale => Self::AM_STALE,
        }
    }
}

impl From<Operation> for AM_Operation {
    fn from(known: Operation) -> Self {
        match known {
            Operation::NotProcessed => Self::AM_NOT_PROCESSED,
            Operation::RequestSent => Self::AM_REQUEST_SENT,
            Operation::RequestProcessing => Self::AM_REQUEST_PROCESSING,
            Operation::Processed => Self::AM_PROCESSED,
            Operation::ProcessedWithoutReply => Self::AM_PROCESSED_WITHOUT_REPLY,
            Operation::RequestRtxExceeded => Self::AM_REQUEST_RTX_EXCEEDED,
            Operation::HandlerTimeExceeded => Self::AM_HANDLER_TIME_EXCEEDED,
            Operation::NotRun => Self::AM_NOT_RUN,
            Operation::Indeterminate => Self::AM_INDETERMINATE,
            Operation::RequestReceived => Self::AM_REQUEST_RECVD,
            Operation::ReplyNotSent => Self::AM_REPLY_NOT_SENT,
            Operation::HandlerStarted => Self::AM_HANDLER_STARTED,
            Operation::ReplySent => Self::AM_REPLY_SENT,
            Operation::HandlerTimeout => Self::AM_HANDLER_TIMEOUT,
        }
    }
}

//! Why an endpoint cannot do something.

use thiserror::Error;

use crate::log::{LogError, Place};
use crate::names::NameError;
use crate::protocol::{ConfigError, RecoverError, RequestError, SlotError};
use crate::transaction::EndpointId;
use crate::transport::{Address, TransportError};
use crate::wire::Refusal;

/// The process is a child of the one that made the bundle.
pub(super) struct Forked;

impl From<Forked> for EndpointError {
    fn from(_: Forked) -> Self {
        EndpointError::Forked
    }
}

/// Why an endpoint cannot do something.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// The process is a child of the one that made the bundle.
    #[error("a child of fork cannot use its parent's endpoints; make a new bundle in the child")]
    Forked,
    /// The endpoint was closed.
    #[error("the endpoint is closed")]
    Closed,
    /// A name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The options contradict themselves.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A log was named that would hold nothing, or none where one is needed.
    #[error("{0}")]
    Durability(&'static str),
    /// No more peers fit in.
    #[error(
        "this endpoint has {0} peers, the most that it can hold: make it with a larger `peers`"
    )]
    Full(usize),
    /// A slot of the log cannot be read.
    #[error(
        "the log is damaged at {0:?}: set it aside to begin a new one; what it held is then unknown for good"
    )]
    Torn(Place),
    /// The records of the log contradict one another.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// No connection has been asked for.
    #[error("endpoint {0} is not connected: connect to it first")]
    NotConnected(EndpointId),
    /// The peer does not answer.
    #[error("{address} does not answer")]
    NoAnswer {
        /// Its address.
        address: Address,
    },
    /// The peer refuses the connection.
    #[error("{address} refuses: {refusal}")]
    Refused {
        /// Its address.
        address: Address,
        /// The reason.
        refusal: Refusal,
    },
    /// The request is not made.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The transaction was released, or is of another endpoint.
    #[error("the transaction was released already, or belongs to another endpoint")]
    Released,
    /// The transaction is in another state than the call is for.
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// Blocked in a handler: nothing that it waits for can happen.
    #[error(
        "a handler cannot block on its own bundle. Make the request with Credit::Refuse, which does not wait"
    )]
    InHandler,
    /// The transport.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The system.
    #[error("cannot {action}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

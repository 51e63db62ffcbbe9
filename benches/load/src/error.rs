use std::net::SocketAddr;

use jitterlab_base::input::OfInput;
use thiserror::Error as ThisError;

/// Why there is no load.
#[derive(Debug, ThisError)]
pub enum Error {
    /// Nobody is there to take it.
    #[error("no sink answers at {address}; start `jitterlab load serve --bind {address}` there")]
    NoSink {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The program that listens there is something else.
    #[error("the program at {address} is not `jitterlab load serve` of this version: {said}")]
    StrangeSink {
        /// The address.
        address: SocketAddr,
        /// The words that it said, shortened, or what it did instead.
        said: String,
    },
    /// The sink was there and is gone.
    #[error("the sink at {address} stopped answering")]
    SinkGone {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The sink cannot take it.
    #[error("the sink at {address} takes no load over verbs: {reason}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The reason, in the sink's words.
        reason: String,
    },
    /// This end cannot send over verbs.
    #[error(transparent)]
    Verbs(#[from] jitterlab_verbs::Error),
    /// Nothing arrived when the bandwidth was measured.
    #[error("the sink at {address} received no message while the bandwidth was measured")]
    NoBandwidth {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}

impl OfInput for Error {
    fn is_of_input(&self) -> bool {
        matches!(self, Error::Verbs(error) if error.is_of_input())
    }
}

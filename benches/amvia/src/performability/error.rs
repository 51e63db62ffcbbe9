//! Why something could not be measured.

use jitterlab_amvia::endpoint::EndpointError;
use jitterlab_amvia::transport::{AddressError, TransportError};
use jitterlab_base::input::OfInput;
use thiserror::Error;

/// Why something could not be measured, or computed.
#[derive(Debug, Error)]
pub enum PerformabilityError {
    /// An endpoint refuses.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A transport cannot be had, or is broken.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Active messages do not go over the transport, or delays that are to be injected cannot be had.
    #[error(transparent)]
    Suite(#[from] crate::Error),
    /// The CPU of a thread cannot be had.
    #[error(transparent)]
    Cpu(#[from] jitterlab_node_tuning::noise::Error),
    /// No name in shared memory.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The model has no answer.
    #[error("the model has no answer")]
    Model(#[from] jitterlab_stats::Error),
    /// The system refuses.
    #[error("cannot {action}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The kernel gives no time stamps.
    #[error("the kernel gave no time stamp with a datagram")]
    NoStamps,
    /// The server has ended before its client.
    #[error("the server ended in the middle of a measurement")]
    ServerEnded,
}

impl OfInput for PerformabilityError {
    fn is_of_input(&self) -> bool {
        match self {
            PerformabilityError::Suite(error) => error.is_of_input(),
            PerformabilityError::Cpu(_) => true,
            _ => false,
        }
    }
}

use jitterlab_amvia::endpoint::EndpointError;
use jitterlab_amvia::transaction::Status;
use jitterlab_amvia::transport::{Address, TransportError};
use jitterlab_base::input::OfInput;
use jitterlab_base::page::PageError;
use jitterlab_base::units::UnitError;
use jitterlab_packet::transport::Transport;
use thiserror::Error as ThisError;

/// Why a case could not be measured.
#[derive(Debug, ThisError)]
pub enum Error {
    /// Active messages do not go over this transport.
    #[error("active messages go over udp, shm or verbs, not over {0}")]
    Transport(Transport),
    /// The server is elsewhere.
    #[error("{address} cannot be reached over {transport}")]
    Foreign {
        /// The address.
        address: Address,
        /// The transport.
        transport: Transport,
    },
    /// The transport cannot be had.
    #[error(transparent)]
    Carrier(#[from] TransportError),
    /// The endpoint cannot be made, or is broken.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A transaction has not come to its end.
    #[error("after {done} transactions one ended as {status}; is the server still there?")]
    Ended {
        /// Transactions before, those of the warm-up included.
        done: u64,
        /// Its status.
        status: Status,
    },
    /// A message is too long.
    #[error("a message has at most {most} bytes, not {size}")]
    Size {
        /// The size asked for, in bytes.
        size: u64,
        /// The most.
        most: u64,
    },
    /// A delay is none that can be injected.
    #[error(transparent)]
    Delay(#[from] UnitError),
    /// Delays are to be injected into this process, and it has nowhere to take them from.
    #[error("the delays that are to be injected cannot be read")]
    NoDelays(#[from] PageError),
    /// There is no memory for delays.
    #[error("no memory for the delays that are to be injected")]
    Memory {
        /// The system's error.
        source: std::io::Error,
    },
    /// The bursts do not show what the window hides.
    #[error(
        "give a burst of at most {window} messages (the window) and two bursts of at least {long} messages"
    )]
    Bursts {
        /// Maximum number of transactions under way.
        window: u64,
        /// Messages of a long burst.
        long: u64,
    },
    /// Too few blocks were without loss.
    #[error(
        "{blocks} blocks do not count, because requests were sent again: the network loses frames, or an end polls too late; measure on a quieter machine, or with a longer --min-rto"
    )]
    SentAgain {
        /// Blocks that do not count.
        blocks: u64,
    },
    /// Nothing was measured.
    #[error("no transaction was measured; measure for longer")]
    NoSamples,
}

impl OfInput for Error {
    fn is_of_input(&self) -> bool {
        match self {
            Error::Transport(_)
            | Error::Foreign { .. }
            | Error::Size { .. }
            | Error::Delay(_)
            | Error::Bursts { .. } => true,
            Error::Endpoint(error) => matches!(error, EndpointError::Config(_)),
            Error::Carrier(_)
            | Error::Ended { .. }
            | Error::NoDelays(_)
            | Error::Memory { .. }
            | Error::SentAgain { .. }
            | Error::NoSamples => false,
        }
    }
}

use std::net::SocketAddr;

use jitterlab_injector::units::Nanos;
use thiserror::Error as ThisError;

use crate::transport::Transport;

/// Why a case could not be measured.
#[derive(Debug, ThisError)]
pub enum Error {
    /// Nobody answers.
    #[error(
        "no peer answers at {address} over {transport}; start `jitterlab packet serve --transport {transport} --bind {address}` there"
    )]
    NoPeer {
        /// Where.
        address: SocketAddr,
        /// Over what.
        transport: Transport,
        /// What the system said.
        source: std::io::Error,
    },
    /// The other end is something else.
    #[error("the peer at {address} is not `jitterlab packet serve` of this version")]
    StrangePeer {
        /// Where.
        address: SocketAddr,
    },
    /// The other end has a client.
    #[error("the peer at {address} serves another client; it takes one at a time over tcp")]
    BusyPeer {
        /// Where.
        address: SocketAddr,
    },
    /// The peer was there and is gone.
    #[error("the peer stopped answering after {answered} messages")]
    PeerGone {
        /// Messages that it had answered, those of the warm-up included.
        answered: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// No answer came for long.
    #[error("the peer has been silent for {time}, after {answered} answers")]
    Silence {
        /// For how long.
        time: Nanos,
        /// Messages that had been answered, those of the warm-up included.
        answered: u64,
    },
    /// The size cannot be sent over this transport.
    #[error("{transport} carries messages of {least} to {most} bytes in this case, not {size}")]
    Size {
        /// Over what.
        transport: Transport,
        /// The size asked for, in bytes.
        size: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The run was too short for its length or its losses.
    #[error("no message was answered in the time given")]
    NoSamples,
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
}

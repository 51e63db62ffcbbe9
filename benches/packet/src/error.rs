use std::net::SocketAddr;

use jitterlab_base::input::OfInput;
use jitterlab_base::units::Nanos;
use thiserror::Error as ThisError;

use crate::transport::{Operation, Transport};

/// Why a case could not be measured.
#[derive(Debug, ThisError)]
pub enum Error {
    /// Nobody answers.
    #[error(
        "no peer answers at {address} over {transport}; start `jitterlab packet serve --transport {transport} --bind {address}` there"
    )]
    NoPeer {
        /// The address.
        address: SocketAddr,
        /// The transport.
        transport: Transport,
        /// The system's error.
        source: std::io::Error,
    },
    /// The other end is something else.
    #[error("the peer at {address} is not `jitterlab packet serve` of this version")]
    StrangePeer {
        /// The address.
        address: SocketAddr,
    },
    /// The other end has a client.
    #[error(
        "the peer at {address} does not answer: either it serves another client now, or it is not `jitterlab packet serve`"
    )]
    BusyPeer {
        /// The address.
        address: SocketAddr,
    },
    /// The peer was there and is gone.
    #[error("the peer stopped answering after {answered} messages")]
    PeerGone {
        /// Messages that it had answered, those of the warm-up included.
        answered: u64,
        /// The system's error.
        source: std::io::Error,
    },
    /// One of several is the one that fails.
    #[error("the slave at {address} failed")]
    Slave {
        /// The address.
        address: SocketAddr,
        /// The error.
        source: Box<Error>,
    },
    /// No answer came in time for long.
    #[error("{} for {time}. Before that, the peer answered {answered} messages{}", silence(*late), remedy(*late))]
    Silence {
        /// The time without an answer.
        time: Nanos,
        /// Messages that had been answered, those of the warm-up included.
        answered: u64,
        /// Answers that came meanwhile, after their time.
        late: u64,
    },
    /// The size cannot be sent over this transport.
    #[error("{transport} carries messages of {least} to {most} bytes in this case, not {size}")]
    Size {
        /// The transport.
        transport: Transport,
        /// The size asked for, in bytes.
        size: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A receiver that waits for an RDMA write is not woken by anything.
    #[error(
        "the operation `write` needs `--wait poll`, because nothing wakes a receiver that sleeps; or use the operation `write-imm` or `send`"
    )]
    BlockingWrite,
    /// A receiver that waits for a message in shared memory is not woken by anything.
    #[error("shared memory needs `--wait poll`, because nothing wakes a receiver that sleeps")]
    BlockingMemory,
    /// Shared memory cannot be had, or is not shared with the other end.
    #[error(transparent)]
    Memory(#[from] jitterlab_base::page::PageError),
    /// Nobody sleeps while a stream goes on.
    #[error("bandwidth over verbs needs `--wait poll`")]
    BlockingStream,
    /// A datagram lies where there is room for it.
    #[error("buffer-reuse does not work with the service ud; use rc")]
    DatagramBuffers,
    /// They would take too much.
    #[error("the buffers would take {memory} bytes; at most 1 GiB is allowed")]
    Buffers {
        /// Bytes that they would take.
        memory: u64,
    },
    /// The service knows no such operation.
    #[error("the service ud carries the operation `send` only, not `{0}`")]
    Datagram(Operation),
    /// The device does not take so long a message inline.
    #[error("{device} does not take messages of {wanted} bytes inline; say `--inline auto`")]
    Inline {
        /// The device.
        device: String,
        /// The size of a message, in bytes.
        wanted: usize,
    },
    /// The other end does not do it.
    #[error("the peer at {address} refuses: {reason}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The reason, in its words.
        reason: String,
    },
    /// This end cannot do it.
    #[error(transparent)]
    Verbs(#[from] jitterlab_verbs::Error),
    /// The run was too short for its length or its losses.
    #[error("no message was answered in the time given")]
    NoSamples,
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The sentence about a peer without an answer in time.
fn silence(late: u64) -> &'static str {
    match late {
        0 => "the peer has been silent",
        _ => "no answer came in time",
    }
}

/// The remedy.
fn remedy(late: u64) -> String {
    match late {
        0 => String::new(),
        1 => ". 1 answer came too late: a longer --timeout would count it".into(),
        _ => format!(". {late} answers came too late: a longer --timeout would count them"),
    }
}

impl OfInput for Error {
    fn is_of_input(&self) -> bool {
        match self {
            Error::Verbs(error) => error.is_of_input(),
            Error::Size { .. }
            | Error::BlockingWrite
            | Error::BlockingMemory
            | Error::BlockingStream
            | Error::Datagram(_)
            | Error::DatagramBuffers
            | Error::Buffers { .. }
            | Error::Inline { .. } => true,
            _ => false,
        }
    }
}

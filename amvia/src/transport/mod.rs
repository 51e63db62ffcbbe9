//! Transports: what carries frames between endpoints. A frame may be lost, late, doubled or out of order; it arrives whole or
//! not at all. What a frame says is nothing to a transport.

mod address;
mod faults;
mod shm;
mod udp;
mod verbs;
mod waiting;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::time::Duration;

use jitterlab_base::page::PageError;
use thiserror::Error;

pub use address::{Address, AddressError, ShmName};
pub use faults::{FaultCounts, FaultReader, Faults, FaultsError, Faulty};
pub use shm::Shm;
pub use udp::Udp;
pub use verbs::Verbs;

/// One endpoint's access to a network. It belongs to one thread at a time, and may be handed to another.
///
/// In steady state no call allocates, and none makes more than one system call that moves data.
pub trait Transport: Send {
    /// The address by which others reach it.
    fn address(&self) -> Address;

    /// The longest frame, head and payload together, in bytes.
    fn mtu(&self) -> usize;

    /// True if no damaged frame comes through: one without a checksum is taken.
    fn is_sound(&self) -> bool;

    /// True if frames that are sent need a checksum.
    fn needs_checksum(&self) -> bool {
        !self.is_sound()
    }

    /// The peer at an address, to be sent to. It need not be there yet.
    ///
    /// # Errors
    /// The address is of another transport, or the system refuses what is needed to reach it.
    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError>;

    /// Says whether a peer of the endpoint is there. A transport that keeps memory for each place frees that of others when they
    /// become too many.
    fn know(&mut self, place: Peer, is_known: bool);

    /// Sends one frame, which is `head` followed by `payload`. Both may be used again after the call.
    ///
    /// # Errors
    /// The frame is longer than the MTU; or the transport is broken, for this peer and all others.
    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError>;

    /// The next frame that has arrived. Does not wait.
    ///
    /// # Errors
    /// The transport is broken.
    fn receive(&mut self) -> Result<Option<Arrived>, TransportError>;

    /// Takes back the memory of a frame, for frames to come. Order does not matter, and a frame may be kept as long as its
    /// reader likes. Memory that is dropped and not given back is replaced by new memory.
    fn recycle(&mut self, frame: Landed);

    /// Waits until a frame may have arrived, or until `at_most` is over.
    ///
    /// # Errors
    /// The transport is broken.
    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError>;
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn address(&self) -> Address {
        (**self).address()
    }

    fn mtu(&self) -> usize {
        (**self).mtu()
    }

    fn is_sound(&self) -> bool {
        (**self).is_sound()
    }

    fn needs_checksum(&self) -> bool {
        (**self).needs_checksum()
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        (**self).peer(address)
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        (**self).know(place, is_known);
    }

    #[inline]
    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        (**self).send(to, head, payload)
    }

    #[inline]
    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        (**self).receive()
    }

    fn recycle(&mut self, frame: Landed) {
        (**self).recycle(frame);
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        (**self).wait(at_most)
    }
}

/// A peer, as one transport knows it. It means nothing to another transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer(Known);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Known {
    /// Datagrams need no state of a peer, so that a flood of forged ones makes none.
    Socket(SocketAddr),
    /// A place in a list of peers.
    Listed(u32),
}

/// The fate of a frame that was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    Sent,
    /// It was not taken: there is no room now.
    Full,
    /// It was not taken: nobody is reached at the address now.
    Away,
}

/// A frame that has arrived.
#[derive(Debug)]
pub struct Arrived {
    /// The peer that an answer would go to.
    pub from: Peer,
    /// The frame.
    pub frame: Landed,
}

/// The bytes of a frame, where the transport put them.
pub struct Landed(Memory);

enum Memory {
    /// The beginning of a buffer.
    Buffer(Box<[u8]>, usize),
    /// A part of a ring, which is given back when it is dropped.
    Ring(shm::Frame),
    /// A part of the memory of an RDMA connection, given back in the same way.
    Registered(jitterlab_verbs::Received),
}

impl Deref for Landed {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Buffer(buffer, length) => &buffer[..*length],
            Memory::Ring(frame) => frame,
            Memory::Registered(frame) => frame,
        }
    }
}

impl fmt::Debug for Landed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Landed({} bytes)", self.len())
    }
}

/// Why a transport cannot do something.
#[derive(Debug, Error)]
pub enum TransportError {
    /// The address is of another transport.
    #[error("{address} cannot be reached from {own}: they are addresses of two transports")]
    Foreign {
        /// The address.
        address: Address,
        /// The address of this end.
        own: Address,
    },
    /// The frame is longer than the MTU.
    #[error("the frame has {length} bytes; {mtu} are the most that one may have")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The MTU in bytes.
        mtu: usize,
    },
    /// The MTU is none for this transport.
    #[error("a frame over {transport} has {least} to {most} bytes, and cannot have {mtu}")]
    Mtu {
        /// The transport.
        transport: &'static str,
        /// The MTU that was asked for, in bytes.
        mtu: usize,
        /// The least, in bytes.
        least: usize,
        /// The greatest, in bytes.
        most: usize,
    },
    /// It has as many peers as it can have.
    #[error("{address} has {most} peers, the most that it can have")]
    Crowded {
        /// The address of this end.
        address: Address,
        /// The most.
        most: usize,
    },
    /// Another endpoint has the name.
    #[error("shm://{name} is taken by process {process}; end that or take another name")]
    Taken {
        /// The name.
        name: ShmName,
        /// Its number here, or `?` where it has none here.
        process: String,
    },
    /// Shared memory cannot be had.
    #[error(transparent)]
    Page(#[from] PageError),
    /// No RDMA device can be used.
    #[error(transparent)]
    Verbs(#[from] jitterlab_verbs::Error),
    /// The system refused.
    #[error("cannot {action} {address}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The address of this end.
        address: Address,
        /// The system's error.
        source: io::Error,
    },
}

//! The transports of background load.

use std::ops::RangeInclusive;

use jitterlab_base::named;
use jitterlab_base::units::Bytes;

/// The bytes of a message's number, over verbs.
pub(crate) const NUMBER: usize = 8;

/// A transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams of the kernel's sockets: what the network cannot carry is lost.
    Udp,
    /// A stream of the kernel's sockets: what the network cannot carry waits.
    Tcp,
    /// Writes into the memory of the other end, which an RDMA device makes: what the network cannot carry waits.
    Verbs,
    /// Messages between ranks: the load of `jitterlab-mpi`.
    Mpi,
}

named!(Transport, serde, "a transport of load", Udp => "udp", Tcp => "tcp", Verbs => "verbs", Mpi => "mpi");

impl Transport {
    /// The size of a message, if nothing is said.
    pub const fn message(self) -> Bytes {
        match self {
            Transport::Udp | Transport::Tcp => Bytes(1400),
            // The longest packet that there is.
            Transport::Verbs => Bytes(4 << 10),
            Transport::Mpi => Bytes(64 << 10),
        }
    }

    /// The least and the greatest message, in bytes.
    pub fn sizes(self) -> RangeInclusive<u64> {
        match self {
            // Room for what a message is counted by; up to the largest datagram of IPv4.
            Transport::Udp => 8..=65_507,
            Transport::Tcp => 1..=1 << 24,
            // Each message that is under way lies in memory that the device has locked.
            Transport::Verbs => NUMBER as u64..=1 << 20,
            Transport::Mpi => 1..=i32::MAX as u64,
        }
    }

    /// The same, if it goes between a sender and a sink.
    pub fn network(self) -> Option<Network> {
        match self {
            Transport::Udp => Some(Network::Udp),
            Transport::Tcp => Some(Network::Tcp),
            Transport::Verbs => Some(Network::Verbs),
            Transport::Mpi => None,
        }
    }
}

/// A network between a sender and a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// [`Transport::Udp`].
    Udp,
    /// [`Transport::Tcp`].
    Tcp,
    /// [`Transport::Verbs`].
    Verbs,
}

named!(Network, serde, Udp => "udp", Tcp => "tcp", Verbs => "verbs");

impl From<Network> for Transport {
    fn from(network: Network) -> Transport {
        match network {
            Network::Udp => Transport::Udp,
            Network::Tcp => Transport::Tcp,
            Network::Verbs => Transport::Verbs,
        }
    }
}

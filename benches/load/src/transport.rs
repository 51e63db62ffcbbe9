//! What the messages of background load go over.

use std::ops::RangeInclusive;

use jitterlab_base::named;
use jitterlab_base::units::Bytes;

/// The size of a message, if nothing is said.
pub const MESSAGE: Bytes = Bytes(1400);

/// What carries the messages: the kernel's sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams: what the network cannot carry is lost.
    Udp,
    /// A stream: what the network cannot carry waits.
    Tcp,
}

named!(Transport, serde, "a transport of load", Udp => "udp", Tcp => "tcp");

impl Transport {
    /// The least and the greatest message, in bytes.
    pub fn sizes(self) -> RangeInclusive<u64> {
        match self {
            // Room for what a message is counted by; up to the largest datagram of IPv4.
            Transport::Udp => 8..=65_507,
            Transport::Tcp => 1..=1 << 24,
        }
    }
}

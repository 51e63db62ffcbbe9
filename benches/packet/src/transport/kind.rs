//! The transports, and the ways to wait for a message.

use jitterlab_base::named;

/// A transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Datagrams: a message may be lost, late or doubled.
    Udp,
    /// A stream, with Nagle's algorithm off.
    Tcp,
    /// RDMA, or sends of an RDMA device.
    Verbs,
    /// Shared memory of two processes of one user on one machine.
    Shm,
}

impl Transport {
    /// Those that every machine has: the kernel's sockets.
    pub const SOCKETS: [Transport; 2] = [Transport::Udp, Transport::Tcp];

    /// The least and the greatest message, in bytes.
    pub fn sizes(self) -> std::ops::RangeInclusive<u64> {
        match self {
            // Room for a sequence number, without which a late answer would pass for the next
            // one; up to the largest datagram of IPv4.
            Transport::Udp => 8..=65_507,
            Transport::Tcp | Transport::Verbs => 1..=1 << 24,
            // A ring has room for several.
            Transport::Shm => 1..=1 << 16,
        }
    }

    /// The way that messages are waited for where nothing else is said.
    pub fn usual_wait(self) -> Wait {
        match self {
            Transport::Udp | Transport::Tcp => Wait::Block,
            Transport::Verbs | Transport::Shm => Wait::Poll,
        }
    }
}

named!(Transport, serde, "a transport", Udp => "udp", Tcp => "tcp", Verbs => "verbs", Shm => "shm");

/// The way that the arrival of a message is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wait {
    /// The kernel waits, and wakes the process: the CPU is free meanwhile.
    #[default]
    Block,
    /// Asks again and again: the CPU is held, and no wake-up is paid for.
    Poll,
}

named!(Wait, serde, "a way to wait", Block => "block", Poll => "poll");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for transport in Transport::ALL {
            assert_eq!(transport.name().parse(), Ok(transport));
        }
        assert!("UDP".parse::<Transport>().is_err());
        assert!("spin".parse::<Wait>().is_err());
    }
}

//! The protocols that are measured.

use jitterlab_amvia::protocol::{self, Config};
use jitterlab_base::named;

/// A protocol; AMVIA in both its forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Request, acknowledgement, reply.
    Amvia,
    /// The same protocol with the acknowledgement on the reply.
    AmviaRiding,
    /// Request, reply, acknowledgement of the reply.
    Amudp,
    /// Request, reply.
    TwoWay,
}

named!(
    Protocol, serde, "a protocol of active messages",
    Amvia => "amvia",
    AmviaRiding => "amvia-riding",
    Amudp => "amudp",
    TwoWay => "two-way",
);

impl Protocol {
    /// The protocol of the library.
    pub fn of_library(self) -> protocol::Protocol {
        match self {
            Protocol::Amvia | Protocol::AmviaRiding => protocol::Protocol::Amvia,
            Protocol::Amudp => protocol::Protocol::Amudp,
            Protocol::TwoWay => protocol::Protocol::TwoWay,
        }
    }

    /// The time that the target's acknowledgement waits to ride on its reply, in nanoseconds ([`Config::ack_delay`]). A
    /// handler of this suite is done long before.
    pub fn ack_delay(self) -> u64 {
        match self {
            Protocol::AmviaRiding => 1_000_000,
            _ => Config::default().ack_delay,
        }
    }
}

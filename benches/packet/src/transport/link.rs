//! What a case is measured over: a transport, and what there is to say about it.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

use jitterlab_base::named;
use jitterlab_verbs::{Adapter, Mtu, Service};
use serde::{Deserialize, Serialize};

use super::end::{Transport, Wait};
use super::ledger::NOTE;
use super::plan::{Buffers, Plan, Role};
use super::slots::stride;
use crate::Error;

/// The most memory for the messages of one direction, in bytes.
const MOST_MEMORY: u64 = 1 << 30;

/// What a case is measured over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// RDMA.
    Verbs(Verbs, Adapter),
}

/// How messages go over verbs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Verbs {
    /// What carries a message.
    pub operation: Operation,
    /// What the network promises.
    pub service: Service,
    /// Where the device takes a message from.
    pub inline: Inline,
}

/// The operation that carries a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// RDMA write: it appears in the other end's memory, which polls it.
    #[default]
    Write,
    /// RDMA write with immediate data: it appears there, and completes a receive.
    WriteImm,
    /// Send: it goes to where a receive says.
    Send,
}

/// Whether a message is put into the work request itself, so that the device need not fetch it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Inline {
    /// Where it is short, and the device can.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The path that was measured, of this end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// The device.
    pub device: String,
    /// Its port.
    pub port: u8,
    /// The entry of the GID table that it sends from; none where LIDs address.
    #[serde(deserialize_with = "Option::deserialize")]
    pub gid_index: Option<u8>,
    /// What carried a message.
    pub operation: Operation,
    /// What the network promised.
    pub service: Service,
    /// Whether messages were in the work requests themselves.
    pub inline: bool,
    /// The longest packet, in bytes.
    pub mtu: u16,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inline = if self.inline { "inline" } else { "not inline" };
        let Path {
            operation, service, ..
        } = self;
        write!(f, "{operation}, {service}, {inline}, {}", self.device)
    }
}

impl Link {
    /// Over a transport, as it goes when nothing is said about it.
    pub fn of(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Link::Udp,
            Transport::Tcp => Link::Tcp,
            Transport::Verbs => Link::Verbs(Verbs::default(), Adapter::default()),
        }
    }

    /// The transport.
    pub fn transport(&self) -> Transport {
        match self {
            Link::Udp => Transport::Udp,
            Link::Tcp => Transport::Tcp,
            Link::Verbs(..) => Transport::Verbs,
        }
    }

    /// Whether every message arrives, once and in order, or the connection breaks.
    pub fn is_reliable(&self) -> bool {
        match self {
            Link::Udp => false,
            Link::Tcp => true,
            Link::Verbs(how, _) => how.service == Service::Rc,
        }
    }

    /// The least and the greatest message, in bytes. The ports may carry less.
    pub fn sizes(&self) -> RangeInclusive<u64> {
        match self {
            // Room for a number, as over UDP; and one packet.
            Link::Verbs(how, _) if how.service == Service::Ud => 8..=u64::from(Mtu::MOST.bytes()),
            _ => self.transport().sizes(),
        }
    }

    /// Whether the suite measures over it a ping-pong of messages of `size` bytes that are waited for in this
    /// way.
    ///
    /// # Errors
    /// It does not, and why.
    pub fn check(&self, size: u64, wait: Wait) -> Result<(), Error> {
        self.check_plan(&Plan::ping_pong(size, wait))
    }

    /// Whether the suite does over it what is planned.
    ///
    /// # Errors
    /// It does not, and why.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), Error> {
        if let Link::Verbs(how, _) = self {
            if how.service == Service::Ud && how.operation != Operation::Send {
                return Err(Error::Datagram(how.operation));
            }
            if plan.wait == Wait::Block {
                match (plan.window(), how.operation) {
                    (Some(_), _) => return Err(Error::BlockingStream),
                    (None, Operation::Write) => return Err(Error::BlockingWrite),
                    (None, _) => {}
                }
            }
            if how.service == Service::Ud && plan.buffers != Buffers::Fifo(1) {
                return Err(Error::DatagramBuffers);
            }
        }
        let (mut least, most) = self.sizes().into_inner();
        if matches!(plan.role, Role::Both { .. }) {
            // Among them are notes, from which they are told by their number.
            least = least.max(NOTE as u64);
        }
        if let Some(size) = [plan.size, plan.answer]
            .into_iter()
            .find(|size| !(least..=most).contains(size))
        {
            return Err(Error::Size {
                transport: self.transport(),
                size,
                least,
                most,
            });
        }
        let longest = plan.size.max(plan.answer) as usize;
        let memory = (stride(longest, plan.buffers) as u64) * plan.buffers.count() as u64;
        if memory > MOST_MEMORY {
            return Err(Error::Buffers { memory });
        }
        Ok(())
    }
}

/// Why there is no connection.
pub(super) fn no_connection(
    transport: Transport,
    address: SocketAddr,
    source: std::io::Error,
) -> Error {
    match source.kind() {
        std::io::ErrorKind::InvalidData => Error::StrangePeer { address },
        std::io::ErrorKind::ResourceBusy => Error::BusyPeer { address },
        _ => Error::NoPeer {
            address,
            transport,
            source,
        },
    }
}

named!(
    Operation, serde, "an operation",
    Write => "write", WriteImm => "write-imm", Send => "send"
);
named!(Inline, serde, "a choice", Auto => "auto", On => "on", Off => "off");

#[cfg(test)]
mod tests {
    use super::*;

    fn verbs(operation: Operation, service: Service) -> Link {
        let how = Verbs {
            operation,
            service,
            inline: Inline::Auto,
        };
        Link::Verbs(how, Adapter::default())
    }

    #[test]
    fn names_are_read_back() {
        for operation in Operation::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
        for inline in Inline::ALL {
            assert_eq!(inline.name().parse(), Ok(inline));
        }
        for wrong in ["", "WRITE", "write_imm"] {
            assert!(wrong.parse::<Operation>().is_err());
        }
    }

    #[test]
    fn only_what_is_reliable_is_called_so() {
        assert!(!Link::Udp.is_reliable() && Link::Tcp.is_reliable());
        assert!(verbs(Operation::Write, Service::Rc).is_reliable());
        assert!(!verbs(Operation::Send, Service::Ud).is_reliable());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let check = |operation, service, size, wait| verbs(operation, service).check(size, wait);
        for &operation in &[Operation::WriteImm, Operation::Send] {
            for wait in [Wait::Block, Wait::Poll] {
                check(operation, Service::Rc, 1 << 24, wait).unwrap();
            }
        }
        check(Operation::Write, Service::Rc, 1, Wait::Poll).unwrap();
        let error = check(Operation::Write, Service::Rc, 64, Wait::Block).unwrap_err();
        assert!(matches!(error, Error::BlockingWrite), "{error:?}");
        let error = check(Operation::WriteImm, Service::Ud, 64, Wait::Poll).unwrap_err();
        assert!(
            matches!(error, Error::Datagram(Operation::WriteImm)),
            "{error:?}"
        );
        for size in [7, 4097] {
            let error = check(Operation::Send, Service::Ud, size, Wait::Poll).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Size {
                        least: 8,
                        most: 4096,
                        ..
                    }
                ),
                "{error:?}"
            );
        }
    }
}

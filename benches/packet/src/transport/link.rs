//! The links that a case is measured over: a transport, and what there is to say about it.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use jitterlab_verbs::{Adapter, Mtu, Service};

use super::kind::{Transport, Wait};
use super::ledger::NOTE;
use super::path::{Operation, Verbs};
use super::plan::{Buffers, Plan, Role};
use super::slots::stride;
use crate::Error;

/// The most memory for the messages of one direction, in bytes.
const MOST_MEMORY: u64 = 1 << 30;

/// A link that a case is measured over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// RDMA.
    Verbs(Verbs, Adapter),
    /// Shared memory.
    Shm,
}

impl Link {
    /// Over a transport, as it goes when nothing is said about it.
    pub fn of(transport: Transport) -> Self {
        match transport {
            Transport::Udp => Link::Udp,
            Transport::Tcp => Link::Tcp,
            Transport::Verbs => Link::Verbs(Verbs::default(), Adapter::default()),
            Transport::Shm => Link::Shm,
        }
    }

    /// The transport.
    pub fn transport(&self) -> Transport {
        match self {
            Link::Udp => Transport::Udp,
            Link::Tcp => Transport::Tcp,
            Link::Verbs(..) => Transport::Verbs,
            Link::Shm => Transport::Shm,
        }
    }

    /// True if every message arrives, once and in order, or the connection breaks.
    pub fn is_reliable(&self) -> bool {
        match self {
            Link::Udp => false,
            Link::Tcp | Link::Shm => true,
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
        if *self == Link::Shm && plan.wait == Wait::Block {
            return Err(Error::BlockingMemory);
        }
        let (mut least, most) = self.sizes().into_inner();
        if matches!(plan.role, Role::Both { .. }) {
            // Some messages are notes; the number tells these from the others.
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

#[cfg(test)]
mod tests {
    use super::super::path::Inline;
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
    fn only_what_is_reliable_is_called_so() {
        assert!(!Link::Udp.is_reliable() && Link::Tcp.is_reliable());
        assert!(Link::Shm.is_reliable());
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
        Link::Shm.check(1 << 16, Wait::Poll).unwrap();
        let error = Link::Shm.check(64, Wait::Block).unwrap_err();
        assert!(matches!(error, Error::BlockingMemory), "{error:?}");
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

//! An end before and after it has met the other one.

use std::io;
use std::net::TcpStream;

use jitterlab_base::clock::Clock;
use jitterlab_verbs::exchange::Place;
use jitterlab_verbs::{
    Chosen, Device, Limits, MemoryRegion, Mtu, Prepared, ProtectionDomain, QueuePair, Remote,
    SendKind, Work,
};

use super::layout::Layout;
use super::wanted::Wanted;
use crate::Error;
use crate::transport::kind::Wait;
use crate::transport::path::{Inline, Operation, Path};

/// Up to this length a message is inline where that is left to us: about what devices take at most, and
/// what perftest takes for its latency tests.
const SHORT: usize = 220;

/// An end that has not met the other one yet.
pub struct Half {
    prepared: Prepared,
    wanted: Wanted,
    chosen: Chosen,
    layout: Layout,
    is_inline: bool,
    first_packet: u32,
}

/// An end that has: what ping-pong and stream stand on.
pub struct Joined {
    pub pair: QueuePair,
    pub wanted: Wanted,
    pub layout: Layout,
    pub path: Path,
    line: TcpStream,
    to: Remote,
}

impl Half {
    pub fn new(wanted: Wanted, chosen: Chosen) -> Result<Self, Error> {
        let layout = Layout::of(&wanted);
        let domain = ProtectionDomain::new(&Device::open(&chosen.port.device)?)?;
        let prepare = |inline: usize| {
            let limits = Limits {
                sends: wanted.sends(),
                receives: layout.receives.max(1) as u32,
                inline: inline as u32,
                has_events: wanted.wait == Wait::Block,
            };
            let memory = MemoryRegion::new(&domain, layout.total())?;
            Prepared::new(wanted.how.service, memory, &limits, chosen.port.number)
        };
        let length = wanted.longest();
        let is_wanted = match wanted.how.inline {
            Inline::On => true,
            Inline::Auto => length <= SHORT,
            Inline::Off => false,
        };
        // The device says what it takes inline when it is asked for that: by an error, or by less.
        let inline = match is_wanted.then(|| prepare(length)) {
            Some(Ok(prepared)) => Some(prepared).filter(|p| p.inline() as usize >= length),
            Some(Err(error)) if !error.is_of("ibv_create_qp") => return Err(error.into()),
            Some(Err(_)) | None => None,
        };
        if inline.is_none() && wanted.how.inline == Inline::On {
            return Err(Error::Inline {
                device: chosen.port.device,
                wanted: length,
            });
        }
        let is_inline = inline.is_some();
        let prepared = inline.map_or_else(|| prepare(0), Ok)?;
        for number in 1..=layout.receives as u64 {
            prepared.post_receive(number, layout.receive_at(number), layout.posted)?;
        }
        Ok(Half {
            prepared,
            wanted,
            chosen,
            layout,
            is_inline,
            first_packet: Clock::global().now() as u32 & 0xff_ffff,
        })
    }

    /// The longest packet that its port carries.
    pub fn mtu(&self) -> Mtu {
        self.chosen.mtu
    }

    /// The place of this half.
    pub fn place(&self) -> Place {
        let memory = self.prepared.memory();
        Place {
            end: self.chosen.end(self.prepared.number(), self.first_packet),
            memory: Remote {
                address: memory.address() + self.layout.first as u64,
                key: memory.remote_key(),
            },
        }
    }

    /// Joins it with the other end, which `line` leads to.
    pub fn join(self, mtu: Mtu, other: &Place, line: TcpStream) -> Result<Joined, Error> {
        let Half { wanted, chosen, .. } = self;
        let route = chosen.route(self.first_packet, mtu, other.end);
        Ok(Joined {
            pair: self.prepared.connect(&route)?,
            wanted,
            layout: self.layout,
            path: Path {
                device: chosen.port.device,
                port: chosen.port.number,
                gid_index: route.gid_index,
                operation: wanted.how.operation,
                service: wanted.how.service,
                inline: self.is_inline,
                mtu: mtu.bytes(),
            },
            line,
            to: other.memory,
        })
    }
}

impl Joined {
    /// Posts the send of `length` bytes at a place of the memory. `number` is the message's over a
    /// reliable link, and decides what buffer it is written to there.
    #[inline]
    pub fn post_send(
        &self,
        number: u64,
        at: usize,
        length: usize,
        is_signalled: bool,
    ) -> Result<(), jitterlab_verbs::Error> {
        let to = || Remote {
            address: self.to.address + self.layout.there(number) as u64,
            key: self.to.key,
        };
        let kind = match self.wanted.how.operation {
            Operation::Write => SendKind::Write(to()),
            Operation::WriteImm => SendKind::WriteImm(to(), number as u32),
            Operation::Send => SendKind::Send,
        };
        let work = Work {
            id: number,
            at,
            length,
            is_inline: self.path.inline,
            is_signalled,
        };
        self.pair.post_send(kind, &work)
    }

    /// Posts the receive with this number.
    #[inline]
    pub fn post_receive(&self, number: u64) -> io::Result<()> {
        let at = self.layout.receive_at(number);
        self.pair
            .post_receive(number, at, self.layout.posted)
            .map_err(io::Error::other)
    }

    /// Writes a number into the last bytes of a message that lies at a place.
    #[inline]
    pub fn write_number(&self, at: usize, length: usize, number: u64) {
        let (offset, bytes) = Layout::number(length);
        let words = number.to_be_bytes();
        self.pair.memory().write(at + offset, &words[8 - bytes..]);
    }

    /// Reads it.
    #[inline]
    pub fn read_number(&self, at: usize, length: usize) -> u64 {
        let (offset, bytes) = Layout::number(length);
        let mut number = [0; 8];
        self.pair
            .memory()
            .read(at + offset, &mut number[8 - bytes..]);
        u64::from_be_bytes(number)
    }

    /// The connection to the other end, on which nobody says anything, but for a server that ends.
    pub fn line(&self) -> &TcpStream {
        &self.line
    }
}

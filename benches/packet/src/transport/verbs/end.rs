//! One end of a ping-pong.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use jitterlab_injector::clock::Clock;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};

use super::exchange::Place;
use super::{Chosen, PATIENCE, Wanted};
use crate::transport::{Connection, Inline, Mtu, Operation, Path, Service, Wait};
use crate::verbs::{
    Completion, Device, EndPoint, Error, Limits, MemoryRegion, Prepared, ProtectionDomain,
    QueuePair, Remote, Route, SendKind, Work,
};

/// One in so many sends asks for its completion. The queue takes twice as many, so that a completion was
/// there long before it is needed.
const SIGNALLED: u64 = 32;
/// Up to this length a message is inline where that is left to us: about what devices take at most, and
/// what perftest takes for its latency tests.
const SHORT: usize = 220;
/// The header that stands before a datagram in memory (GRH).
const HEADER: usize = 40;
/// Parts of the memory begin at multiples of this: a line of the cache.
const LINE: usize = 64;

/// Where things are in the memory of an end: the message that goes out, then places for those that come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    length: usize,
    /// What stands before a message in its place.
    header: usize,
    /// From one place to the next.
    stride: usize,
    places: usize,
    /// How many of them receives are posted for, and how long those are.
    receives: usize,
    posted: usize,
}

/// An end that has not met the other one yet.
pub(super) struct Half {
    prepared: Prepared,
    wanted: Wanted,
    chosen: Chosen,
    layout: Layout,
    is_inline: bool,
    first_packet: u32,
}

/// An end that has.
pub struct End {
    pair: QueuePair,
    line: TcpStream,
    wanted: Wanted,
    layout: Layout,
    path: Path,
    to: Remote,
    timeout: PollTimeout,
    /// Sends so far, and the last of them that is known to be completed.
    sent: u64,
    completed: u64,
    /// Messages so far, over a reliable connection.
    received: u64,
    /// The place of the message that was received last, for which a receive is to be posted again.
    used: Option<usize>,
    /// Whether an event waits to be taken.
    has_event: bool,
}

impl Layout {
    fn of(wanted: &Wanted) -> Self {
        let length = wanted.length;
        let header = match wanted.how.service {
            Service::Rc => 0,
            Service::Ud => HEADER,
        };
        // One message is under way at a time: its receive is posted again while the next one takes the
        // other. Datagrams may come late or twice, or from strangers.
        let receives = match (wanted.how.operation, wanted.how.service) {
            (Operation::Write, _) => 0,
            (_, Service::Rc) => 2,
            (_, Service::Ud) => 64,
        };
        let is_sent = wanted.how.operation == Operation::Send;
        Layout {
            length,
            header,
            stride: (header + length).next_multiple_of(LINE),
            places: if is_sent { receives } else { 1 },
            receives,
            posted: if is_sent { header + length } else { 0 },
        }
    }

    fn total(&self) -> usize {
        self.place(self.places)
    }

    /// Where a place for a message begins.
    fn place(&self, number: usize) -> usize {
        self.length.next_multiple_of(LINE) + number * self.stride
    }

    /// Where a receive is posted for. What is only told of a write needs no place.
    fn receive_at(&self, number: usize) -> usize {
        match self.posted {
            0 => 0,
            _ => self.place(number),
        }
    }

    /// Where the number is in a message, and how many of its bytes: its last ones.
    fn number(&self) -> (usize, usize) {
        let bytes = self.length.min(8);
        (self.length - bytes, bytes)
    }
}

impl Half {
    pub fn new(wanted: Wanted, chosen: Chosen) -> Result<Self, Error> {
        let layout = Layout::of(&wanted);
        let domain = ProtectionDomain::new(&Device::open(&chosen.device)?)?;
        let prepare = |inline: usize| {
            let limits = Limits {
                sends: 2 * SIGNALLED as u32,
                receives: layout.receives.max(1) as u32,
                inline: inline as u32,
                has_events: wanted.wait == Wait::Block,
            };
            let memory = MemoryRegion::new(&domain, layout.total())?;
            Prepared::new(wanted.how.service, memory, &limits, chosen.port.number)
        };
        let length = wanted.length;
        let is_wanted = match wanted.how.inline {
            Inline::On => true,
            Inline::Auto => length <= SHORT,
            Inline::Off => false,
        };
        // What a device takes inline it says when it is asked for that: by an error, or by less.
        let (prepared, is_inline) = match is_wanted.then(|| prepare(length)) {
            Some(Ok(prepared)) if prepared.inline() as usize >= length => (prepared, true),
            Some(Err(error)) if !error.is_of("ibv_create_qp") => return Err(error),
            Some(_) if wanted.how.inline == Inline::On => {
                return Err(Error::Inline {
                    device: chosen.device,
                    wanted: length,
                });
            }
            _ => (prepare(0)?, false),
        };
        for place in 0..layout.receives {
            prepared.post_receive(place as u64, layout.receive_at(place), layout.posted)?;
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

    /// Where it is.
    pub fn place(&self) -> Place {
        let memory = self.prepared.memory();
        let gid = self.chosen.gid.as_ref();
        Place {
            end: EndPoint {
                number: self.prepared.number(),
                first_packet: self.first_packet,
                lid: self.chosen.port.lid,
                gid: gid.map_or([0; 16], |gid| gid.bytes),
            },
            memory: Remote {
                address: memory.address() + self.layout.place(0) as u64,
                key: memory.remote_key(),
            },
        }
    }

    /// Joins it with the other end, which `line` leads to.
    pub fn join(self, mtu: Mtu, other: &Place, line: TcpStream) -> Result<End, Error> {
        let Half { wanted, chosen, .. } = self;
        let gid_index = chosen.gid.map(|gid| gid.index);
        let route = Route {
            port: chosen.port.number,
            gid_index,
            mtu,
            first_packet: self.first_packet,
            to: other.end,
        };
        let milliseconds = wanted.timeout.as_nanos().div_ceil(1_000_000);
        Ok(End {
            pair: self.prepared.connect(&route)?,
            line,
            wanted,
            layout: self.layout,
            path: Path {
                device: chosen.device,
                port: chosen.port.number,
                gid_index,
                operation: wanted.how.operation,
                service: wanted.how.service,
                inline: self.is_inline,
                mtu: mtu.bytes(),
            },
            to: other.memory,
            timeout: PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX),
            sent: 0,
            completed: 0,
            received: 0,
            used: None,
            has_event: false,
        })
    }
}

impl End {
    /// The next message that came over the queue, if one came in time.
    fn next(&mut self) -> io::Result<Option<u64>> {
        loop {
            let receives = self.pair.receives();
            let done = match self.wanted.wait {
                Wait::Poll => ask(self.wanted.timeout, || receives.poll())?,
                Wait::Block => self.sleep()?,
            };
            let Some(done) = done else {
                return Ok(None);
            };
            if let Some(number) = self.number_of(&done)? {
                return Ok(Some(number));
            }
        }
    }

    /// The number of a message that was received; none if it is not from the other end.
    #[inline]
    fn number_of(&mut self, done: &Completion) -> io::Result<Option<u64>> {
        let place = done.id as usize;
        if self.wanted.how.service == Service::Rc {
            self.used = Some(place);
            self.received += 1;
            // Each message carries its number, or the lower half of it.
            if self.wanted.how.operation == Operation::WriteImm
                && done.immediate != self.received as u32
            {
                return Err(io::ErrorKind::InvalidData.into());
            }
            return Ok(Some(self.received));
        }
        let is_ours = done.source == self.pair.peer()
            && done.length as usize == self.layout.header + self.layout.length;
        if !is_ours {
            self.post_receive(place)?;
            return Ok(None);
        }
        self.used = Some(place);
        let (at, bytes) = self.layout.number();
        let mut number = [0; 8];
        let at = self.layout.place(place) + self.layout.header + at;
        self.pair.memory().read(at, &mut number[8 - bytes..]);
        Ok(Some(u64::from_be_bytes(number)))
    }

    /// The next message that was written into the memory, if it came in time.
    fn watch(&mut self) -> io::Result<Option<u64>> {
        let number = self.received + 1;
        let memory = self.pair.memory();
        let last = self.layout.place(0) + self.layout.length - 1;
        let came = ask(self.wanted.timeout, || {
            // A write arrives in order: where its last byte is, all of it is.
            Ok((memory.byte(last) == number as u8).then_some(()))
        })?;
        Ok(came.map(|()| {
            self.received = number;
            number
        }))
    }

    /// Sleeps until something was received, or the other end has gone, or the time is over.
    fn sleep(&mut self) -> io::Result<Option<Completion>> {
        let receives = self.pair.receives();
        let Some(events) = receives.events() else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        loop {
            // An event that woke us was left there until now, when a message is under way.
            if std::mem::take(&mut self.has_event) {
                events.take().map_err(io::Error::other)?;
            }
            events.arm().map_err(io::Error::other)?;
            if let Some(done) = receives.poll().map_err(io::Error::other)? {
                return Ok(Some(done));
            }
            let mut files = [
                PollFd::new(events.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.line.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut files, self.timeout) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            self.has_event = files[0].any() == Some(true);
            let is_line_quiet = files[1].any() == Some(false);
            let done = receives.poll().map_err(io::Error::other)?;
            if done.is_some() || !is_line_quiet {
                return Ok(done);
            }
        }
    }

    fn post_receive(&self, place: usize) -> io::Result<()> {
        let at = self.layout.receive_at(place);
        self.pair
            .post_receive(place as u64, at, self.layout.posted)
            .map_err(io::Error::other)
    }

    /// Waits until all sends up to this one are completed.
    fn complete(&mut self, sent: u64) -> io::Result<()> {
        while self.completed < sent {
            let sends = self.pair.sends();
            match ask(PATIENCE, || sends.poll())? {
                Some(done) => self.completed = done.id,
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }

    /// Nothing has come, or an error: is the other end there, and do sends go through?
    #[cold]
    fn look_after(&mut self) -> io::Result<()> {
        match recv(self.line.as_raw_fd(), &mut [0], MsgFlags::MSG_DONTWAIT) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            // Nobody says anything after the exchange.
            Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        while let Some(done) = self.pair.sends().poll().map_err(io::Error::other)? {
            self.completed = done.id;
        }
        Ok(())
    }
}

/// Asks again and again until there is something; none after `timeout`.
#[inline]
fn ask<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, Error>,
) -> io::Result<Option<T>> {
    /// The clock is read once for so many attempts: a look into memory takes less time than a reading.
    const ATTEMPTS: usize = 1024;
    let mut start = None;
    loop {
        for _ in 0..ATTEMPTS {
            match attempt() {
                Ok(None) => {}
                outcome => return outcome.map_err(io::Error::other),
            }
        }
        let clock = Clock::global();
        let now = clock.now();
        let waited = clock.ticks_to_ns(now - *start.get_or_insert(now));
        if u128::from(waited) >= timeout.as_nanos() {
            return Ok(None);
        }
    }
}

impl Connection for End {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let (at, bytes) = self.layout.number();
        let words = number.to_be_bytes();
        self.pair.memory().write(at, &words[8 - bytes..]);
        self.sent += 1;
        let is_signalled = self.sent.is_multiple_of(SIGNALLED);
        if is_signalled {
            self.complete(self.sent - SIGNALLED)?;
        }
        let kind = match self.wanted.how.operation {
            Operation::Write => SendKind::Write(self.to),
            Operation::WriteImm => SendKind::WriteImm(self.to, number as u32),
            Operation::Send => SendKind::Send,
        };
        let work = Work {
            id: self.sent,
            at: 0,
            length: self.layout.length,
            is_inline: self.path.inline,
            is_signalled,
        };
        self.pair.post_send(kind, &work).map_err(io::Error::other)
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        if let Some(place) = self.used.take() {
            self.post_receive(place)?;
        }
        let arrived = match self.wanted.how.operation {
            Operation::Write => self.watch(),
            Operation::WriteImm | Operation::Send => self.next(),
        };
        if !matches!(arrived, Ok(Some(_))) {
            self.look_after()?;
        }
        arrived
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Verbs;
    use proptest::prelude::*;

    proptest! {
        /// Nothing lies on anything else, and everything within the memory.
        #[test]
        fn parts_of_the_memory_are_apart(
            length in 1usize..20_000,
            operation in proptest::sample::select(Operation::ALL),
            service in proptest::sample::select(Service::ALL),
        ) {
            let how = Verbs { operation, service, inline: Inline::Auto };
            let wanted = Wanted { how, length, wait: Wait::Poll, timeout: Duration::ZERO };
            let layout = Layout::of(&wanted);
            prop_assert!(layout.place(0) >= length);
            prop_assert!(layout.stride >= layout.header + length);
            prop_assert!(layout.places > 0 || operation == Operation::Send);
            for place in 0..layout.receives {
                prop_assert!(layout.receive_at(place) + layout.posted <= layout.total());
            }
            prop_assert!(layout.place(0) + layout.stride <= layout.total());
            let (at, bytes) = layout.number();
            prop_assert_eq!(at + bytes, length);
            prop_assert_eq!(bytes, length.min(8));
        }
    }
}

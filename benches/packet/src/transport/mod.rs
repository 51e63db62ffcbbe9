//! Transports: a file each, chosen from one list.

mod ledger;
mod link;
mod plan;
mod tcp;
mod udp;
mod verbs;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use jitterlab_base::clock::Clock;
use jitterlab_base::named;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll, ppoll};
use nix::sys::socket::{setsockopt, sockopt};

use crate::Error;

pub use jitterlab_verbs::{Adapter, Mtu, Service};
pub use link::{Inline, Link, Operation, Path, Verbs};
pub use plan::{Buffers, MOST_WINDOW, Plan, Role};

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Datagrams: a message may be lost, late or doubled.
    Udp,
    /// A stream, with Nagle's algorithm off.
    Tcp,
    /// RDMA, or sends of an RDMA device.
    Verbs,
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
        }
    }

    /// How messages are waited for where nothing else is said.
    pub fn usual_wait(self) -> Wait {
        match self {
            Transport::Udp | Transport::Tcp => Wait::Block,
            Transport::Verbs => Wait::Poll,
        }
    }

    /// Listens on `address`.
    ///
    /// # Errors
    /// The address cannot be listened on, or there is no such adapter.
    pub fn listen(
        self,
        address: SocketAddr,
        adapter: &Adapter,
    ) -> Result<Box<dyn Listener>, Error> {
        let failed = |source| Error::Listen { address, source };
        // It is calibrated now, and not when a client waits.
        Clock::global();
        Ok(match self {
            Transport::Udp => Box::new(udp::listen(address).map_err(failed)?),
            Transport::Tcp => Box::new(tcp::listen(address).map_err(failed)?),
            Transport::Verbs => Box::new(verbs::listen(address, adapter)?),
        })
    }
}

named!(Transport, serde, "a transport", Udp => "udp", Tcp => "tcp", Verbs => "verbs");

/// How the arrival of a message is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wait {
    /// In the kernel, which wakes the process: the CPU is free meanwhile.
    #[default]
    Block,
    /// By asking again and again: the CPU is held, and no wake-up is paid for.
    Poll,
}

named!(Wait, serde, "a way to wait", Block => "block", Poll => "poll");

/// One end of a connection on which few messages are under way at a time.
///
/// Messages are numbered from 1, each direction for itself.
pub trait Connection {
    /// Sends the message with this number.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self, number: u64) -> io::Result<()>;

    /// Receives a message: its number, or `None` if none came in time. The next call then goes on waiting.
    /// Over a reliable link the number is how many have come.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// The path, where the transport knows it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// One end of a connection on which many messages are under way at a time, and each is answered. No call waits but `idle`.
///
/// Messages are numbered from 1.
pub trait Unwaited {
    /// Sends the message with this number, if there is room for it; whether there was.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self, number: u64) -> io::Result<bool>;

    /// Takes an answer that has come: the number of its message. Over a reliable link the number is how many have come.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// Waits until there is something to take, or, where something could not be sent, room for it; not longer than this
    /// time. Who polls does not wait.
    ///
    /// # Errors
    /// As the system says.
    fn idle(&mut self, _at_most: Duration) -> io::Result<()> {
        Ok(())
    }

    /// Looks whether the other end is still there, where what comes does not say so.
    ///
    /// # Errors
    /// It has gone.
    fn look(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The path, where the transport knows it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// One end of a stream of messages, of which many are under way at a time. No call waits but `idle`.
pub trait Stream {
    /// Sends the next message, if there is room for it; whether there was.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self) -> io::Result<bool>;

    /// Takes what has come, says so where the other end is to know, and tells how far things are.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn progress(&mut self) -> io::Result<Progress>;

    /// Waits until there is something to take, or, where something could not be sent, room for it; not
    /// longer than this time, nor than 100 ms.
    ///
    /// # Errors
    /// As the system says.
    fn idle(&mut self, at_most: Duration) -> io::Result<()>;

    /// Whether what comes may not be seen here, so that only a look at the other end says whether that is there.
    fn is_blind(&self) -> bool {
        false
    }

    /// Asks the other end how far it is, if messages may be lost; what it has not got by then is missing.
    ///
    /// # Errors
    /// As the system says.
    fn ask(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The path, where the transport knows it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// How far a stream is, at one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Messages of this end that are no longer under way: the other end has them, or they are missing.
    pub finished: u64,
    /// Those of them that are missing.
    pub missing: u64,
    /// Messages that came from the other end.
    pub arrived: u64,
}

/// The serving end.
pub trait Listener {
    /// The address that is listened on.
    ///
    /// # Errors
    /// As the system says.
    fn address(&self) -> io::Result<SocketAddr>;

    /// Does for clients what they ask for, until the process ends.
    ///
    /// # Errors
    /// As the system says, where no client is to blame.
    fn serve(&mut self) -> io::Result<()>;
}

/// The memory of messages of one direction.
struct Slots {
    bytes: Vec<u8>,
    /// Where the first buffer begins: at a page.
    first: usize,
    size: usize,
    stride: usize,
    buffers: Buffers,
}

/// A page of memory.
const PAGE: usize = 4096;

impl Slots {
    fn new(size: u64, buffers: Buffers) -> Self {
        let size = size as usize;
        let stride = stride(size, buffers);
        let bytes = vec![0x6a; PAGE + stride * (buffers.count() - 1) + size];
        Slots {
            first: bytes.as_ptr().align_offset(PAGE).min(PAGE),
            bytes,
            size,
            stride,
            buffers,
        }
    }

    /// The buffer of a message.
    #[inline]
    fn of(&mut self, number: u64) -> &mut [u8] {
        let start = self.first + self.buffers.of(number) * self.stride;
        &mut self.bytes[start..start + self.size]
    }
}

/// From one buffer to the next: where there are several, none shares a page with another one.
fn stride(size: usize, buffers: Buffers) -> usize {
    match buffers {
        Buffers::Fifo(1) => size,
        _ => size.next_multiple_of(PAGE),
    }
}

/// The next client that is there to be served.
fn next_client(listener: &TcpListener) -> io::Result<TcpStream> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            // A signal, or a client that went before it was served.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                ) => {}
            Err(error) => return Err(error),
        }
    }
}

/// A client may be silent for as long as it likes; one whose machine is gone does not answer the system's
/// own questions, which end the connection.
fn notice_dead_peers(stream: &TcpStream) -> io::Result<()> {
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &10)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &5)?;
    // Nor does it acknowledge what it was sent.
    setsockopt(stream, sockopt::TcpUserTimeout, &20_000)?;
    Ok(())
}

/// Who waits by sleeping sleeps for as long at once: the system rounds this up to a tick of its own, the shortest
/// time that it knows here. A processor that goes idle, and has no timer due by its next tick, stops the tick and has
/// to start it again when it is woken, unless it is known to be idle for a moment only. On a virtual machine that
/// is up to three exits to the hypervisor a round trip: docs/packet.md has what they take.
const NAP: Duration = Duration::from_micros(1);

/// Calls `attempt`, again if a signal or nothing of ours came between, until it does something else than
/// finding nothing there; `None` after `timeout`. An attempt that blocks gives up after a [`NAP`]. Between two
/// that do not the processor pauses `pauses` times.
fn wait_for<T>(
    wait: Wait,
    pauses: u32,
    timeout: Duration,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<Option<T>> {
    let clock = Clock::global();
    // Who polls reads the clock once for so many attempts, and not before: each reading makes an answer wait.
    let (attempts, mut start) = match wait {
        Wait::Block => (1, Some(clock.now())),
        Wait::Poll => (16, None),
    };
    loop {
        for _ in 0..attempts {
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_nothing_yet(&error) => {
                    (0..pauses).for_each(|_| std::hint::spin_loop());
                }
                outcome => return outcome.map(Some),
            }
        }
        let now = clock.now();
        let waited = clock.ticks_to_ns(now - *start.get_or_insert(now));
        if u128::from(waited) >= timeout.as_nanos() {
            return Ok(None);
        }
    }
}

/// Waits until something is there, or room for something; not longer than this time, nor than 100 ms. Who
/// polls does not wait.
fn wait_a_moment(
    wait: Wait,
    socket: BorrowedFd,
    for_room: bool,
    at_most: Duration,
) -> io::Result<()> {
    if wait == Wait::Poll {
        std::hint::spin_loop();
        return Ok(());
    }
    let mut events = PollFlags::POLLIN;
    events.set(PollFlags::POLLOUT, for_room);
    let milliseconds = at_most.as_millis().clamp(1, 100) as u8;
    match poll(&mut [PollFd::new(socket, events)], milliseconds) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The same for who has to be there again in time: to the microsecond, and no longer.
fn wait_briefly(
    wait: Wait,
    socket: BorrowedFd,
    for_room: bool,
    at_most: Duration,
) -> io::Result<()> {
    if wait == Wait::Poll {
        return Ok(());
    }
    let mut events = PollFlags::POLLIN;
    events.set(PollFlags::POLLOUT, for_room);
    match ppoll(
        &mut [PollFd::new(socket, events)],
        Some(at_most.into()),
        None,
    ) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Nothing there, whether asked for at once or waited for.
fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

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

//! Transports: a file each, chosen from one list.

mod link;
mod tcp;
mod udp;
#[cfg(feature = "verbs")]
mod verbs;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::str::FromStr;
use std::time::Duration;

use jitterlab_injector::clock::Clock;
use jitterlab_injector::units::UnitError;
use nix::sys::socket::{setsockopt, sockopt};
use serde::{Deserialize, Serialize};

use crate::Error;

pub use link::{Adapter, Inline, Link, Mtu, Operation, Path, Port, PortGid, Service, Verbs, ports};

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Datagrams: a message may be lost, late or doubled.
    Udp,
    /// A stream, with Nagle's algorithm off.
    Tcp,
    /// RDMA, or sends of an RDMA device.
    Verbs,
}

impl Transport {
    /// Every transport.
    pub const ALL: [Transport; 3] = [Transport::Udp, Transport::Tcp, Transport::Verbs];

    /// Those that every build has, and every machine: the kernel's sockets.
    pub const SOCKETS: [Transport; 2] = [Transport::Udp, Transport::Tcp];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Verbs => "verbs",
        }
    }

    /// The least and the greatest message of a ping-pong, in bytes.
    pub fn sizes(self) -> std::ops::RangeInclusive<u64> {
        match self {
            // Room for a sequence number, without which a late answer would pass for the next
            // one; up to the largest datagram of IPv4.
            Transport::Udp => 8..=65_507,
            Transport::Tcp | Transport::Verbs => 1..=1 << 24,
        }
    }

    /// Whether this build has it.
    pub fn is_built(self) -> bool {
        self != Transport::Verbs || cfg!(feature = "verbs")
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
        wait: Wait,
        adapter: &Adapter,
    ) -> Result<Box<dyn Listener>, Error> {
        let failed = |source| Error::Listen { address, source };
        Ok(match self {
            Transport::Udp => Box::new(udp::listen(address, wait).map_err(failed)?),
            Transport::Tcp => Box::new(tcp::listen(address, wait).map_err(failed)?),
            #[cfg(feature = "verbs")]
            Transport::Verbs => Box::new(verbs::listen(address, wait, adapter)?),
            #[cfg(not(feature = "verbs"))]
            Transport::Verbs => {
                let _ = adapter;
                return Err(Error::NoVerbs);
            }
        })
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Transport {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Transport::ALL
            .into_iter()
            .find(|transport| transport.name() == text)
            .ok_or_else(|| UnitError {
                text: text.into(),
                expected: "a transport: udp, tcp or verbs",
            })
    }
}

/// How the arrival of a message is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// In the kernel, which wakes the process: the CPU is free meanwhile.
    #[default]
    Block,
    /// By asking again and again: the CPU is held, and no wake-up is paid for.
    Poll,
}

impl Wait {
    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Wait::Block => "block",
            Wait::Poll => "poll",
        }
    }
}

impl FromStr for Wait {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        [Wait::Block, Wait::Poll]
            .into_iter()
            .find(|wait| wait.name() == text)
            .ok_or_else(|| UnitError {
                text: text.into(),
                expected: "a way to wait: block or poll",
            })
    }
}

/// One end of a connection, for messages of one size, of which one is under way at a time.
///
/// Messages are numbered. One that is shorter than the eight bytes of a number carries the lower ones.
pub trait Connection {
    /// Sends the message with this number.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self, number: u64) -> io::Result<()>;

    /// Receives a message: its number, or `None` if none came in time. The next call then goes on waiting.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// The path, where the transport knows it.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// The serving end.
pub trait Listener {
    /// The address that is listened on.
    ///
    /// # Errors
    /// As the system says.
    fn address(&self) -> io::Result<SocketAddr>;

    /// Sends every message back to where it came from, until the process ends.
    ///
    /// # Errors
    /// As the system says, where no client is to blame.
    fn serve(&mut self) -> io::Result<()>;
}

/// A message of a socket: its first eight bytes, or all if it has fewer, are its number.
struct Message(Vec<u8>);

impl Message {
    fn new(size: usize) -> Self {
        Message(vec![0x6a; size])
    }

    #[inline]
    fn number(&self) -> u64 {
        match self.0.first_chunk() {
            Some(head) => u64::from_le_bytes(*head),
            None => {
                let bytes = self.0.iter().rev();
                bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
            }
        }
    }

    #[inline]
    fn set_number(&mut self, number: u64) {
        let number = number.to_le_bytes();
        match self.0.first_chunk_mut() {
            Some(head) => *head = number,
            None => std::iter::zip(&mut self.0, number).for_each(|(byte, part)| *byte = part),
        }
    }
}

/// What a client says first, and the server says back: these words, then the size of its messages.
const HELLO: &[u8; 8] = b"jlecho 1";

fn hello(size: usize) -> [u8; 16] {
    let mut words = [0; 16];
    words[..8].copy_from_slice(HELLO);
    words[8..].copy_from_slice(&(size as u64).to_le_bytes());
    words
}

/// The size in a client's first words; `None` if they are something else.
fn size_in_hello(words: &[u8]) -> Option<usize> {
    let size = words.strip_prefix(HELLO)?.try_into().ok()?;
    usize::try_from(u64::from_le_bytes(size)).ok()
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
    Ok(())
}

/// Calls `attempt`, again if a signal came between, until it does something else than finding
/// nothing there; `None` after `timeout`, which the system measures where the call blocks.
/// Between two attempts where it does not, the processor pauses `pauses` times.
fn wait_for<T>(
    wait: Wait,
    pauses: u32,
    timeout: Duration,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<Option<T>> {
    /// The clock is read once for so many attempts: each reading makes an answer wait.
    const ATTEMPTS: usize = 16;
    let mut start = None;
    loop {
        for _ in 0..ATTEMPTS {
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_nothing_yet(&error) => {
                    if wait == Wait::Block {
                        return Ok(None);
                    }
                    (0..pauses).for_each(|_| std::hint::spin_loop());
                }
                outcome => return outcome.map(Some),
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn first_words_are_understood_or_refused(size: usize, words: Vec<u8>) {
            prop_assert_eq!(size_in_hello(&hello(size)), Some(size));
            prop_assert!(words.len() == 16 || size_in_hello(&words).is_none());
            prop_assert_eq!(size_in_hello(&hello(size)[..15]), None);
        }
    }

    proptest! {
        #[test]
        fn a_message_carries_as_much_of_its_number_as_fits(size in 1usize..40, number: u64) {
            let mut message = Message::new(size);
            message.set_number(number);
            let bits = 8 * size.min(8) as u32;
            prop_assert_eq!(message.number(), number & u64::MAX >> (64 - bits));
        }
    }

    #[test]
    fn names_are_read_back() {
        for transport in Transport::ALL {
            assert_eq!(transport.name().parse(), Ok(transport));
        }
        assert!("UDP".parse::<Transport>().is_err());
        assert!("spin".parse::<Wait>().is_err());
    }
}

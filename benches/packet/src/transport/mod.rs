//! Transports: a file each, chosen from one list.

mod tcp;
mod udp;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use jitterlab_injector::clock::Clock;
use jitterlab_injector::units::UnitError;
use serde::{Deserialize, Serialize};

use crate::Error;

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Datagrams: a message may be lost, late or doubled.
    Udp,
    /// A stream, with Nagle's algorithm off.
    Tcp,
}

impl Transport {
    /// Every transport.
    pub const ALL: [Transport; 2] = [Transport::Udp, Transport::Tcp];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
        }
    }

    /// The least and the greatest message of a ping-pong, in bytes.
    pub fn sizes(self) -> std::ops::RangeInclusive<u64> {
        match self {
            // Room for a sequence number, without which a late answer would pass for the next
            // one; up to the largest datagram of IPv4.
            Transport::Udp => 8..=65_507,
            Transport::Tcp => 1..=1 << 24,
        }
    }

    /// Whether every message arrives, once and in order, or the connection breaks.
    pub fn is_reliable(self) -> bool {
        match self {
            Transport::Udp => false,
            Transport::Tcp => true,
        }
    }

    /// Connects to a server of this transport that will get messages of `size` bytes.
    ///
    /// # Errors
    /// Nobody answers at `address`, or somebody else does.
    pub fn connect(
        self,
        address: SocketAddr,
        size: usize,
        wait: Wait,
        timeout: Duration,
    ) -> Result<Box<dyn Connection>, Error> {
        let connected: Result<Box<dyn Connection>, io::Error> = match self {
            Transport::Udp => udp::connect(address, size, wait, timeout).map(|c| Box::new(c) as _),
            Transport::Tcp => tcp::connect(address, size, wait, timeout).map(|c| Box::new(c) as _),
        };
        connected.map_err(|source| match source.kind() {
            io::ErrorKind::InvalidData => Error::StrangePeer { address },
            io::ErrorKind::ResourceBusy => Error::BusyPeer { address },
            _ => Error::NoPeer {
                address,
                transport: self,
                source,
            },
        })
    }

    /// Listens on `address`.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen(self, address: SocketAddr, wait: Wait) -> Result<Box<dyn Listener>, Error> {
        let listening: Result<Box<dyn Listener>, io::Error> = match self {
            Transport::Udp => udp::listen(address, wait).map(|l| Box::new(l) as _),
            Transport::Tcp => tcp::listen(address, wait).map(|l| Box::new(l) as _),
        };
        listening.map_err(|source| Error::Listen { address, source })
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
                expected: "a transport: udp or tcp",
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

/// One end of a connection, for messages of one size.
pub trait Connection {
    /// Sends a message, whole.
    ///
    /// # Errors
    /// As the system says.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Receives a message of the buffer's size; `false` if none came in time. The next call then
    /// goes on waiting, into the same buffer: a part of the message may be in it.
    ///
    /// # Errors
    /// As the system says; `UnexpectedEof` where the other end has gone.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool>;
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

    #[test]
    fn names_are_read_back() {
        for transport in Transport::ALL {
            assert_eq!(transport.name().parse(), Ok(transport));
        }
        assert!("UDP".parse::<Transport>().is_err());
        assert!("spin".parse::<Wait>().is_err());
    }
}

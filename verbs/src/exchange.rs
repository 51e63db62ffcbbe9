//! The words that two ends exchange over TCP before they send: what a client wants and where it is; then where the
//! server is, or why it does not do it; at last that the client is ready, too. From then on nobody says anything,
//! unless the server cannot go on: then it says why, as if it refused. An end that goes takes the connection along,
//! and the other one sees that.
//!
//! Numbers are little-endian. Nothing that is read decides how much is read on or reserved, but the
//! length of a reason, which is at most [`LONGEST`].

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::{EndPoint, Mtu, Remote};

/// These words come first, in both directions. They change with what follows them.
const HELLO: &[u8; 8] = b"jlverbs3";
/// How long an end waits for the other one to answer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Makes a connection fit for an exchange: what is written is sent at once, and nothing is waited for longer than [`PATIENCE`].
///
/// # Errors
/// The system refuses.
pub fn prepare(line: &TcpStream) -> io::Result<()> {
    line.set_nodelay(true)?;
    line.set_read_timeout(Some(PATIENCE))?;
    line.set_write_timeout(Some(PATIENCE))
}

/// The longest reason, in bytes.
pub const LONGEST: usize = 1000;

/// The question of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask<const N: usize> {
    /// The wish, in the words of those who meet.
    pub wish: [u8; N],
    /// The longest packet on its side.
    pub mtu: Mtu,
    /// The place of its end.
    pub place: Place,
}

/// The answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is ready.
    Ready {
        /// The longest packet that both ends carry.
        mtu: Mtu,
        /// The place of its end.
        place: Place,
    },
    /// It does not do it, or not any longer.
    Refused(String),
}

/// The place of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its queue pair.
    pub end: EndPoint,
    /// The memory that messages are written to.
    pub memory: Remote,
}

const PLACE: usize = 4 + 4 + 2 + 16 + 8 + 4;
const READY: usize = 1 + PLACE;

impl<const N: usize> Ask<N> {
    /// Says it.
    ///
    /// # Errors
    /// As the system says.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let mut words = HELLO.to_vec();
        words.extend(self.wish);
        words.push(self.mtu.code());
        self.place.append(&mut words);
        to.write_all(&words)
    }

    /// Hears it.
    ///
    /// # Errors
    /// As the system says; `InvalidData` if it is something else.
    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let (mut hello, mut wish, mut rest) = ([0; HELLO.len()], [0; N], [0; READY]);
        for words in [&mut hello[..], &mut wish, &mut rest] {
            from.read_exact(words)?;
        }
        if hello != *HELLO {
            return Err(stranger());
        }
        let (mtu, place) = ready(&rest).ok_or_else(stranger)?;
        Ok(Ask { wish, mtu, place })
    }
}

/// The longest packet of an end, and where it is.
fn ready(words: &[u8; READY]) -> Option<(Mtu, Place)> {
    let mut words = Words(words);
    Some((Mtu::of_code(words.byte()?)?, Place::parse(&mut words)?))
}

fn stranger() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl Answer {
    /// Says it; a reason is cut off where it is too long.
    ///
    /// # Errors
    /// As the system says.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let mut words = HELLO.to_vec();
        match self {
            Answer::Ready { mtu, place } => {
                words.push(0);
                words.push(mtu.code());
                place.append(&mut words);
            }
            Answer::Refused(reason) => {
                let reason = &reason.as_bytes()[..reason.len().min(LONGEST)];
                words.push(1);
                words.extend((reason.len() as u16).to_le_bytes());
                words.extend(reason);
            }
        }
        to.write_all(&words)
    }

    /// Hears it.
    ///
    /// # Errors
    /// As the system says; `InvalidData` if it is something else.
    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let mut first = [0; HELLO.len() + 1];
        from.read_exact(&mut first)?;
        if !first.starts_with(HELLO) {
            return Err(stranger());
        }
        match first[HELLO.len()] {
            0 => {
                let mut words = [0; READY];
                from.read_exact(&mut words)?;
                let (mtu, place) = ready(&words).ok_or_else(stranger)?;
                Ok(Answer::Ready { mtu, place })
            }
            1 => {
                let mut length = [0; 2];
                from.read_exact(&mut length)?;
                let length = usize::from(u16::from_le_bytes(length));
                let mut reason = vec![0; length.min(LONGEST)];
                from.read_exact(&mut reason)?;
                let reason = String::from_utf8_lossy(&reason);
                // It goes to a terminal: nothing in it moves the cursor.
                let shown = |c: char| if c.is_control() { ' ' } else { c };
                Ok(Answer::Refused(reason.chars().map(shown).collect()))
            }
            _ => Err(stranger()),
        }
    }
}

/// The byte of a client that messages can reach.
const READY_TOO: u8 = 1;

/// Says that this end, the client, can be reached.
///
/// # Errors
/// As the system says.
pub fn say_ready(mut to: impl Write) -> io::Result<()> {
    to.write_all(&[READY_TOO])
}

/// Hears it.
///
/// # Errors
/// As the system says; `InvalidData` if it is something else.
pub fn hear_ready(mut from: impl Read) -> io::Result<()> {
    let mut word = [0];
    from.read_exact(&mut word)?;
    match word[0] {
        READY_TOO => Ok(()),
        _ => Err(stranger()),
    }
}

/// Looks whether the other end is there, which says nothing while it is. A server that has ended says why.
///
/// # Errors
/// `UnexpectedEof` if it has gone; what it says; `InvalidData` if that is something else.
#[cold]
pub fn look(line: &TcpStream) -> io::Result<()> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_PEEK;
    match recv(line.as_raw_fd(), &mut [0], flags) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => match Answer::read(line)? {
            Answer::Refused(reason) => Err(io::Error::other(format!("it says: {reason}"))),
            Answer::Ready { .. } => Err(stranger()),
        },
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

impl Place {
    fn append(&self, words: &mut Vec<u8>) {
        let Place { end, memory } = self;
        words.extend(end.number.to_le_bytes());
        words.extend(end.first_packet.to_le_bytes());
        words.extend(end.lid.to_le_bytes());
        words.extend(end.gid);
        words.extend(memory.address.to_le_bytes());
        words.extend(memory.key.to_le_bytes());
    }

    fn parse(words: &mut Words) -> Option<Self> {
        const BITS_24: u32 = 0xff_ffff;
        Some(Place {
            end: EndPoint {
                number: Some(u32::from_le_bytes(words.take()?)).filter(|&n| n <= BITS_24)?,
                first_packet: Some(u32::from_le_bytes(words.take()?)).filter(|&n| n <= BITS_24)?,
                lid: u16::from_le_bytes(words.take()?),
                gid: words.take()?,
            },
            memory: Remote {
                address: u64::from_le_bytes(words.take()?),
                key: u32::from_le_bytes(words.take()?),
            },
        })
    }
}

/// Bytes that are taken from the front.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn places()(
            number in 0u32..1 << 24,
            first_packet in 0u32..1 << 24,
            lid: u16,
            gid: [u8; 16],
            address: u64,
            key: u32,
        ) -> Place {
            Place {
                end: EndPoint { number, first_packet, lid, gid },
                memory: Remote { address, key },
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_said_is_heard(
            place in places(),
            wish: [u8; 11],
            code in 1u8..=5,
            reason in "[ -~]{0,300}",
        ) {
            let mtu = Mtu::of_code(code).unwrap();
            let ask = Ask { wish, mtu, place };
            let mut line = Vec::new();
            ask.write(&mut line).unwrap();
            prop_assert_eq!(Ask::<11>::read(line.as_slice()).unwrap(), ask);
            prop_assert!(Ask::<11>::read(&line[..line.len() - 1]).is_err());
            for answer in [Answer::Ready { mtu, place }, Answer::Refused(reason)] {
                let mut line = Vec::new();
                answer.write(&mut line).unwrap();
                prop_assert_eq!(Answer::read(line.as_slice()).unwrap(), answer);
            }
        }

        #[test]
        fn strangers_are_survived(words: Vec<u8>, tail: Vec<u8>) {
            prop_assert!(Ask::<11>::read(words.as_slice()).is_err());
            prop_assert!(Answer::read(words.as_slice()).is_err());
            // The line begins as if it were ours, with anything after it: it is read or refused, without a panic.
            let line = [HELLO.as_slice(), &tail].concat();
            let _ = Ask::<11>::read(line.as_slice());
            let _ = Answer::read(line.as_slice());
        }
    }

    #[test]
    fn a_reason_is_made_fit_for_a_terminal() {
        let mut line = Vec::new();
        let reason = format!("\u{1b}[2J{}", "x".repeat(5_000));
        Answer::Refused(reason).write(&mut line).unwrap();
        let Answer::Refused(heard) = Answer::read(line.as_slice()).unwrap() else {
            panic!("{line:?}");
        };
        assert!(heard.starts_with(" [2Jxxx") && heard.len() == LONGEST);
    }
}

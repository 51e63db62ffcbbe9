//! UDP.
//!
//! A server knows its clients by their addresses. One becomes a client when it repeats the word that the
//! server sent to its address: who gives a wrong address for his own gets nothing sent there but that.

mod server;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

use super::end::{Connection, Progress, Stream, Unwaited};
use super::kind::Wait;
use super::ledger::{Head, Ledger, NOTE};
use super::plan::Plan;
use super::plan::{HELLO, WORDS};
use super::slots::Slots;
use super::socket::{NAP, is_nothing_yet, wait_a_moment, wait_briefly, wait_for};
use super::waiting::now_ns;
pub(super) use server::listen;

/// The bytes of messages that may heap up in the system.
const RECEIVE_BUFFER: usize = 4 << 20;

/// The last words, too.
const LAST: &[u8] = HELLO;
/// The first words: a plan, and the word that proves an address, or 0. That word inverted means that
/// the client is known from now on.
const FIRST: usize = WORDS + 8;

fn first(plan: &Plan, proof: u64) -> [u8; FIRST] {
    let mut words = [0; FIRST];
    words[..WORDS].copy_from_slice(&plan.words());
    words[WORDS..].copy_from_slice(&proof.to_le_bytes());
    words
}

fn heard(words: &[u8]) -> Option<(Plan, u64)> {
    let (plan, proof) = words.split_at_checked(WORDS)?;
    Some((
        Plan::heard(plan)?,
        u64::from_le_bytes(proof.try_into().ok()?),
    ))
}

/// A socket, and who is at the other end.
struct Line {
    socket: UdpSocket,
    /// None at a client, whose socket is connected.
    client: Option<Known>,
}

/// A client that is served alone.
struct Known {
    address: SocketAddr,
    /// The last answer before it began, in case that was lost.
    welcome: [u8; FIRST],
    secret: RandomState,
}

impl Line {
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.client {
            None => self.socket.send(bytes),
            Some(client) => self.socket.send_to(bytes, client.address),
        }
        .map(drop)
    }

    /// The length of the next datagram.
    #[inline]
    fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let Some(client) = &self.client else {
            return self.socket.recv(bytes);
        };
        let (length, from) = self.socket.recv_from(bytes)?;
        match from == client.address && !bytes[..length].starts_with(HELLO) {
            true => Ok(length),
            false => self.first_or_last(client, &bytes[..length], from),
        }
    }

    /// Somebody else's words, or such as come first or last.
    #[cold]
    fn first_or_last(&self, client: &Known, words: &[u8], from: SocketAddr) -> io::Result<usize> {
        let is_next = heard(words).is_some_and(|(plan, proof)| {
            let word = word_for(&client.secret, from);
            if proof != word && from != client.address {
                let _ = self.socket.send_to(&first(&plan, word), from);
            }
            proof == word
        });
        if from == client.address {
            if words == LAST {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let _ = self.socket.send_to(&client.welcome, from);
        } else if is_next {
            // It will say it again.
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Err(io::ErrorKind::Interrupted.into())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.client.is_none() {
            // A server that does not hear it notices the silence.
            let _ = self.socket.send(LAST);
        }
    }
}

/// The word that proves an address to be its owner's.
fn word_for(secret: &RandomState, address: SocketAddr) -> u64 {
    secret.hash_one(address).max(1)
}

/// Asks the server for a sign of life before anything is measured: a datagram to nobody is no
/// error by itself.
fn meet(address: SocketAddr, plan: &Plan) -> io::Result<UdpSocket> {
    const TRIES: usize = 10;
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // Connected: the kernel looks the route up once, and drops what others send.
    socket.connect(address)?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut proof = 0;
    let mut answer = [0; FIRST + 1];
    for _ in 0..TRIES {
        socket.send(&first(plan, proof))?;
        match socket.recv(&mut answer) {
            Ok(length) => match heard(&answer[..length]) {
                Some((same, word)) if same == *plan => {
                    if proof != 0 && word == !proof {
                        return Ok(socket);
                    }
                    proof = word;
                }
                // It has begun already: the word before was lost.
                _ if proof != 0 => {}
                _ => return Err(io::ErrorKind::InvalidData.into()),
            },
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

pub(super) struct Udp {
    line: Line,
    wait: Wait,
    timeout: Duration,
    out: Slots,
    incoming: Slots,
    /// The number of the message that is expected next.
    next: u64,
    /// True if there was no room for the last message, at an end that does not wait for that.
    is_full: bool,
}

pub(super) fn connect(address: SocketAddr, plan: &Plan, timeout: Duration) -> io::Result<Udp> {
    let line = Line {
        socket: meet(address, plan)?,
        client: None,
    };
    Udp::new(line, plan, [plan.size, plan.answer], timeout)
}

impl Udp {
    fn new(
        line: Line,
        plan: &Plan,
        [out, incoming]: [u64; 2],
        timeout: Duration,
    ) -> io::Result<Self> {
        line.socket.set_read_timeout(Some(NAP))?;
        line.socket.set_nonblocking(plan.wait == Wait::Poll)?;
        Ok(Udp {
            line,
            wait: plan.wait,
            timeout,
            out: Slots::new(out, plan.buffers),
            incoming: Slots::new(incoming, plan.buffers),
            next: 1,
            is_full: false,
        })
    }
}

/// The same for a client that has many messages under way.
pub(super) fn unwaited(address: SocketAddr, plan: &Plan) -> io::Result<Udp> {
    let udp = connect(address, plan, Duration::ZERO)?;
    udp.line.socket.set_nonblocking(true)?;
    make_room(&udp.line.socket);
    Ok(udp)
}

/// Lets messages heap up in the system, as far as that allows it: what does not fit is lost, and counted.
fn make_room(socket: &UdpSocket) {
    let _ = setsockopt(socket, sockopt::RcvBuf, &RECEIVE_BUFFER);
}

impl Connection for Udp {
    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        let message = self.out.of(number);
        message[..8].copy_from_slice(&number.to_le_bytes());
        // A message that finds no room is lost, as on the way.
        sent(self.line.send(message)).map(drop)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let size = self.incoming.size;
        let buffer = self.incoming.of(self.next);
        let came = wait_for(self.wait, 0, self.timeout, now_ns, || {
            let length = self.line.receive(buffer)?;
            if length != size || buffer.starts_with(HELLO) {
                // A late answer to the first words, or nothing of ours.
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(first_word(buffer))
        })?;
        if let Some(number) = came {
            self.next = number.wrapping_add(1);
        }
        Ok(came)
    }
}

impl Unwaited for Udp {
    #[inline]
    fn send(&mut self, number: u64) -> io::Result<bool> {
        let message = self.out.of(number);
        message[..8].copy_from_slice(&number.to_le_bytes());
        let is_sent = sent(self.line.send(message))?;
        self.is_full = !is_sent;
        Ok(is_sent)
    }

    fn idle(&mut self, at_most: Duration) -> io::Result<()> {
        wait_briefly(self.wait, self.line.socket.as_fd(), self.is_full, at_most)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let size = self.incoming.size;
        let buffer = self.incoming.of(0);
        match self.line.receive(buffer) {
            Ok(length) if length == size && !buffer.starts_with(HELLO) => {
                Ok(Some(first_word(buffer)))
            }
            // A late answer to the first words, or nothing of ours.
            Ok(_) => Ok(None),
            Err(error) if is_no_room(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The first eight bytes, which are there.
#[inline]
fn first_word(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |&word| u64::from_le_bytes(word))
}

pub(super) struct UdpStream {
    line: Line,
    wait: Wait,
    out: Slots,
    incoming: Slots,
    ledger: Ledger,
    is_full: bool,
}

pub(super) fn stream(address: SocketAddr, plan: &Plan) -> io::Result<UdpStream> {
    let line = Line {
        socket: meet(address, plan)?,
        client: None,
    };
    UdpStream::new(line, plan, [plan.size, plan.answer])
}

impl UdpStream {
    fn new(line: Line, plan: &Plan, [out, incoming]: [u64; 2]) -> io::Result<Self> {
        line.socket.set_nonblocking(true)?;
        make_room(&line.socket);
        Ok(UdpStream {
            line,
            wait: plan.wait,
            out: Slots::new(out, plan.buffers),
            incoming: Slots::new(incoming.max(NOTE as u64), plan.buffers),
            ledger: Ledger::new(plan.window().unwrap_or(1), incoming),
            is_full: false,
        })
    }

    /// Sends a note, if there is room for it.
    fn tell(&mut self, note: &[u8; NOTE]) -> io::Result<bool> {
        sent(self.line.send(note))
    }
}

/// Whether it was, or there is no room.
#[inline]
fn sent(outcome: io::Result<()>) -> io::Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if is_no_room(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_no_room(error: &io::Error) -> bool {
    let is_full = error.raw_os_error() == Some(nix::errno::Errno::ENOBUFS as i32);
    is_full || error.kind() == io::ErrorKind::Interrupted || is_nothing_yet(error)
}

impl Stream for UdpStream {
    #[inline]
    fn send(&mut self) -> io::Result<bool> {
        let number = self.ledger.next();
        let message = self.out.of(number);
        message[..8].copy_from_slice(&number.to_le_bytes());
        let is_sent = sent(self.line.send(message))?;
        if is_sent {
            self.ledger.sent();
        }
        self.is_full = !is_sent;
        Ok(is_sent)
    }

    fn progress(&mut self) -> io::Result<Progress> {
        /// Messages that are taken before the other direction has its turn.
        const AT_ONCE: usize = 32;
        for _ in 0..AT_ONCE {
            let buffer = self.incoming.of(self.ledger.expected());
            let length = match self.line.receive(buffer) {
                Ok(length) => length,
                Err(error) if is_nothing_yet(&error) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if length < 8 || buffer.starts_with(HELLO) {
                continue;
            }
            match Ledger::head(first_word(buffer)) {
                Head::Message(number) => self.ledger.arrived(number),
                Head::Note => {
                    if let Some(note) = buffer[..length].first_chunk() {
                        self.ledger.heard(note);
                    }
                }
            }
            if let Some(note) = self.ledger.due()
                && self.tell(&note)?
            {
                self.ledger.told();
            }
        }
        Ok(self.ledger.progress())
    }

    fn idle(&mut self, at_most: Duration) -> io::Result<()> {
        wait_a_moment(self.wait, self.line.socket.as_fd(), self.is_full, at_most)
    }

    fn ask(&mut self) -> io::Result<()> {
        let question = self.ledger.ask();
        self.tell(&question).map(drop)
    }
}

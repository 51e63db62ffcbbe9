//! TCP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

use super::end::{Connection, Listener, Progress, Stream, Unwaited};
use super::kind::Wait;
use super::ledger::{Head, Ledger, NOTE};
use super::link::Link;
use super::plan::WORDS;
use super::plan::{Buffers, Plan, Role};
use super::slots::Slots;
use super::socket::{
    NAP, is_nothing_yet, next_client, notice_dead_peers, wait_a_moment, wait_briefly, wait_for,
};
use super::waiting::{Limit, now_ns};
use crate::service;

/// The time that a connection may take to come up, and a message to be taken by the other end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looking whether something has arrived takes the lock that the arriving segment needs: looking
/// less often shortens round trips. They fall into step with the looks: in the middle of a range (20 to 28) in which
/// they are shortest and all alike. See docs/packet.md.
const PAUSES: u32 = 24;

pub(super) struct Tcp {
    stream: TcpStream,
    wait: Wait,
    timeout: Duration,
    out: Slots,
    incoming: Slots,
    /// Messages that have arrived, and how much of the next one.
    received: u64,
    filled: usize,
    /// The bytes of the last message that have not been sent yet, at an end that does not wait for that.
    unsent: usize,
    /// True if that, or a message after it, finds no room.
    is_full: bool,
}

pub(super) fn connect(address: SocketAddr, plan: &Plan, timeout: Duration) -> io::Result<Tcp> {
    Tcp::new(
        meet(address, plan)?,
        plan,
        [plan.size, plan.answer],
        timeout,
    )
}

/// The same for a client that has many messages under way.
pub(super) fn unwaited(address: SocketAddr, plan: &Plan) -> io::Result<Tcp> {
    let tcp = connect(address, plan, Duration::ZERO)?;
    tcp.stream.set_nonblocking(true)?;
    Ok(tcp)
}

/// A connection to a server that does its part of the plan.
fn meet(address: SocketAddr, plan: &Plan) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&plan.words())?;
    let mut answer = [0; WORDS];
    let mut heard = 0;
    while heard < WORDS {
        match stream.read(&mut answer[heard..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // It takes a client after the other, and says nothing to the others meanwhile.
            Err(error) if is_nothing_yet(&error) && heard == 0 => {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            // Connected, and then sent away or left alone in the middle: it did not understand.
            Ok(0) | Err(_) => return Err(io::ErrorKind::InvalidData.into()),
            Ok(read) => heard += read,
        }
    }
    if answer != plan.words() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(stream)
}

impl Tcp {
    fn new(
        stream: TcpStream,
        plan: &Plan,
        [out, incoming]: [u64; 2],
        timeout: Duration,
    ) -> io::Result<Self> {
        stream.set_read_timeout(Some(NAP))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nonblocking(plan.wait == Wait::Poll)?;
        Ok(Tcp {
            stream,
            wait: plan.wait,
            timeout,
            out: Slots::new(out, plan.buffers),
            incoming: Slots::new(incoming, plan.buffers),
            received: 0,
            filled: 0,
            unsent: 0,
            is_full: false,
        })
    }

    /// The rest of a message that did not fit into the system's memory at once. The other end may be sending one
    /// as long: what has come is taken meanwhile.
    #[cold]
    fn send_rest(&mut self, number: u64, mut sent: usize) -> io::Result<()> {
        let mut limit = Limit::new(PATIENCE);
        while sent < self.out.size {
            let mut moved = now(send(
                self.stream.as_raw_fd(),
                &self.out.of(number)[sent..],
                MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL,
            ))?;
            sent += moved;
            let rest = &mut self.incoming.of(self.received + 1)[self.filled..];
            if moved == 0 && !rest.is_empty() {
                moved = now(recv(self.stream.as_raw_fd(), rest, MsgFlags::MSG_DONTWAIT))?;
                self.filled += moved;
            }
            if moved > 0 {
                limit.renew(now_ns());
            } else if limit.is_over(now_ns()) {
                return Err(io::ErrorKind::TimedOut.into());
            } else {
                wait_a_moment(Wait::Block, self.stream.as_fd(), true, PATIENCE)?;
            }
        }
        Ok(())
    }
}

/// The number of bytes that were moved; 0 if that would have to be waited for.
fn now(outcome: nix::Result<usize>) -> io::Result<usize> {
    match outcome {
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        outcome => Ok(outcome?),
    }
}

impl Connection for Tcp {
    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        let message = self.out.of(number);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        match now(send(self.stream.as_raw_fd(), message, flags))? {
            sent if sent == message.len() => Ok(()),
            sent => self.send_rest(number, sent),
        }
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let number = self.received + 1;
        let message = self.incoming.of(number);
        while self.filled < message.len() {
            let rest = &mut message[self.filled..];
            match wait_for(self.wait, PAUSES, self.timeout, now_ns, || {
                self.stream.read(rest)
            })? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(read) => self.filled += read,
                None => return Ok(None),
            }
        }
        self.filled = 0;
        self.received = number;
        Ok(Some(number))
    }
}

impl Tcp {
    /// Sends what is left of the last message, as far as there is room; whether none is left.
    #[inline]
    fn flush(&mut self) -> io::Result<bool> {
        if self.unsent == 0 {
            return Ok(true);
        }
        let message = self.out.of(0);
        let rest = &message[message.len() - self.unsent..];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        self.unsent -= now(send(self.stream.as_raw_fd(), rest, flags))?;
        Ok(self.unsent == 0)
    }
}

impl Unwaited for Tcp {
    #[inline]
    fn send(&mut self, _number: u64) -> io::Result<bool> {
        if !self.flush()? {
            self.is_full = true;
            return Ok(false);
        }
        self.unsent = self.out.size;
        self.flush()?;
        // The rest of a message that has begun goes when there is room. Of this one nothing may have gone yet.
        let is_begun = self.unsent < self.out.size;
        self.is_full = self.unsent > 0;
        if !is_begun {
            self.unsent = 0;
        }
        Ok(is_begun)
    }

    fn idle(&mut self, at_most: Duration) -> io::Result<()> {
        wait_briefly(self.wait, self.stream.as_fd(), self.is_full, at_most)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        self.flush()?;
        let message = self.incoming.of(0);
        match self.stream.read(&mut message[self.filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => self.filled += read,
            Err(error) if is_nothing_yet(&error) && self.wait == Wait::Poll => {
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
            }
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if self.filled < message.len() {
            return Ok(None);
        }
        self.filled = 0;
        self.received += 1;
        Ok(Some(self.received))
    }
}

/// One end of a stream. Messages and notes follow each other; which one comes next is said by its first
/// word where both may come.
pub(super) struct TcpStreamEnd {
    stream: TcpStream,
    wait: Wait,
    ledger: Ledger,
    out: Slots,
    /// True if a note is being sent, false for a message.
    is_note: bool,
    note: [u8; NOTE],
    /// The bytes of it that have been sent; none of the next one yet.
    written: usize,
    is_full: bool,
    /// True if a message that `send` could not send has been sent since.
    is_ahead: bool,
    incoming: Slots,
    expects: Expects,
    filled: usize,
}

/// The messages that may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Messages,
    Notes,
    Both,
}

pub(super) fn stream(address: SocketAddr, plan: &Plan) -> io::Result<TcpStreamEnd> {
    let expects = match plan.role {
        Role::Both { .. } => Expects::Both,
        _ => Expects::Notes,
    };
    TcpStreamEnd::new(
        meet(address, plan)?,
        plan,
        [plan.size, plan.answer],
        expects,
    )
}

impl TcpStreamEnd {
    fn new(
        stream: TcpStream,
        plan: &Plan,
        [out, incoming]: [u64; 2],
        expects: Expects,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(TcpStreamEnd {
            stream,
            wait: plan.wait,
            ledger: Ledger::new(plan.window().unwrap_or(1), incoming),
            out: Slots::new(out, plan.buffers),
            is_note: false,
            note: [0; NOTE],
            written: 0,
            is_full: false,
            is_ahead: false,
            incoming: match expects {
                Expects::Notes => Slots::new(NOTE as u64, Buffers::Fifo(1)),
                _ => Slots::new(incoming, plan.buffers),
            },
            expects,
            filled: 0,
        })
    }

    /// Sends what has been begun, as far as there is room; whether all of it was sent.
    #[inline]
    fn flush(&mut self) -> io::Result<bool> {
        let bytes = match self.is_note {
            true => &self.note[..],
            false => self.out.of(self.ledger.next()),
        };
        while self.written < bytes.len() {
            match self.stream.write(&bytes[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if is_nothing_yet(&error) => {
                    self.is_full = true;
                    return Ok(false);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        self.is_full = false;
        if !std::mem::take(&mut self.is_note) {
            self.ledger.sent();
        }
        Ok(true)
    }

    /// Sends a note if one is due, when nothing else is being sent.
    fn tell(&mut self) -> io::Result<()> {
        let is_message = self.written > 0 && !self.is_note;
        if self.written > 0 && !self.flush()? {
            return Ok(());
        }
        self.is_ahead |= is_message;
        if !self.is_note {
            let Some(note) = self.ledger.due() else {
                return Ok(());
            };
            (self.note, self.is_note) = (note, true);
            self.ledger.told();
        }
        self.flush().map(drop)
    }

    /// Takes what is complete out of the buffer of the next message, with `filled` bytes in it.
    fn take(&mut self) {
        loop {
            let number = self.ledger.expected();
            let size = self.incoming.size;
            let buffer = self.incoming.of(number);
            let word = buffer
                .first_chunk()
                .map_or(0, |&word| u64::from_le_bytes(word));
            let is_note = match self.expects {
                Expects::Messages => false,
                Expects::Notes => true,
                Expects::Both if self.filled < 8 => return,
                Expects::Both => Ledger::head(word) == Head::Note,
            };
            let length = if is_note { NOTE } else { size };
            if self.filled < length {
                return;
            }
            if is_note {
                if let Some(note) = buffer.first_chunk() {
                    self.ledger.heard(note);
                }
            } else {
                self.ledger.arrived(number);
            }
            // The bytes behind a note have come with it, and belong to where it lay.
            buffer.copy_within(length..self.filled, 0);
            self.filled -= length;
            if self.filled == 0 {
                return;
            }
        }
    }
}

impl Stream for TcpStreamEnd {
    #[inline]
    fn send(&mut self) -> io::Result<bool> {
        if std::mem::take(&mut self.is_ahead) {
            return Ok(true);
        }
        if self.is_note && !self.flush()? {
            return Ok(false);
        }
        if self.written == 0 {
            let number = self.ledger.next();
            let message = self.out.of(number);
            if let Some(word) = message.first_chunk_mut() {
                *word = number.to_le_bytes();
            }
        }
        self.flush()
    }

    fn progress(&mut self) -> io::Result<Progress> {
        /// So often it is read before the other direction has its turn.
        const AT_ONCE: usize = 32;
        for _ in 0..AT_ONCE {
            let number = self.ledger.expected();
            let rest = &mut self.incoming.of(number)[self.filled..];
            match self.stream.read(rest) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.filled += read,
                Err(error) if is_nothing_yet(&error) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.take();
            self.tell()?;
        }
        self.tell()?;
        Ok(self.ledger.progress())
    }

    fn idle(&mut self, at_most: Duration) -> io::Result<()> {
        if self.is_ahead {
            // There is room again.
            return Ok(());
        }
        wait_a_moment(self.wait, self.stream.as_fd(), self.is_full, at_most)
    }
}

pub(super) struct TcpServer {
    listener: TcpListener,
}

pub(super) fn listen(address: SocketAddr) -> io::Result<TcpServer> {
    Ok(TcpServer {
        listener: TcpListener::bind(address)?,
    })
}

impl Listener for TcpServer {
    fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            // One client at a time, and whatever becomes of it, the next one is served.
            drop(serve_client(next_client(&self.listener)?));
        }
    }
}

fn serve_client(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut words = [0; WORDS];
    stream.read_exact(&mut words)?;
    let plan = Plan::heard(&words)
        .filter(|plan| Link::Tcp.check_plan(plan).is_ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    stream.write_all(&words)?;
    notice_dead_peers(&stream)?;
    let sizes = [plan.answer, plan.size];
    let new = |stream| Tcp::new(stream, &plan, sizes, service::LOOK);
    match plan.role {
        Role::Answer { every, rest } => service::answer(&mut new(stream)?, every, rest, now_ns),
        Role::Exchange => service::exchange(&mut new(stream)?, now_ns),
        Role::Sink { .. } | Role::Both { .. } => {
            let expects = match plan.window_back() {
                None => Expects::Messages,
                Some(_) => Expects::Both,
            };
            let mut end = TcpStreamEnd::new(stream, &plan, sizes, expects)?;
            service::stream(&mut end, plan.window_back(), plan.wait, now_ns)
        }
    }
}

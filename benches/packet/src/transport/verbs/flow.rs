//! One end of a stream.
//!
//! Over a reliable connection the device says what the other end has: a send is completed when it is there.
//! Datagrams are completed when they have gone out; the ends tell each other what came.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use jitterlab_verbs::exchange::look;
use jitterlab_verbs::{Error, Service};

use super::half::Joined;
use crate::transport::end::{Progress, Stream};
use crate::transport::kind::Wait;
use crate::transport::ledger::{Head, Ledger, NOTE, step};
use crate::transport::path::{Operation, Path};
use crate::transport::socket::wait_a_moment;

pub struct Flow {
    joined: Joined,
    /// One in so many sends asks for its completion.
    signalled: u64,
    /// Sends so far, with notes, and the last of them that is known to be completed.
    posted: u64,
    completed: u64,
    /// Messages that came over a reliable connection.
    arrived: u64,
    /// The ledger of the ends of datagrams.
    ledger: Ledger,
    /// Steps since somebody looked at the line.
    steps: u64,
}

impl Flow {
    pub fn new(joined: Joined) -> Self {
        let window = joined.wanted.window.unwrap_or(1);
        Flow {
            signalled: step(window, joined.wanted.out as u64),
            posted: 0,
            completed: 0,
            arrived: 0,
            ledger: Ledger::new(window, joined.wanted.incoming as u64),
            steps: 0,
            joined,
        }
    }

    fn is_datagram(&self) -> bool {
        self.joined.wanted.how.service == Service::Ud
    }

    /// True if the queue takes another send; what was posted before lies where it was until it is completed.
    #[inline]
    fn has_room(&self) -> bool {
        self.posted - self.completed < u64::from(self.joined.wanted.sends())
    }

    /// Posts what lies at a place; there has to be room.
    #[inline]
    fn post(&mut self, at: usize, length: usize) -> io::Result<()> {
        let number = self.posted + 1;
        let is_signalled = number.is_multiple_of(self.signalled);
        self.joined
            .post_send(number, at, length, is_signalled)
            .map_err(io::Error::other)?;
        self.posted = number;
        Ok(())
    }

    /// Sends a note over datagrams, if there is room.
    fn tell(&mut self, note: &[u8; NOTE]) -> io::Result<bool> {
        if !self.has_room() {
            return Ok(false);
        }
        let at = self.joined.layout.out(self.posted + 1);
        // The number of a message is what comes last in it, and so it is here.
        let (head, came) = note.split_at(8);
        self.joined.pair.memory().write(at, came);
        self.joined.write_number(at, NOTE, word(head));
        self.post(at, NOTE)?;
        Ok(true)
    }

    /// Looks once in so many steps whether the other end is still there.
    #[inline]
    fn look(&mut self, steps: u64) -> io::Result<()> {
        const ONCE_IN: u64 = 1 << 12;
        self.steps += steps;
        if self.steps < ONCE_IN {
            return Ok(());
        }
        self.steps = 0;
        look(self.joined.line())
    }

    fn take_sends(&mut self) -> Result<(), Error> {
        while let Some(done) = self.joined.pair.sends().poll()? {
            self.completed = done.id;
        }
        Ok(())
    }

    /// Takes what came over a reliable connection.
    fn take_messages(&mut self) -> io::Result<()> {
        let receives = self.joined.layout.receives as u64;
        let queue = self.joined.pair.receives();
        while queue.poll().map_err(io::Error::other)?.is_some() {
            self.arrived += 1;
            self.joined.post_receive(self.arrived + receives)?;
        }
        Ok(())
    }

    /// The number of the message that was written last into the first of the buffers. It may be written at this moment.
    fn written(&self) -> u64 {
        let read = || {
            let at = self.joined.layout.place(1);
            self.joined.read_number(at, self.joined.wanted.incoming)
        };
        let mut number = read();
        loop {
            match read() {
                same if same == number => return number,
                other => number = other,
            }
        }
    }

    /// Takes what came as datagrams.
    fn take_datagrams(&mut self) -> io::Result<()> {
        /// Messages that are taken before the other direction has its turn.
        const AT_ONCE: usize = 64;
        for _ in 0..AT_ONCE {
            let Some(done) = self
                .joined
                .pair
                .receives()
                .poll()
                .map_err(io::Error::other)?
            else {
                break;
            };
            let header = self.joined.layout.header;
            let length = (done.length as usize).saturating_sub(header);
            if done.source == self.joined.pair.peer() && length >= 8 {
                let at = self.joined.layout.place(done.id) + header;
                let number = self.joined.read_number(at, length);
                match Ledger::head(number) {
                    Head::Message(number) => self.ledger.arrived(number),
                    Head::Note if length == NOTE => {
                        let mut note = [0; NOTE];
                        note[..8].copy_from_slice(&number.to_le_bytes());
                        self.joined.pair.memory().read(at, &mut note[8..]);
                        self.ledger.heard(&note);
                    }
                    Head::Note => {}
                }
            }
            self.joined.post_receive(done.id)?;
            if let Some(note) = self.ledger.due()
                && self.tell(&note)?
            {
                self.ledger.told();
            }
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |&word| u64::from_le_bytes(word))
}

impl Stream for Flow {
    #[inline]
    fn send(&mut self) -> io::Result<bool> {
        if !self.has_room() {
            return Ok(false);
        }
        let at = self.joined.layout.out(self.posted + 1);
        let length = self.joined.wanted.out;
        self.joined.write_number(at, length, self.ledger.next());
        self.post(at, length)?;
        self.ledger.sent();
        Ok(true)
    }

    fn progress(&mut self) -> io::Result<Progress> {
        self.look(16)?;
        self.take_sends().map_err(io::Error::other)?;
        if self.is_datagram() {
            self.take_datagrams()?;
            return Ok(self.ledger.progress());
        }
        match self.joined.wanted.how.operation {
            Operation::Write => self.arrived = self.written(),
            Operation::WriteImm | Operation::Send => self.take_messages()?,
        }
        Ok(Progress {
            finished: self.completed,
            missing: 0,
            arrived: self.arrived,
        })
    }

    fn idle(&mut self, at_most: Duration) -> io::Result<()> {
        let is_written_to = self.joined.wanted.how.operation == Operation::Write;
        if is_written_to && self.posted == 0 {
            // The device does it all: this CPU is free until the other end goes.
            wait_a_moment(Wait::Block, self.joined.line().as_fd(), false, at_most)?;
            return look(self.joined.line());
        }
        std::hint::spin_loop();
        self.look(1)
    }

    /// Only the first of the buffers is read: over many, it changes once a round, which may take long.
    fn is_blind(&self) -> bool {
        self.joined.wanted.how.operation == Operation::Write
    }

    fn ask(&mut self) -> io::Result<()> {
        if !self.is_datagram() {
            return Ok(());
        }
        let question = self.ledger.ask();
        self.tell(&question).map(drop)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.joined.path)
    }
}

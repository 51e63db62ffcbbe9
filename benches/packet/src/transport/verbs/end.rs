//! One end of a ping-pong.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use jitterlab_verbs::exchange::look;
use jitterlab_verbs::{Completion, Error, Service};

use super::half::Joined;
use super::wanted::{PATIENCE, SIGNALLED};
use crate::transport::end::{Connection, Unwaited};
use crate::transport::kind::Wait;
use crate::transport::path::{Operation, Path};
use crate::transport::waiting::{Limit, now_ns, repeat};

pub struct End {
    joined: Joined,
    timeout: PollTimeout,
    /// Sends so far, and the last of them that is known to be completed.
    sent: u64,
    completed: u64,
    /// Messages so far, over a reliable connection.
    received: u64,
    /// The receive to be posted again, of the message that was received last.
    used: Option<u64>,
    /// True if an event waits to be taken.
    has_event: bool,
}

/// The last byte of a written message. It is never 0, which is what stands there before.
#[inline]
fn mark(number: u64) -> u8 {
    (number % 255) as u8 + 1
}

impl End {
    pub fn new(joined: Joined) -> Self {
        let milliseconds = joined.wanted.timeout.as_nanos().div_ceil(1_000_000);
        End {
            joined,
            timeout: PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX),
            sent: 0,
            completed: 0,
            received: 0,
            used: None,
            has_event: false,
        }
    }

    /// The next message that came over the queue, if one came in time.
    fn next(&mut self) -> io::Result<Option<u64>> {
        loop {
            let receives = self.joined.pair.receives();
            let done = match self.joined.wanted.wait {
                Wait::Poll => ask(self.joined.wanted.timeout, || receives.poll())?,
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
        let Joined {
            wanted,
            layout,
            pair,
            ..
        } = &self.joined;
        if wanted.how.service == Service::Rc {
            self.received += 1;
            // Receives are completed in the order in which they were posted.
            self.used = Some(self.received + layout.receives as u64);
            if wanted.how.operation == Operation::WriteImm && done.immediate != self.received as u32
            {
                return Err(io::ErrorKind::InvalidData.into());
            }
            return Ok(Some(self.received));
        }
        let length = wanted.incoming;
        let is_ours = done.source == pair.peer() && done.length as usize == layout.header + length;
        if !is_ours {
            self.joined.post_receive(done.id)?;
            return Ok(None);
        }
        self.used = Some(done.id);
        let at = layout.place(done.id) + layout.header;
        Ok(Some(self.joined.read_number(at, length)))
    }

    /// The next message that was written into the memory, if it came in time.
    fn watch(&mut self) -> io::Result<Option<u64>> {
        let number = self.received + 1;
        let memory = self.joined.pair.memory();
        let last = self.last_byte(number);
        let came = ask(self.joined.wanted.timeout, || {
            Ok((memory.byte(last) == mark(number)).then_some(()))
        })?;
        Ok(came.map(|()| self.take_written()))
    }

    /// Sleeps until something was received, or the other end has gone, or the time is over.
    fn sleep(&mut self) -> io::Result<Option<Completion>> {
        let receives = self.joined.pair.receives();
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
                PollFd::new(self.joined.line().as_fd(), PollFlags::POLLIN),
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

    /// The next message that came, if one is there already.
    fn arrived(&mut self) -> io::Result<Option<u64>> {
        if self.joined.wanted.how.operation == Operation::Write {
            let number = self.received + 1;
            let is_there = self.joined.pair.memory().byte(self.last_byte(number)) == mark(number);
            return Ok(is_there.then(|| self.take_written()));
        }
        let done = self.joined.pair.receives().poll();
        match done.map_err(io::Error::other)? {
            Some(done) => self.number_of(&done),
            None => Ok(None),
        }
    }

    /// The place of the last byte of a message that comes. A write arrives in order: where that byte is, all of it is.
    #[inline]
    fn last_byte(&self, number: u64) -> usize {
        self.joined.layout.place(number) + self.joined.wanted.incoming - 1
    }

    /// The number of the message that is in the memory. The buffer may be used again by one with the same mark.
    #[inline]
    fn take_written(&mut self) -> u64 {
        self.received += 1;
        let last = self.last_byte(self.received);
        self.joined.pair.memory().write(last, &[0]);
        self.received
    }

    /// Posts the send of a message.
    #[inline]
    fn post(&mut self, number: u64, is_signalled: bool) -> io::Result<()> {
        self.sent += 1;
        let joined = &self.joined;
        let at = joined.layout.out(self.sent);
        let length = joined.wanted.out;
        match joined.wanted.how.operation {
            Operation::Write => {
                let memory = joined.pair.memory();
                memory.write(at + length - 1, &[mark(self.sent)]);
            }
            _ => joined.write_number(at, length, number),
        }
        joined
            .post_send(self.sent, at, length, is_signalled)
            .map_err(io::Error::other)
    }

    /// Posts the receive of the message that was taken last again.
    #[inline]
    fn post_used(&mut self) -> io::Result<()> {
        match self.used.take() {
            Some(number) => self.joined.post_receive(number),
            None => Ok(()),
        }
    }

    /// Takes what the device has completed of the sends.
    fn take_sends(&mut self) -> io::Result<()> {
        while let Some(done) = self.joined.pair.sends().poll().map_err(io::Error::other)? {
            self.completed = done.id;
        }
        Ok(())
    }

    /// Waits until all sends up to this one are completed.
    fn complete(&mut self, sent: u64) -> io::Result<()> {
        while self.completed < sent {
            let sends = self.joined.pair.sends();
            match ask(PATIENCE, || sends.poll())? {
                Some(done) => self.completed = done.id,
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }

    /// Nothing has come, or an error: do sends go through, and is the other end there? The results of this
    /// end's own sends come first: they may show that the other end has gone.
    #[cold]
    fn look_after(&mut self) -> io::Result<()> {
        self.take_sends()?;
        look(self.joined.line())
    }
}

/// Asks again and again until there is something; none after `timeout`.
#[inline]
fn ask<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, Error>,
) -> io::Result<Option<T>> {
    /// The clock is read once for so many attempts: a look into memory takes less time than a reading.
    const ATTEMPTS: u32 = 1024;
    repeat(ATTEMPTS, Limit::new(timeout), now_ns, || {
        attempt().map_err(io::Error::other)
    })
}

impl Connection for End {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let next = self.sent + 1;
        let is_signalled = next.is_multiple_of(SIGNALLED);
        if is_signalled {
            self.complete(next - SIGNALLED)?;
        }
        self.post(number, is_signalled)
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        self.post_used()?;
        let arrived = match self.joined.wanted.how.operation {
            Operation::Write => self.watch(),
            Operation::WriteImm | Operation::Send => self.next(),
        };
        if !matches!(arrived, Ok(Some(_))) {
            self.look_after()?;
        }
        arrived
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.joined.path)
    }
}

impl Unwaited for End {
    fn send(&mut self, number: u64) -> io::Result<bool> {
        let next = self.sent + 1;
        let is_signalled = next.is_multiple_of(SIGNALLED);
        if is_signalled && self.completed + SIGNALLED < next {
            self.take_sends()?;
            if self.completed + SIGNALLED < next {
                return Ok(false);
            }
        }
        self.post(number, is_signalled)?;
        Ok(true)
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        self.post_used()?;
        self.arrived()
    }

    fn look(&mut self) -> io::Result<()> {
        self.look_after()
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.joined.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_never_what_was_there_before() {
        for number in 1..2_000 {
            assert!(mark(number) != 0 && mark(number) != mark(number + 1));
        }
    }
}

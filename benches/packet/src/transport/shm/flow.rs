//! One end of a stream. The ends tell each other how far they are in notes, which lie among the messages of the other
//! direction, and are told from them by their first word.

use std::io;
use std::time::Duration;

use jitterlab_base::ring::Put;
use jitterlab_verbs::exchange::look;

use super::limits::{ATTEMPTS, damaged};
use super::meet::Joined;
use crate::transport::end::{Progress, Stream};
use crate::transport::ledger::{Head, Ledger, NOTE};
use crate::transport::plan::Plan;
use crate::transport::slots::Slots;

pub struct Flow {
    joined: Joined,
    ledger: Ledger,
    out: Slots,
    expects: Expects,
    /// Looks into memory since somebody looked at the line.
    looks: u32,
}

/// The messages that may come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Expects {
    Messages,
    Notes,
    Both,
}

impl Flow {
    pub fn new(joined: Joined, plan: &Plan, [out, incoming]: [u64; 2], expects: Expects) -> Self {
        Flow {
            joined,
            ledger: Ledger::new(plan.window().unwrap_or(1), incoming),
            out: Slots::new(out, plan.buffers),
            expects,
            looks: 0,
        }
    }

    /// Takes what has come next; whether there was something.
    #[inline]
    fn take(&mut self) -> io::Result<bool> {
        let Some(bytes) = self.joined.incoming.front().map_err(damaged)? else {
            return Ok(false);
        };
        let head = bytes.first_chunk().map(|&word| u64::from_le_bytes(word));
        let is_note = match self.expects {
            Expects::Messages => false,
            Expects::Notes => true,
            Expects::Both => head.is_some_and(|head| Ledger::head(head) == Head::Note),
        };
        match (is_note, bytes.first_chunk::<NOTE>()) {
            (true, Some(note)) => self.ledger.heard(note),
            (true, None) => return Err(io::ErrorKind::InvalidData.into()),
            (false, _) => self.ledger.arrived(self.ledger.expected()),
        }
        self.joined.incoming.pop().map_err(damaged)?;
        Ok(true)
    }

    /// Tells what the other end is to know, if there is room for it.
    #[inline]
    fn tell(&mut self) -> io::Result<()> {
        if let Some(note) = self.ledger.due()
            && put(&mut self.joined, &note)?
        {
            self.ledger.told();
        }
        Ok(())
    }
}

/// Puts a message or a note into the ring, if there is room for it.
#[inline]
fn put(joined: &mut Joined, bytes: &[u8]) -> io::Result<bool> {
    match joined.out.put(bytes, &[]) {
        Put::Done => Ok(true),
        Put::Full => Ok(false),
        Put::Closed => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Stream for Flow {
    #[inline]
    fn send(&mut self) -> io::Result<bool> {
        let number = self.ledger.next();
        let message = self.out.of(number);
        if let Some(word) = message.first_chunk_mut() {
            *word = number.to_le_bytes();
        }
        let is_sent = put(&mut self.joined, message)?;
        if is_sent {
            self.ledger.sent();
        }
        Ok(is_sent)
    }

    fn progress(&mut self) -> io::Result<Progress> {
        /// Messages that are taken before the other direction has its turn.
        const AT_ONCE: usize = 32;
        for _ in 0..AT_ONCE {
            if !self.take()? {
                break;
            }
            self.tell()?;
        }
        self.tell()?;
        Ok(self.ledger.progress())
    }

    fn idle(&mut self, _at_most: Duration) -> io::Result<()> {
        std::hint::spin_loop();
        self.looks += 1;
        if self.looks < ATTEMPTS {
            return Ok(());
        }
        self.looks = 0;
        look(&self.joined.line)
    }
}

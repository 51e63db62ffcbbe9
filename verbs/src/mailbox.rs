//! A reliable connection whose messages are read where the device has put them.

#![allow(unsafe_code)]

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::exchange::Place;
use crate::{
    Chosen, Device, Error, Limits, MemoryRegion, Mtu, Prepared, ProtectionDomain, QueuePair,
    Remote, SendKind, Service, Work,
};

/// Messages that may be under way, and messages that may be kept: a bit of a word each.
const SLOTS: usize = 64;
/// One send in so many asks for its completion, which stands for those before it.
const SIGNALLED: u64 = SLOTS as u64 / 2;
/// Longer messages the device fetches itself.
const INLINE: u32 = 220;

/// A mailbox that is not connected. Messages that come already have their places.
#[derive(Debug)]
pub struct Draft {
    prepared: Prepared,
    chosen: Chosen,
    slot: usize,
    first_packet: u32,
}

impl Draft {
    /// One on the port that was chosen, for messages of up to `length` bytes.
    ///
    /// # Errors
    /// The device cannot be opened, or does not give what is needed.
    pub fn new(chosen: Chosen, length: usize) -> Result<Self, Error> {
        let device = Device::open(&chosen.port.device)?;
        let prepare = |inline| {
            let domain = ProtectionDomain::new(&device)?;
            let memory = MemoryRegion::private(&domain, 2 * SLOTS * length)?;
            let limits = Limits {
                sends: SLOTS as u32,
                receives: SLOTS as u32,
                inline,
                has_events: false,
            };
            Prepared::new(Service::Rc, memory, &limits, chosen.port.number)
        };
        // The device says what it does not take inline: by an error, or by giving less.
        let prepared = match prepare(INLINE) {
            Err(error) if error.is_of("ibv_create_qp") => prepare(0)?,
            prepared => prepared?,
        };
        for slot in 0..SLOTS {
            prepared.post_receive(slot as u64, (SLOTS + slot) * length, length)?;
        }
        let any = RandomState::new().hash_one(prepared.number());
        Ok(Draft {
            prepared,
            chosen,
            slot: length,
            first_packet: any as u32 & 0xff_ffff,
        })
    }

    /// The longest packet that its port carries.
    pub fn mtu(&self) -> Mtu {
        self.chosen.mtu
    }

    /// The place of it, for the other end. No memory of it may be written to.
    pub fn place(&self) -> Place {
        Place {
            end: self.chosen.end(self.prepared.number(), self.first_packet),
            memory: Remote { address: 0, key: 0 },
        }
    }

    /// Joins it with the other end, with packets of up to `mtu`.
    ///
    /// # Errors
    /// The other end cannot be reached from this port.
    pub fn connect(self, mtu: Mtu, other: &Place) -> Result<Mailbox, Error> {
        let route = self.chosen.route(self.first_packet, mtu, other.end);
        let inline = self.prepared.inline() as usize;
        Ok(Mailbox {
            shared: Arc::new(Shared {
                pair: self.prepared.connect(&route)?,
                slot: self.slot,
                returned: AtomicU64::new(0),
            }),
            inline,
            sent: 0,
            completed: 0,
            read: 0,
        })
    }
}

/// A reliable connection for messages of up to some length. It allocates nothing for them.
#[derive(Debug)]
pub struct Mailbox {
    shared: Arc<Shared>,
    inline: usize,
    /// Sends so far, and the last of them that is known to be completed.
    sent: u64,
    completed: u64,
    /// A bit for each slot of a receive that was read and is to be posted again.
    read: u64,
}

/// The part that a mailbox and the messages that were received share.
#[derive(Debug)]
struct Shared {
    pair: QueuePair,
    /// The length of a slot: the sends' come first in the memory, then the receives'.
    slot: usize,
    /// A bit for each slot of a receive that its reader keeps no longer.
    returned: AtomicU64,
}

// SAFETY: the mailbox alone uses the pair, one thread at a time. Messages read their own slots, and the atomic.
unsafe impl Sync for Shared {}

impl Mailbox {
    /// Sends a message: `head` followed by `payload`; whether there was room for it.
    ///
    /// # Errors
    /// The connection is broken: an earlier message did not arrive, or the device says so.
    ///
    /// # Panics
    /// The message is longer than what the mailbox is for.
    pub fn send(&mut self, head: &[u8], payload: &[u8]) -> Result<bool, Error> {
        let (number, length) = (self.sent + 1, head.len() + payload.len());
        let Shared { pair, slot, .. } = &*self.shared;
        assert!(length <= *slot, "{length} bytes");
        if number - self.completed > SLOTS as u64 {
            while let Some(done) = pair.sends().poll()? {
                self.completed = done.id;
            }
            if number - self.completed > SLOTS as u64 {
                return Ok(false);
            }
        }
        let at = (number % SLOTS as u64) as usize * slot;
        pair.memory().write(at, head);
        pair.memory().write(at + head.len(), payload);
        let work = Work {
            id: number,
            at,
            length,
            is_inline: length <= self.inline,
            is_signalled: number.is_multiple_of(SIGNALLED),
        };
        pair.post_send(SendKind::Send, &work)?;
        self.sent = number;
        Ok(true)
    }

    /// The next message that has come, where it lies, until it is dropped. One of up to `short` bytes is given to `read` instead, and
    /// its place is free after that: nobody has to keep account of who reads it.
    ///
    /// # Errors
    /// The connection is broken.
    #[inline]
    pub fn receive<T>(
        &mut self,
        short: usize,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<Message<T>>, Error> {
        let Shared {
            pair,
            slot,
            returned,
        } = &*self.shared;
        if returned.load(Ordering::Relaxed) != 0 {
            // Acquire: what was read there has been read.
            self.read |= returned.swap(0, Ordering::Acquire);
        }
        while self.read != 0 {
            let number = self.read.trailing_zeros() as usize;
            pair.post_receive(number as u64, (SLOTS + number) * slot, *slot)?;
            self.read &= self.read - 1;
        }
        let Some(done) = pair.receives().poll()? else {
            return Ok(None);
        };
        let (number, length) = (done.id as usize % SLOTS, (done.length as usize).min(*slot));
        if length > short {
            return Ok(Some(Message::Long(Received {
                shared: Arc::clone(&self.shared),
                slot: number,
                length,
            })));
        }
        // SAFETY: as in `Received`; the slot is posted again only by the next call.
        let message = unsafe { pair.memory().slice((SLOTS + number) * slot, length) };
        self.read |= 1 << number;
        Ok(Some(Message::Short(read(message))))
    }

    /// Looks whether what was sent has failed, which a receiver alone would not see.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn look(&mut self) -> Result<(), Error> {
        while let Some(done) = self.shared.pair.sends().poll()? {
            self.completed = done.id;
        }
        Ok(())
    }
}

/// A message that has come.
#[derive(Debug)]
pub enum Message<T> {
    /// What was made of a short one.
    Short(T),
    /// A longer one.
    Long(Received),
}

/// A message that has come, in the memory that the device wrote it to.
pub struct Received {
    shared: Arc<Shared>,
    slot: usize,
    length: usize,
}

impl Deref for Received {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let Shared { pair, slot, .. } = &*self.shared;
        // SAFETY: the slot is this message's alone until it is dropped: the device writes to it only between a receive that
        // is posted and its completion, and no other end may write to this memory (`MemoryRegion::private`). The memory
        // lives as long as `shared`.
        unsafe { pair.memory().slice((SLOTS + self.slot) * slot, self.length) }
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.shared
            .returned
            .fetch_or(1 << self.slot, Ordering::Release);
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Received({} bytes)", self.length)
    }
}

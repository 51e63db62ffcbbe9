//! A ring in shared memory: frames from one process to another, by copying them in on one side and reading them where they
//! lie on the other. No call of the system, no lock, no wait.
//!
//! One ring serves one pair of ends in one direction, for one life of each: its producer makes it, one consumer attaches it.
//! A life has a number, its *incarnation*, and an end that comes to live again takes a new ring. Whoever finds that the other
//! life is over closes the ring, and the end that still lives sees that. So nothing has to be mended that the dead have left,
//! and no two ends share what a third could spoil.
//!
//! Who waits, polls. Sleeping is not the ring's matter: a producer that had to wake a sleeper would need a fence and a look
//! at every frame. Those who may be late look again and again, and sleep in between.

#![allow(unsafe_code)]

mod atomic;
mod order;

use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::page::{Attached, Content, Head, Owner, PageError, Shared, Whose, attach, make};

use order::{HEAD, LINE, Memory, Place, Reading, Writing};

/// The memory of a ring of so many lines of 64 bytes: a power of two.
#[repr(C, align(64))]
pub struct Ring<const LINES: usize> {
    /// The owner is the producer.
    head: Head,
    size: AtomicU64,
    /// The life of the producer, and the life of the consumer that the ring is meant for.
    incarnations: [AtomicU64; 2],
    consumer: Whose,
    closed: AtomicU64,
    freed: Alone,
    lines: [Line; LINES],
}

/// A word that no other shares a line with.
#[repr(C, align(64))]
struct Alone(AtomicU64);

#[repr(C, align(64))]
struct Line([AtomicU64; LINE / 8]);

// SAFETY: atomics only; padding is never looked at.
unsafe impl<const LINES: usize> Shared for Ring<LINES> {}

impl<const LINES: usize> Content for Ring<LINES> {
    const MAGIC: u64 = u64::from_be_bytes(*b"jlabrng\x01");
    const NAME: &'static str = "ring";

    fn head(&self) -> &Head {
        &self.head
    }
}

impl<const LINES: usize> Memory for Ring<LINES> {
    #[inline]
    fn lines(&self) -> u64 {
        LINES as u64
    }

    #[inline]
    fn head(&self, line: usize) -> &AtomicU64 {
        &self.lines[line].0[0]
    }

    #[inline]
    fn freed(&self) -> &AtomicU64 {
        &self.freed.0
    }
}

impl<const LINES: usize> Ring<LINES> {
    /// The longest frame, in bytes.
    pub const LONGEST: usize = {
        assert!(LINES.is_power_of_two() && LINES >= 4);
        order::longest(LINES)
    };

    /// The incarnation of its producer.
    pub fn producer(&self) -> u64 {
        self.incarnations[0].load(Ordering::Relaxed)
    }

    /// The incarnation of the consumer that it is meant for.
    pub fn meant_for(&self) -> u64 {
        self.incarnations[1].load(Ordering::Relaxed)
    }

    /// The process that consumes it; all zero before one does.
    pub fn consumer(&self) -> Owner {
        self.consumer.get()
    }

    /// Says that one of the two lives is over. What has been published can still be read.
    pub fn close(&self) {
        self.closed.store(1, Ordering::Release);
    }

    /// True if it has been closed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) != 0
    }

    /// The place where the bytes of a frame begin.
    #[inline]
    fn bytes(&self, line: usize) -> *mut u8 {
        let lines: *const Line = &raw const self.lines[0];
        assert!(line < LINES);
        // SAFETY: the line is one of the ring's, and its head is shorter than it.
        unsafe { lines.add(line).cast::<u8>().add(HEAD).cast_mut() }
    }
}

/// The longest frame that takes a single line, in bytes.
pub const ONE_LINE: usize = LINE - HEAD;

/// The fate of a frame that was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The consumer can see it.
    Done,
    /// There is no room now.
    Full,
    /// The ring is closed: nobody will read it.
    Closed,
}

/// The next frame of a ring, if it takes a single line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<T> {
    /// There is none.
    None,
    /// It takes several lines.
    Long,
    /// What was made of it.
    Line(T),
}

/// The end that writes.
pub struct Producer<const LINES: usize> {
    ring: Arc<Attached<Ring<LINES>>>,
    writing: Writing,
}

impl<const LINES: usize> Producer<LINES> {
    /// Makes a ring in a new file at `path`, for the consumer with the incarnation `to`. The file appears whole.
    ///
    /// # Errors
    /// There is such a file, or the system refuses it.
    pub fn make(path: &Path, incarnation: u64, to: u64) -> Result<Self, PageError> {
        let ring = make(path, |ring: &Ring<LINES>| {
            ring.head.set_owner(&Owner::own());
            ring.size.store(LINES as u64, Ordering::Relaxed);
            for (word, value) in ring.incarnations.iter().zip([incarnation, to]) {
                word.store(value, Ordering::Relaxed);
            }
        })?;
        Ok(Producer {
            ring: Arc::new(ring),
            writing: Writing::default(),
        })
    }

    /// Puts a frame into the ring: `head` followed by `payload`.
    ///
    /// # Panics
    /// The frame is longer than [`Ring::LONGEST`].
    #[inline]
    pub fn put(&mut self, head: &[u8], payload: &[u8]) -> Put {
        let length = head.len() + payload.len();
        assert!(length <= Ring::<LINES>::LONGEST, "{length} bytes");
        let ring = &**self.ring;
        if ring.is_closed() {
            return Put::Closed;
        }
        let Some(line) = self.writing.reserve(ring, length) else {
            return Put::Full;
        };
        let to = ring.bytes(line);
        // SAFETY: the room that was reserved begins there and has space for `length` bytes after the head of its first line
        // without a break. Nobody else writes it, this being the ring's one producer, and the consumer looks at none of it
        // before it is published. What is copied lies in memory of this process.
        unsafe {
            std::ptr::copy_nonoverlapping(head.as_ptr(), to, head.len());
            std::ptr::copy_nonoverlapping(payload.as_ptr(), to.add(head.len()), payload.len());
        }
        self.writing.publish(ring, length);
        Put::Done
    }

    /// The ring.
    pub fn ring(&self) -> &Attached<Ring<LINES>> {
        &self.ring
    }
}

/// The end that reads.
pub struct Consumer<const LINES: usize> {
    ring: Arc<Attached<Ring<LINES>>>,
    reading: Reading,
}

/// A ring holds what no producer writes: it is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a ring in shared memory is damaged")]
pub struct Damaged;

impl<const LINES: usize> Consumer<LINES> {
    /// Attaches the ring in the file at `path`, as its one consumer.
    ///
    /// # Errors
    /// The file cannot be opened, or is no ring of this size and version.
    pub fn attach(path: &Path) -> Result<Self, PageError> {
        let ring: Attached<Ring<LINES>> = attach(path)?;
        if ring.size.load(Ordering::Relaxed) != LINES as u64 {
            return Err(PageError::NotAPage {
                what: Ring::<LINES>::NAME,
                path: path.into(),
            });
        }
        ring.consumer.set(&Owner::own());
        Ok(Consumer {
            ring: Arc::new(ring),
            reading: Reading::default(),
        })
    }

    /// The next frame, where it lies. It stays the next one until it is [popped](Consumer::pop) or [taken](Consumer::take).
    ///
    /// # Errors
    /// There is something else.
    #[inline]
    pub fn front(&mut self) -> Result<Option<&[u8]>, Damaged> {
        let place = self.place()?;
        // SAFETY: the producer has published these bytes, which lie within the ring (`Reading::front` has looked). It does
        // not write them again before they are freed, and that takes `self`.
        Ok(place.map(|place| unsafe { bytes(&self.ring, place) }))
    }

    /// Frees the next frame, if there is one.
    ///
    /// # Errors
    /// There is something else.
    #[inline]
    pub fn pop(&mut self) -> Result<(), Damaged> {
        if let Some(place) = self.place()? {
            self.reading.pop(&**self.ring, place);
        }
        Ok(())
    }

    /// Gives the next frame to `read`, where it lies, with its length, and frees it, if it takes a single line. The bytes behind the
    /// frame in its line mean nothing.
    ///
    /// # Errors
    /// There is something else than a frame.
    #[inline]
    pub fn pop_line<T>(
        &mut self,
        read: impl FnOnce(&[u8; ONE_LINE], usize) -> T,
    ) -> Result<Next<T>, Damaged> {
        let Some(place) = self.place()? else {
            return Ok(Next::None);
        };
        if place.length > ONE_LINE {
            return Ok(Next::Long);
        }
        // SAFETY: the frame is the next one, as in `front`, and the producer writes no part of its line before that is freed.
        let line = unsafe { &*self.ring.bytes(place.line).cast::<[u8; ONE_LINE]>() };
        let read = read(line, place.length);
        self.reading.pop(&**self.ring, place);
        Ok(Next::Line(read))
    }

    /// Takes the next frame, which stays where it lies until it is dropped, and its room with it.
    ///
    /// # Errors
    /// There is something else.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Frame<LINES>>, Damaged> {
        self.free()?;
        Ok(self.place()?.map(|place| {
            self.reading.keep(place);
            Frame {
                ring: Arc::clone(&self.ring),
                place,
            }
        }))
    }

    /// Gives the producer the room of frames that were taken and dropped. [`Consumer::take`] does it, too.
    ///
    /// # Errors
    /// There is something else.
    #[inline]
    pub fn free(&mut self) -> Result<(), Damaged> {
        self.reading.free(&**self.ring).map_err(|_| Damaged)
    }

    #[inline]
    fn place(&mut self) -> Result<Option<Place>, Damaged> {
        self.reading.front(&**self.ring).map_err(|_| Damaged)
    }

    /// The ring.
    pub fn ring(&self) -> &Attached<Ring<LINES>> {
        &self.ring
    }
}

/// A frame in its ring.
pub struct Frame<const LINES: usize> {
    ring: Arc<Attached<Ring<LINES>>>,
    place: Place,
}

impl<const LINES: usize> Deref for Frame<LINES> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: as in `Consumer::front`; it is freed only after `self` was dropped.
        unsafe { bytes(&self.ring, self.place) }
    }
}

impl<const LINES: usize> Drop for Frame<LINES> {
    #[inline]
    fn drop(&mut self) {
        order::give_back(&**self.ring, self.place);
    }
}

impl<const LINES: usize> fmt::Debug for Frame<LINES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({} bytes)", self.len())
    }
}

/// The bytes of a frame.
///
/// # Safety
/// The place is one that [`Reading::front`] gave of this ring, and has not been freed as long as the bytes are used.
#[inline]
unsafe fn bytes<const LINES: usize>(ring: &Ring<LINES>, place: Place) -> &[u8] {
    // SAFETY: the caller vouches for it, and no other process writes these bytes meanwhile. A producer that does so
    // nevertheless belongs to this user, and could as well change this process.
    unsafe { std::slice::from_raw_parts(ring.bytes(place.line), place.length) }
}

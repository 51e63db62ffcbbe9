//! The order of a ring's stores and loads: when a frame may be seen, and when its place may be written anew.
//!
//! A ring is a circle of lines. A frame takes whole lines, one after the other, and none across the end of the circle. The
//! first word of its first line is its head, and the head is stored last, so that who sees a head sees the frame. Zero is no
//! head: before a producer writes a frame, it puts a zero after it, where the next head will be. So a consumer polls the line
//! that brings the frame itself, and what lay there a round before cannot pass for a head.
//!
//! A producer may die at any moment: what it has not published is never looked at. A consumer may die at any moment: what it
//! has not freed stays where it is.
//!
//! The atomics come from the parent module, so that a model checker's can stand in for them (see `tests/ring_model.rs`).

use super::atomic::{AtomicU64, Ordering};

/// The memory that the two ends share.
pub trait Memory {
    /// The number of lines: a power of two.
    fn lines(&self) -> u64;
    /// The first word of a line.
    fn head(&self, line: usize) -> &AtomicU64;
    /// The number of lines that the consumer has freed since the beginning.
    fn freed(&self) -> &AtomicU64;
}

/// The bytes of a line.
pub const LINE: usize = 64;
/// The bytes of a head, which come before those of the frame.
pub const HEAD: usize = 8;

/// A head that stands for a frame, with its length in the lower half.
const FRAME: u64 = 1 << 32;
/// A head that stands for the lines up to the end of the circle, which are left out, with their number in the lower half.
const SKIP: u64 = 1 << 33;
/// A frame that its reader keeps no longer.
const FREE: u64 = 1 << 34;

/// The number of lines that a frame of `length` bytes takes.
pub fn lines_of(length: usize) -> u64 {
    (length + HEAD).div_ceil(LINE) as u64
}

/// The longest frame of a ring of so many lines: one that fits an empty ring wherever it begins.
pub const fn longest(lines: usize) -> usize {
    lines / 2 * LINE - HEAD
}

fn place(memory: &impl Memory, line: u64) -> usize {
    (line & (memory.lines() - 1)) as usize
}

/// The producer's end.
#[derive(Debug, Default)]
pub struct Writing {
    /// Lines that have been published since the beginning.
    published: u64,
    /// Lines that the consumer had freed at the last look.
    freed: u64,
}

impl Writing {
    /// The first line of room for a frame of `length` bytes, at most [`longest`]; `None` if there is none now. The frame's
    /// bytes are to be written there, after its head, and then [`Writing::publish`]ed.
    #[inline]
    pub fn reserve(&mut self, memory: &impl Memory, length: usize) -> Option<usize> {
        let (lines, wanted) = (memory.lines(), lines_of(length));
        let line = place(memory, self.published) as u64;
        let skipped = if line + wanted > lines {
            lines - line
        } else {
            0
        };
        // One more, for the zero after it.
        let needed = skipped + wanted + 1;
        if self.room(lines) < needed {
            // Acquire: what the consumer has read, it has read before it is overwritten.
            self.freed = memory.freed().load(Ordering::Acquire);
            if self.room(lines) < needed {
                return None;
            }
        }
        if skipped > 0 {
            memory.head(0).store(0, Ordering::Relaxed);
            memory
                .head(line as usize)
                .store(SKIP | skipped, Ordering::Release);
            self.published += skipped;
        }
        memory
            .head(place(memory, self.published + wanted))
            .store(0, Ordering::Relaxed);
        Some(place(memory, self.published))
    }

    /// Lines that may be written. A consumer that says nonsense leaves no room.
    #[inline]
    fn room(&self, lines: u64) -> u64 {
        lines.saturating_sub(self.published.wrapping_sub(self.freed))
    }

    /// Lets the consumer see the frame that was written to the room reserved for it.
    #[inline]
    pub fn publish(&mut self, memory: &impl Memory, length: usize) {
        let head = memory.head(place(memory, self.published));
        // Release: who sees the head sees the bytes after it and the zero after them.
        head.store(FRAME | length as u64, Ordering::Release);
        self.published += lines_of(length);
    }
}

/// The consumer's end.
#[derive(Debug, Default)]
pub struct Reading {
    /// Lines that have been passed since the beginning.
    passed: u64,
    /// Lines that have been freed.
    freed: u64,
}

/// The place of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its first line.
    pub line: usize,
    /// Its length in bytes.
    pub length: usize,
}

/// A head that no producer of ours has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonsense;

impl Reading {
    /// The next frame, if one has been published.
    ///
    /// # Errors
    /// There is something else.
    #[inline]
    pub fn front(&mut self, memory: &impl Memory) -> Result<Option<Place>, Nonsense> {
        loop {
            let line = place(memory, self.passed);
            let head = memory.head(line).load(Ordering::Acquire);
            if head == 0 {
                return Ok(None);
            }
            let rest = memory.lines() - line as u64;
            let number = head & (FRAME - 1);
            match head & !(FRAME - 1) {
                FRAME if lines_of(number as usize) <= rest.min(memory.lines() / 2) => {
                    let length = number as usize;
                    return Ok(Some(Place { line, length }));
                }
                SKIP if number == rest => {
                    self.passed += rest;
                    if self.freed + rest == self.passed {
                        self.freed = self.passed;
                    }
                }
                _ => return Err(Nonsense),
            }
        }
    }

    /// Passes and frees the frame that [`Reading::front`] gave.
    #[inline]
    pub fn pop(&mut self, memory: &impl Memory, frame: Place) {
        let keeps_none = self.freed == self.passed;
        self.passed += lines_of(frame.length);
        match keeps_none {
            true => {
                self.freed = self.passed;
                // Release: what was read here has been read.
                memory.freed().store(self.freed, Ordering::Release);
            }
            false => give_back(memory, frame),
        }
    }

    /// Passes the frame that [`Reading::front`] gave. Its reader keeps it until it is [given back](give_back).
    #[inline]
    pub fn keep(&mut self, frame: Place) {
        self.passed += lines_of(frame.length);
    }

    /// Frees what has been given back, as far as nothing before it is kept.
    ///
    /// # Errors
    /// A head is nonsense.
    #[inline]
    pub fn free(&mut self, memory: &impl Memory) -> Result<(), Nonsense> {
        let before = self.freed;
        while self.freed < self.passed {
            // Acquire: another thread may have given it back, and has read it.
            let line = place(memory, self.freed);
            let head = memory.head(line).load(Ordering::Acquire);
            let number = head & (FRAME - 1);
            let lines = match head & !(FRAME - 1) {
                SKIP => number,
                kept if kept == FRAME | FREE => lines_of(number as usize),
                FRAME => break,
                _ => return Err(Nonsense),
            };
            if lines > self.passed - self.freed {
                return Err(Nonsense);
            }
            self.freed += lines;
        }
        if self.freed != before {
            memory.freed().store(self.freed, Ordering::Release);
        }
        Ok(())
    }
}

/// Gives back a frame that was kept: the one that has it calls this once, and reads no more of it.
#[inline]
pub fn give_back(memory: &impl Memory, frame: Place) {
    let head = FRAME | FREE | frame.length as u64;
    memory.head(frame.line).store(head, Ordering::Release);
}

//! A block of words that one process publishes and another's threads read on their hot path: a
//! reader is never blocked and never sees half a block.
//!
//! Two copies stand side by side. The generation's lowest bit says which is the current one. A
//! writer fills the other copy and then raises the generation; it may die at any moment without
//! harm. A reader takes a word of the copy that was current when it looked and then looks at the
//! generation again: a copy is overwritten only after the generation has moved on, so an
//! unchanged generation vouches for the word.
//!
//! What a reader asks first is published with the generation itself, in its two highest bits: the block's [`Mark`].
//!
//! The atomics come from the parent module, so that a model checker's can stand in for them (see
//! `tests/published_model.rs`).

use super::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Two bits that a block is published with. The content gives them their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// The mark with neither bit.
    pub const NONE: Mark = Mark(0);
    /// The first bit alone.
    pub const FIRST: Mark = Mark(1 << 63);
    /// Both bits.
    pub const BOTH: Mark = Mark(3 << 62);

    /// The generation that has this mark and no number: of a block that there is not.
    pub const fn alone(self) -> u64 {
        self.0
    }
}

/// A generation as a reader has seen it: one load, and all that a hot path asks is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Seen(u64);

impl Seen {
    /// The generation's number, mark included, as [`Published::generation`] gives it.
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The generation that [`Published::generation`] gave, as if it had been looked at.
    #[inline(always)]
    pub fn of(number: u64) -> Self {
        Seen(number)
    }

    /// True if the first bit of the mark is set.
    #[inline(always)]
    pub fn has_first(self) -> bool {
        self.0 & Mark::FIRST.0 != 0
    }

    /// True if the second bit of the mark is set.
    #[inline(always)]
    pub fn has_second(self) -> bool {
        self.0 & !Mark::FIRST.0 & Mark::BOTH.0 != 0
    }

    /// The mark that was published with it.
    pub fn mark(self) -> Mark {
        Mark(self.0 & Mark::BOTH.0)
    }
}

/// The number of the current block, and its mark.
#[repr(transparent)]
pub struct Generation(pub AtomicU64);

impl Generation {
    /// A look at it.
    #[inline(always)]
    pub fn seen(&self) -> Seen {
        Seen(self.0.load(Ordering::Relaxed))
    }
}

/// `WORDS` words of 32 bits, published together. All zero, as fresh shared memory is, means that
/// nothing has been published yet: generation 0.
#[repr(C)]
pub struct Published<const WORDS: usize> {
    generation: Generation,
    copies: [[AtomicU32; WORDS]; 2],
}

impl<const WORDS: usize> Default for Published<WORDS> {
    fn default() -> Self {
        Published {
            generation: Generation(AtomicU64::new(0)),
            copies: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU32::new(0))),
        }
    }
}

impl<const WORDS: usize> Published<WORDS> {
    /// The generation with its mark, for a hot path that keeps the way to it.
    #[inline(always)]
    pub fn mark(&self) -> &Generation {
        &self.generation
    }

    /// The current generation. Words are read with the generation that they are expected of.
    #[inline(always)]
    pub fn generation(&self) -> u64 {
        self.generation.0.load(Ordering::Acquire)
    }

    /// The word at `index` in `generation`, or `None` if that is no longer the current one.
    #[inline(always)]
    pub fn word(&self, generation: u64, index: usize) -> Option<u32> {
        let word = self.copies[(generation & 1) as usize][index].load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        (self.generation.0.load(Ordering::Relaxed) == generation).then_some(word)
    }

    /// Copies the words of the current generation, all of one generation, and gives it.
    pub fn read(&self, words: &mut [u32; WORDS]) -> u64 {
        loop {
            let generation = self.generation();
            let copy = &self.copies[(generation & 1) as usize];
            for (word, source) in words.iter_mut().zip(copy) {
                *word = source.load(Ordering::Relaxed);
            }
            fence(Ordering::Acquire);
            if self.generation.0.load(Ordering::Relaxed) == generation {
                return generation;
            }
        }
    }

    /// Makes `words` the current ones, with this mark. Writers exclude each other from outside, by a file lock.
    pub fn publish(&self, words: &[u32; WORDS], mark: Mark) {
        let next = (self.generation.0.load(Ordering::Relaxed) & !Mark::BOTH.0) + 1;
        // Orders the previous publication before the stores below: whoever sees one of them also
        // sees that the generation which used this copy is over.
        fence(Ordering::Release);
        for (word, target) in words.iter().zip(&self.copies[(next & 1) as usize]) {
            target.store(*word, Ordering::Relaxed);
        }
        self.generation.0.store(next | mark.0, Ordering::Release);
    }
}

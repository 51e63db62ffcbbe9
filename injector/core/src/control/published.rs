//! A block of words that one process publishes and another's threads read on their hot path: a
//! reader is never blocked and never sees half a block.
//!
//! Two copies stand side by side. The generation's lowest bit says which is the current one. A
//! writer fills the other copy and then raises the generation; it may die at any moment without
//! harm. A reader takes a word of the copy that was current when it looked and then looks at the
//! generation again: a copy is overwritten only after the generation has moved on, so an
//! unchanged generation vouches for the word.
//!
//! What a hook asks first is published with the generation itself, in its two highest bits: the block's [`Switch`].
//!
//! The atomics come from the parent module, so that a model checker's can stand in for them (see
//! `tests/published_model.rs`).

use super::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// What a block has hooks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch(pub(super) u64);

impl Switch {
    /// Nothing.
    pub const OFF: Switch = Switch(0);
    /// Injection is on, with a table of zeros, and there is nothing to wait for.
    pub const ZEROS: Switch = Switch(1 << 63);
    /// It is on, with delays.
    pub const DELAYS: Switch = Switch(3 << 62);
}

/// A generation as a hook has seen it: one load, and all that a hook asks is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Seen(pub(crate) u64);

impl Seen {
    /// Whether there is nothing to do.
    #[inline(always)]
    pub fn is_off(self) -> bool {
        self.0 & Switch::ZEROS.0 == 0
    }

    /// Whether there are delays, where something is injected.
    #[inline(always)]
    pub fn has_delays(self) -> bool {
        self.0 & !Switch::ZEROS.0 & Switch::DELAYS.0 != 0
    }

    /// The switch that was published with it.
    pub fn switch(self) -> Switch {
        Switch(self.0 & Switch::DELAYS.0)
    }
}

/// Which block is the current one, and its switch.
#[repr(transparent)]
pub struct Generation(pub(super) AtomicU64);

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
pub(super) struct Published<const WORDS: usize> {
    pub(super) generation: Generation,
    pub(super) copies: [[AtomicU32; WORDS]; 2],
}

impl<const WORDS: usize> Published<WORDS> {
    /// The current generation. Words are read with the generation that they are expected of.
    #[inline(always)]
    pub(super) fn generation(&self) -> u64 {
        self.generation.0.load(Ordering::Acquire)
    }

    /// The word at `index` in `generation`, or `None` if that is no longer the current one.
    #[inline(always)]
    pub(super) fn word(&self, generation: u64, index: usize) -> Option<u32> {
        let word = self.copies[(generation & 1) as usize][index].load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        (self.generation.0.load(Ordering::Relaxed) == generation).then_some(word)
    }

    /// Copies the words of the current generation, all of one generation, and gives it.
    pub(super) fn read(&self, words: &mut [u32; WORDS]) -> u64 {
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

    /// Makes `words` the current ones, with this switch. Writers exclude each other from outside, by a file lock.
    pub(super) fn publish(&self, words: &[u32; WORDS], switch: Switch) {
        let next = (self.generation.0.load(Ordering::Relaxed) & !Switch::DELAYS.0) + 1;
        // Orders the previous publication before the stores below: whoever sees one of them also
        // sees that the generation which used this copy is over.
        fence(Ordering::Release);
        for (word, target) in words.iter().zip(&self.copies[(next & 1) as usize]) {
            target.store(*word, Ordering::Relaxed);
        }
        self.generation.0.store(next | switch.0, Ordering::Release);
    }
}

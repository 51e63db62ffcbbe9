//! Names and addresses as a page has them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a text.
pub(super) const WORDS: usize = 8;

/// A text as a page has it: its first 64 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Text([u64; WORDS]);

impl Text {
    pub(super) fn of(text: &str) -> Text {
        let mut bytes = text.bytes();
        let mut next = || std::array::from_fn(|_| bytes.next().unwrap_or(0));
        Text(std::array::from_fn(|_| u64::from_ne_bytes(next())))
    }

    pub(super) fn put(self, words: &[AtomicU64; WORDS]) {
        for (word, value) in words.iter().zip(self.0) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

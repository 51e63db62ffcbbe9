//! Slots of a page: each thread writes to one of its own, so that it needs no atomic addition, which costs 5 ns more.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A slot is free, or belongs to a thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct Taken(pub(super) AtomicU32);

impl Taken {
    /// Nobody's.
    pub const fn nobody() -> Self {
        Taken(AtomicU32::new(0))
    }

    /// Gives the slot to whichever thread comes next. What was counted stays.
    pub fn release(&self) {
        self.0.store(0, Ordering::Release);
    }

    fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
            && self
                .0
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }
}

/// A free slot of `slots`, taken for the calling thread; the last one, which all others share, as an error if there is none.
/// `taken` is where a slot says whose it is.
pub fn claim<T, const N: usize>(
    slots: &'static [T; N],
    taken: impl Fn(&T) -> &Taken,
) -> Result<&'static T, &'static T> {
    const { assert!(N > 0, "there is a slot to share") };
    let shared = &slots[N - 1];
    let own = slots[..N - 1].iter().find(|slot| taken(slot).take());
    own.ok_or(shared)
}

/// Adds to a counter that this thread alone writes.
#[inline(always)]
pub fn add(counter: &AtomicU64, value: u64) {
    let sum = counter.load(Ordering::Relaxed).wrapping_add(value);
    counter.store(sum, Ordering::Relaxed);
}

/// Adds to a counter that other threads write, too.
#[inline(always)]
pub fn add_shared(counter: &AtomicU64, value: u64) {
    counter.fetch_add(value, Ordering::Relaxed);
}

//! The time before the due one at which the helper gets up.
//!
//! Sleeping is late: by some 20 us on a virtual machine even with the least timer slack, by hundreds in an emulated
//! one. So the helper gets up early and watches the clock, for as long as its sleeps have shown to be needed.

use std::sync::atomic::{AtomicU64, Ordering};

/// It is never shorter, nor longer, than this.
pub(super) const LEAST_NS: u64 = 60_000;
pub(super) const MOST_NS: u64 = 500_000;
/// The time that has to be left when it is up.
pub(super) const SPARE_NS: u64 = 20_000;
/// A sleep that was late by more lengthens it, one that was not shortens it. In proportion 19 to 1 that follows the
/// point that 19 of 20 sleeps stay under: one that took milliseconds, because something else had the processor,
/// counts like any other.
const UP_NS: u64 = 19_000;
const DOWN_NS: u64 = 1_000;

/// The margin; there is one helper, and it may have to begin again.
pub(super) struct Margin(AtomicU64);

impl Margin {
    pub(super) const fn new() -> Self {
        Margin(AtomicU64::new(LEAST_NS))
    }

    /// The time to sleep for something that is due in `left_ns`; `None` for no sleep. It is at least half of the
    /// time, if that is more than the least margin twice: the program may need the processor meanwhile.
    pub(super) fn sleep_ns(&self, left_ns: u64) -> Option<u64> {
        let margin = self
            .0
            .load(Ordering::Relaxed)
            .min(left_ns / 2)
            .max(LEAST_NS);
        left_ns.checked_sub(margin).filter(|&sleep| sleep > 0)
    }

    /// A sleep ended so much later than it should have.
    pub(super) fn slept(&self, late_ns: u64) {
        let margin = self.0.load(Ordering::Relaxed);
        let margin = if late_ns.saturating_add(SPARE_NS) > margin {
            margin + UP_NS
        } else {
            margin - DOWN_NS
        };
        self.0
            .store(margin.clamp(LEAST_NS, MOST_NS), Ordering::Relaxed);
    }
}

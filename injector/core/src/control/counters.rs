//! What each thread counts of its own sends.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Hook;

/// Slots for threads in a page. Threads beyond that share the last one.
pub const THREAD_SLOTS: usize = 256;

/// The counters of one thread, on cache lines of its own (an even number, because processors fetch pairs).
///
/// One thread writes a slot, so it adds by a load and a store: an atomic addition costs 5 ns more.
/// Only the last slot is shared, and there the addition is atomic.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Counters {
    pub(super) taken: AtomicU32,
    pub(super) calls: [AtomicU64; Hook::ALL.len()],
    /// Calls that drew a delay of zero: they count as a call and as a delay, and only here.
    pub(super) undelayed: [AtomicU64; Hook::ALL.len()],
    pub(super) delays: AtomicU64,
    pub(super) asked_ns: AtomicU64,
    pub(super) achieved_ticks: AtomicU64,
    pub(super) late_max_ticks: AtomicU64,
    pub(super) send_errors: AtomicU64,
}

/// A thread's way to its slot.
#[derive(Clone, Copy)]
pub struct Slot {
    pub(super) counters: &'static Counters,
    pub(super) shared: bool,
}

impl Counters {
    /// Counters that nothing has been counted in.
    pub const fn new() -> Self {
        Counters {
            taken: AtomicU32::new(0),
            calls: [const { AtomicU64::new(0) }; Hook::ALL.len()],
            undelayed: [const { AtomicU64::new(0) }; Hook::ALL.len()],
            delays: AtomicU64::new(0),
            asked_ns: AtomicU64::new(0),
            achieved_ticks: AtomicU64::new(0),
            late_max_ticks: AtomicU64::new(0),
            send_errors: AtomicU64::new(0),
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Counters::new()
    }
}

impl Slot {
    /// To counters that are the calling thread's own.
    #[inline(always)]
    pub(crate) fn own(counters: &'static Counters) -> Self {
        Slot {
            counters,
            shared: false,
        }
    }

    /// To counters that other threads count with, too.
    pub(crate) fn shared(counters: &'static Counters) -> Self {
        Slot {
            counters,
            shared: true,
        }
    }

    /// Its counters: the thread's own, or those that it shares as an error.
    pub(crate) fn counters(self) -> Result<&'static Counters, &'static Counters> {
        match self.shared {
            false => Ok(self.counters),
            true => Err(self.counters),
        }
    }

    #[inline(always)]
    fn add(self, counter: &AtomicU64, value: u64) {
        if self.shared {
            counter.fetch_add(value, Ordering::Relaxed);
        } else {
            let sum = counter.load(Ordering::Relaxed).wrapping_add(value);
            counter.store(sum, Ordering::Relaxed);
        }
    }

    /// Counts a call that came through `hook`.
    #[inline(always)]
    pub fn call(self, hook: Hook) {
        self.add(&self.counters.calls[hook as usize], 1);
    }

    /// Counts a call that came through `hook` and drew a delay of zero.
    #[inline(always)]
    pub(crate) fn undelayed(self, hook: Hook) {
        self.add(&self.counters.undelayed[hook as usize], 1);
    }

    /// Counts a delay that was drawn.
    #[inline(always)]
    pub fn asked(self, ns: u32) {
        self.add(&self.counters.delays, 1);
        self.add(&self.counters.asked_ns, u64::from(ns));
    }

    /// Counts the delay that it became, and by how much that was too long.
    #[inline(always)]
    pub fn achieved(self, ticks: u64, late_ticks: u64) {
        self.add(&self.counters.achieved_ticks, ticks);
        if late_ticks > self.counters.late_max_ticks.load(Ordering::Relaxed) {
            self.counters
                .late_max_ticks
                .store(late_ticks, Ordering::Relaxed);
        }
    }

    /// Counts a deferred send that the system refused when it was due.
    pub fn send_error(self) {
        self.add(&self.counters.send_errors, 1);
    }

    /// Gives the slot to whichever thread comes next. What was counted stays.
    pub fn release(self) {
        if !self.shared {
            self.counters.taken.store(0, Ordering::Release);
        }
    }
}

/// A free slot of `slots`, taken for the calling thread; the shared last one if there is none.
pub(super) fn claim(slots: &'static [Counters; THREAD_SLOTS]) -> Slot {
    let [own @ .., last] = slots;
    own.iter()
        .find(|counters| {
            counters.taken.load(Ordering::Relaxed) == 0
                && counters
                    .taken
                    .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        })
        .map_or(Slot::shared(last), Slot::own)
}

/// The sum of a page's counters over its threads, past and present.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Totals {
    /// Calls by hook, in the order of [`Hook::ALL`].
    pub calls: [u64; Hook::ALL.len()],
    /// Delays that are over.
    pub delays: u64,
    /// Their sum as asked, in nanoseconds (in spins for a table of spin counts).
    pub asked_ns: u64,
    /// Their sum as achieved, in nanoseconds: from the start of the delay to its end, the
    /// injector's own cost included.
    pub achieved_ns: u64,
    /// By how much the worst delay was longer than asked, in nanoseconds.
    pub late_max_ns: u64,
    /// Deferred sends that failed when they were due.
    pub send_errors: u64,
}

pub(super) fn total(slots: &[Counters; THREAD_SLOTS], ns_per_tick: f64) -> Totals {
    let mut totals = Totals::default();
    let mut achieved = 0;
    let mut late = 0;
    for slot in slots {
        for (sum, (calls, undelayed)) in totals
            .calls
            .iter_mut()
            .zip(slot.calls.iter().zip(&slot.undelayed))
        {
            let undelayed = undelayed.load(Ordering::Relaxed);
            *sum += calls.load(Ordering::Relaxed) + undelayed;
            totals.delays += undelayed;
        }
        totals.delays += slot.delays.load(Ordering::Relaxed);
        totals.asked_ns += slot.asked_ns.load(Ordering::Relaxed);
        totals.send_errors += slot.send_errors.load(Ordering::Relaxed);
        achieved += slot.achieved_ticks.load(Ordering::Relaxed);
        late = late.max(slot.late_max_ticks.load(Ordering::Relaxed));
    }
    totals.achieved_ns = (achieved as f64 * ns_per_tick).round() as u64;
    totals.late_max_ns = (late as f64 * ns_per_tick).round() as u64;
    totals
}

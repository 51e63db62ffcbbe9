//! The counts of each thread's own sends.

use std::sync::atomic::{AtomicU64, Ordering};

use jitterlab_base::page::slots::{self, Taken};
use jitterlab_base::shared;

use super::Hook;

/// Slots for threads in a page. Threads beyond that share the last one.
pub const THREAD_SLOTS: usize = 256;

shared! {
    /// The counters of one thread, on cache lines of its own (an even number, because processors fetch pairs).
    #[repr(align(128))]
    #[derive(Debug)]
    pub struct Counters {
        taken: Taken,
        calls: [AtomicU64; Hook::ALL.len()],
        /// Calls that drew a delay of zero: they count as a call and as a delay, and only here.
        undelayed: [AtomicU64; Hook::ALL.len()],
        delays: AtomicU64,
        asked_ns: AtomicU64,
        achieved_ticks: AtomicU64,
        late_max_ticks: AtomicU64,
        send_errors: AtomicU64,
    }
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
            taken: Taken::nobody(),
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
    /// The slot for counters that are the calling thread's own.
    #[inline(always)]
    pub(crate) fn own(counters: &'static Counters) -> Self {
        Slot {
            counters,
            shared: false,
        }
    }

    /// The slot for counters that other threads count with, too.
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
        match self.shared {
            true => slots::add_shared(counter, value),
            false => slots::add(counter, value),
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
            self.counters.taken.release();
        }
    }
}

/// A slot of `slots` for the calling thread.
pub(super) fn claim(counters: &'static [Counters; THREAD_SLOTS]) -> Slot {
    match slots::claim(counters, |slot| &slot.taken) {
        Ok(own) => Slot::own(own),
        Err(shared) => Slot::shared(shared),
    }
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
    /// The longest time that a delay was longer than asked, in nanoseconds.
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

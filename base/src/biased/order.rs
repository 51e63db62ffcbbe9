//! The order of stores and loads by which a biased lock knows the thread inside.
//!
//! Beside the lock stands an ordinary one, the *gate*. The thread with the gate may take the bias away from its holder, or take it for
//! itself. The holder of the bias enters without the gate: it says that it is inside, and then looks whether it still has the
//! bias. The thread that takes the bias away clears it, and then looks whether the holder is inside. A fence stands between the two
//! steps on both sides, so that one of them sees the other. The holder's fence keeps only the compiler in order; the other side's
//! fence is one for every thread of the process.
//!
//! A slow thread may still be about to say that it is inside long after its bias has gone. So each thread has a word of
//! its own to say so, which no other thread is ever given.
//!
//! Atomics and fences come from the parent module, so that a model checker's can stand in for them (see
//! `tests/biased_model.rs`).

use super::atomic::{AtomicU64, Ordering};
use super::fence;

/// Threads that may have the bias of one lock in the course of time.
pub const THREADS: usize = 4;

/// The bias of a lock.
#[derive(Debug, Default)]
pub struct Bias {
    /// The thread that has the bias, times [`THREADS`], and its place; 0: none has it.
    has: AtomicU64,
    /// 1 while the thread of a place is inside, else 0. Only that thread writes it.
    inside: [AtomicU64; THREADS],
}

/// The threads that places were given to, which the gate guards.
#[derive(Debug, Default)]
pub struct Places([u64; THREADS]);

impl Bias {
    /// Enters, if `thread` has the bias and is not inside. Gives its place.
    #[inline]
    pub fn enter(&self, thread: u64) -> Option<usize> {
        let has = self.has.load(Ordering::Relaxed);
        let place = has as usize % THREADS;
        let inside = &self.inside[place];
        if has / THREADS as u64 != thread || inside.load(Ordering::Relaxed) != 0 {
            return None;
        }
        inside.store(1, Ordering::Relaxed);
        fence::own();
        if self.has.load(Ordering::Relaxed) == has {
            return Some(place);
        }
        inside.store(0, Ordering::Relaxed);
        None
    }

    /// Leaves. The thread of this place is inside.
    #[inline]
    pub fn leave(&self, place: usize) {
        // Release: who sees it sees what was done inside.
        self.inside[place].store(0, Ordering::Release);
    }

    /// Takes the bias away, with the gate. Gives the place that it was at: its thread may still be [inside](Bias::is_inside).
    pub fn take_away(&self) -> Option<usize> {
        let has = self.has.load(Ordering::Relaxed);
        if has == 0 {
            return None;
        }
        self.has.store(0, Ordering::Relaxed);
        fence::of_all();
        Some(has as usize % THREADS)
    }

    /// True while the thread of a place is inside. After its bias is taken away and it has left, it does not come in again.
    pub fn is_inside(&self, place: usize) -> bool {
        self.inside[place].load(Ordering::Acquire) != 0
    }

    /// Gives the bias to `thread`, which has the gate and is inside from now on. Gives its place, if there is one for it.
    /// Nobody has the bias.
    pub fn give(&self, thread: u64, places: &mut Places) -> Option<usize> {
        let place = (places.0.iter()).position(|&other| other == thread || other == 0)?;
        places.0[place] = thread;
        self.inside[place].store(1, Ordering::Relaxed);
        let has = thread * THREADS as u64 + place as u64;
        self.has.store(has, Ordering::Relaxed);
        Some(place)
    }
}

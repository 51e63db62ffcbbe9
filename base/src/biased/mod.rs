//! A lock that costs next to nothing where one thread takes it again and again.
//!
//! It is given to that thread, so to say: the thread has its *bias*, and locks and unlocks with a store each, without an atomic
//! operation of the processor. Another thread that wants it takes the bias away, which makes every thread of the process
//! pass a memory barrier (`membarrier`, Linux 4.14) and takes some microseconds. From then on it is an ordinary lock, until one
//! thread has taken it often enough in a row again. (Dice, Moir and Scherer, "Quickly reacquirable locks", 2003.)

#![allow(unsafe_code)]

mod atomic;
mod fence;
mod order;

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use order::{Bias, Places, THREADS};

/// Turns in a row after which a thread is given the bias for the first time.
const FIRST: u32 = 32;
/// The most turns that it can take: their number doubles each time that the bias was taken away.
const MOST: u32 = 1 << 16;
/// Looks at a thread that is inside, before sleeping between two looks.
const LOOKS: u32 = 64;
/// The length of that sleep.
const NAP: Duration = Duration::from_micros(20);

/// A value that threads take turns at.
///
/// A thread that locks it twice waits for itself for ever.
pub struct Biased<T> {
    bias: Bias,
    gate: Mutex<Turns>,
    waiting: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time gets at the value: the one that has the gate and no other thread inside by the bias, or the one
// that is inside by the bias (`order`).
unsafe impl<T: Send> Sync for Biased<T> {}
// SAFETY: nothing in it belongs to a thread while nobody has it locked.
unsafe impl<T: Send> Send for Biased<T> {}

/// The threads that had the gate.
#[derive(Debug)]
struct Turns {
    places: Places,
    last: u64,
    /// Turns that `last` has taken in a row.
    count: u32,
    /// A thread that takes as many gets the bias.
    wanted: u32,
}

/// The lock, locked. It is two words, which the thread that has the bias keeps in registers.
pub struct Turn<'a, T> {
    lock: &'a Biased<T>,
    /// The place of the thread, which has the bias, or [`GATE`].
    by: usize,
    /// Threads may share it where they may share the value, and none may give it to another.
    value: PhantomData<(&'a mut T, MutexGuard<'a, Turns>)>,
}

/// No place: the thread has the gate.
const GATE: usize = THREADS;

impl<T> Biased<T> {
    /// A lock for a value.
    pub fn new(value: T) -> Self {
        let wanted = if fence::is_there() { FIRST } else { u32::MAX };
        Biased {
            bias: Bias::default(),
            gate: Mutex::new(Turns {
                places: Places::default(),
                last: 0,
                count: 0,
                wanted,
            }),
            waiting: AtomicU64::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Locks it; waits where another thread has it. A panic of a thread that has it lets go of it.
    #[inline]
    pub fn lock(&self) -> Turn<'_, T> {
        let place = self.bias.enter(this_thread());
        let by = place.unwrap_or_else(|| self.lock_gate());
        Turn {
            lock: self,
            by,
            value: PhantomData,
        }
    }

    /// True while a thread waits for the lock.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Locks it with the gate. Gives the thread's place where it gets the bias, and else [`GATE`], which it has then.
    #[cold]
    fn lock_gate(&self) -> usize {
        let mut turns = self.gate.try_lock().unwrap_or_else(|| {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            let turns = self.gate.lock();
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            turns
        });
        if let Some(place) = self.bias.take_away() {
            turns.wanted = turns.wanted.saturating_mul(2).min(MOST);
            self.wait_for(place);
        }
        let thread = this_thread();
        turns.count = match turns.last == thread {
            true => turns.count.saturating_add(1),
            false => 1,
        };
        turns.last = thread;
        let given = (turns.count >= turns.wanted)
            .then(|| self.bias.give(thread, &mut turns.places))
            .flatten();
        given.unwrap_or_else(|| {
            // The turn that is made of this lets go of it.
            std::mem::forget(turns);
            GATE
        })
    }

    fn wait_for(&self, place: usize) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut looks = 0;
        while self.bias.is_inside(place) {
            looks += 1;
            match looks < LOOKS {
                true => std::thread::yield_now(),
                false => std::thread::sleep(NAP),
            }
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock, and lets go of it when `self` is dropped.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Turn<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above; and `self` is borrowed for as long.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Turn<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match self.by {
            place @ ..GATE => self.lock.bias.leave(place),
            _ => self.let_go(),
        }
    }
}

impl<T> Turn<'_, T> {
    /// Lets go of the gate, away from the way of the thread that has the bias.
    #[cold]
    fn let_go(&mut self) {
        // SAFETY: this turn has the gate, since `lock_gate` has locked it for it and forgotten the guard, and is dropped after this.
        unsafe { self.lock.gate.force_unlock() }
    }
}

impl<T> fmt::Debug for Biased<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Biased")
    }
}

/// The number of the calling thread, from 1 on, which no other thread of the process ever has.
#[inline]
pub fn this_thread() -> u64 {
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    NUMBER.with(|number| match number.get() {
        0 => {
            number.set(next());
            number.get()
        }
        known => known,
    })
}

#[cold]
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

//! A lock and a waiting place that a signal handler may use: no allocation, nothing but the
//! system's futex, and signals are held back while the lock is held.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::real::system_call;

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

/// A value behind a lock.
pub(super) struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard only, and there is one guard at a time.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The right to the value; given back when it is dropped.
pub(super) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    signals: HeldSignals,
}

/// Every signal is held back for as long as this lives.
pub(super) struct HeldSignals(libc::sigset_t);

impl<T> Lock<T> {
    pub(super) const fn new(value: T) -> Self {
        Lock {
            state: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock; no signal handler runs in this thread until it is given back.
    pub(super) fn lock(&self) -> Guard<'_, T> {
        let signals = HeldSignals::hold();
        let taken = self
            .state
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            while self.state.swap(WAITED_FOR, Ordering::Acquire) != FREE {
                wait(&self.state, WAITED_FOR, None);
            }
        }
        Guard {
            lock: self,
            signals,
        }
    }
}

impl<T> Lock<T> {
    /// A guard for a lock that is held, by a thread that forgot its guard: for a fork. `signals`
    /// are those that the guard had.
    ///
    /// # Safety
    /// The calling thread holds the lock, and has no guard.
    pub(super) unsafe fn resume(
        &self,
        signals: impl FnOnce(&mut T) -> Option<libc::sigset_t>,
    ) -> Option<Guard<'_, T>> {
        // SAFETY: the lock is held by the calling thread.
        let signals = signals(unsafe { &mut *self.value.get() })?;
        Some(Guard {
            lock: self,
            signals: HeldSignals(signals),
        })
    }
}

impl<T> Guard<'_, T> {
    /// The signals that were held back before the lock was taken.
    pub(super) fn signals(&self) -> libc::sigset_t {
        self.signals.0
    }

    /// Gives the lock back, waits until `word` is no longer `seen` or `ns` have passed, and takes
    /// the lock again. Gives whether a signal handler ran that wants the call to be given up.
    pub(super) fn wait(self, word: &AtomicU32, seen: u32, ns: Option<u64>) -> (Self, bool) {
        let lock = self.lock;
        drop(self);
        let interrupted = wait(word, seen, ns) == libc::EINTR;
        (lock.lock(), interrupted)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held for as long as the guard lives.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed for as long as the reference.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.lock.state.swap(FREE, Ordering::Release) == WAITED_FOR {
            wake(&self.lock.state, 1);
        }
        // The signals come after this, when the guard's parts are dropped.
    }
}

impl HeldSignals {
    pub(super) fn hold() -> Self {
        let mut all = std::mem::MaybeUninit::uninit();
        let mut before = std::mem::MaybeUninit::uninit();
        // SAFETY: the first call fills `all`, the second `before`: it cannot fail with this
        // argument.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            HeldSignals(before.assume_init())
        }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        // SAFETY: the set that the system gave.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }
}

/// Sleeps until `word` is no longer `seen` (or for less: a caller looks again), at most `ns`.
/// Gives an error number or 0.
pub(super) fn wait(word: &AtomicU32, seen: u32, ns: Option<u64>) -> i32 {
    let time = ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let errno = crate::real::errno();
    // SAFETY: a word and a time that live until the call is over.
    let outcome = unsafe {
        system_call()(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            seen,
            time,
        )
    };
    let error = if outcome == 0 {
        0
    } else {
        crate::real::errno()
    };
    crate::real::set_errno(errno);
    error
}

/// Wakes up to `count` sleepers at `word`.
pub(super) fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: the address of a word; nothing is written.
    unsafe {
        system_call()(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            count,
        )
    };
}

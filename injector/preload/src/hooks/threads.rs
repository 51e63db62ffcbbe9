//! Threads: each gets a stream of delays that depends on who started it, not on who sends first.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::real::Real;
use crate::state;

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type PthreadCreate = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    Start,
    *mut c_void,
) -> c_int;

/// The things that we tell a new thread. They are not in allocated memory: a thread that may need no allocator would need it
/// to give that memory back.
struct Beginning {
    taken: AtomicBool,
    lineage: AtomicU64,
    start: AtomicPtr<c_void>,
    argument: AtomicPtr<c_void>,
}

/// Threads that are started and have not begun yet. Those beyond have the stream of the main thread.
static BEGINNINGS: [Beginning; 1 << 12] = [const {
    Beginning {
        taken: AtomicBool::new(false),
        lineage: AtomicU64::new(0),
        start: AtomicPtr::new(std::ptr::null_mut()),
        argument: AtomicPtr::new(std::ptr::null_mut()),
    }
}; 1 << 12];

impl Beginning {
    /// A free one, taken.
    fn take(lineage: u64, start: Start, argument: *mut c_void) -> Option<&'static Self> {
        let one = BEGINNINGS.iter().find(|one| {
            !one.taken.load(Ordering::Relaxed) && !one.taken.swap(true, Ordering::Acquire)
        })?;
        one.lineage.store(lineage, Ordering::Relaxed);
        one.start.store(start as *mut c_void, Ordering::Relaxed);
        one.argument.store(argument, Ordering::Relaxed);
        Some(one)
    }

    fn give_back(&self) {
        self.taken.store(false, Ordering::Release);
    }
}

/// The key whose destructor gives a thread's counters back; `NO_KEY` until there is one.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);
const NO_KEY: u32 = u32::MAX;

/// Makes the key. Called once, when the library comes up.
pub(crate) fn prepare_keys() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: the key is ours, and the destructor has the type that is asked for.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0 {
        KEY.store(key, Ordering::Relaxed);
    }
}

/// The number of times that the C library goes through the keys of a thread that ends: `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// Another key's destructor may send after this, and takes counters again: they are given back in each round.
unsafe extern "C" fn thread_ends(round: *mut c_void) {
    state::stream().release();
    if round.addr() < ROUNDS {
        ends_in_round(round.addr() + 1);
    }
}

/// The calling thread's counters are given back when it ends, in this round of destructors or the next.
fn ends_in_round(round: usize) {
    let key = KEY.load(Ordering::Relaxed);
    if key != NO_KEY {
        // SAFETY: the key is ours; any value but null makes its destructor run.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(round)) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<PthreadCreate> = unsafe { Real::new(c"pthread_create") };
    let Some(real) = REAL.get() else {
        return libc::ENOSYS;
    };
    if state::injection().is_none() {
        // SAFETY: called with the caller's own arguments.
        return unsafe { real(thread, attributes, start, argument) };
    }
    let lineage = state::stream().next_child();
    let Some(beginning) = Beginning::take(lineage, start, argument) else {
        // SAFETY: called with the caller's own arguments.
        return unsafe { real(thread, attributes, start, argument) };
    };
    let told = std::ptr::from_ref(beginning).cast_mut().cast();
    // SAFETY: as the caller asked, but for the function, which calls the caller's own.
    let outcome = unsafe { real(thread, attributes, begin, told) };
    if outcome != 0 {
        beginning.give_back();
    }
    outcome
}

extern "C" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` above gave one of `BEGINNINGS` to this thread alone.
    let beginning = unsafe { &*beginning.cast_const().cast::<Beginning>() };
    let lineage = beginning.lineage.load(Ordering::Relaxed);
    let argument = beginning.argument.load(Ordering::Relaxed);
    let start = beginning.start.load(Ordering::Relaxed);
    // SAFETY: the address of such a function, which was stored there.
    let start = unsafe { std::mem::transmute::<*mut c_void, Start>(start) };
    // Before the thread begins: one that ends by pthread_exit does not come back.
    beginning.give_back();
    state::stream().set_lineage(lineage);
    ends_in_round(1);
    start(argument)
}

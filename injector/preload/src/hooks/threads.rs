//! Threads: each gets a stream of delays that depends on who started it, not on who sends first.
//! And children of the kind that the C library does not tell us of.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::real::{Real, set_errno};
use crate::{lifecycle, state};

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type PthreadCreate = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    Start,
    *mut c_void,
) -> c_int;

/// What a new thread is told by us.
struct Beginning {
    lineage: u64,
    start: Start,
    argument: *mut c_void,
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

/// How often the C library goes through the keys of a thread that ends: `PTHREAD_DESTRUCTOR_ITERATIONS`.
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
    let beginning = Box::into_raw(Box::new(Beginning {
        lineage: state::stream().next_child(),
        start,
        argument,
    }));
    // SAFETY: as the caller asked, but for the function, which calls the caller's own. If there is
    // no new thread, the box is still ours alone.
    unsafe {
        let outcome = real(thread, attributes, begin, beginning.cast());
        if outcome != 0 {
            drop(Box::from_raw(beginning));
        }
        outcome
    }
}

extern "C" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` above gave this box to this thread alone. It is free before the thread
    // begins: a thread that ends by pthread_exit does not come back.
    let beginning = unsafe { Box::from_raw(beginning.cast::<Beginning>()) };
    let Beginning {
        lineage,
        start,
        argument,
    } = *beginning;
    drop(beginning);
    state::stream().set_lineage(lineage);
    ends_in_round(1);
    start(argument)
}

/// A fork without the functions that are to be called at forks.
#[unsafe(no_mangle)]
unsafe extern "C" fn _Fork() -> c_int {
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<unsafe extern "C" fn() -> c_int> = unsafe { Real::new(c"_Fork") };
    let Some(real) = REAL.get() else {
        set_errno(libc::ENOSYS);
        return -1;
    };
    lifecycle::before_fork();
    // SAFETY: as the caller asked.
    let child = unsafe { real() };
    if child == 0 {
        lifecycle::in_bare_child();
    } else {
        lifecycle::in_parent();
    }
    child
}

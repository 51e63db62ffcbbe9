//! Programs that give rights up: to make system calls (seccomp), to reach files (Landlock), to read the time (a processor's
//! counter that ends who reads it, which seccomp's strict mode brings along).
//!
//! From then on the library does nothing that the program does not do: no send is deferred, nothing is asked of the
//! kernel, and the control page stays where it is when the process ends, for `jitterlab inject` to find. Where there is no clock
//! any more, delays are counted out.

use std::sync::atomic::{AtomicBool, Ordering};

static ON: AtomicBool = AtomicBool::new(false);

/// True if the process has given rights up.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The process has given rights up from now on. True if it had not before.
#[cold]
pub(crate) fn set() -> bool {
    !ON.swap(true, Ordering::Relaxed)
}

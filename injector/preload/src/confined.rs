//! Programs that give rights up: to make system calls (seccomp), to reach files (Landlock), to read the time (a processor's
//! counter that ends who reads it, which seccomp's strict mode brings along).
//!
//! From then on the library does nothing that the program does not do: no send is deferred, nothing is asked of the
//! kernel, and the control page stays where it is when the process ends, for `jitterlab inject` to find. Where there is no clock
//! any more, delays are counted out.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{defer, state};

static ON: AtomicBool = AtomicBool::new(false);

/// Whether the process has given rights up.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The process is about to give rights up. If it then does not, it is treated as if it had.
#[cold]
pub(crate) fn begin() {
    if state::injection().is_some() && !ON.swap(true, Ordering::Relaxed) {
        defer::settle_all();
        defer::dismiss_helper();
    }
}

/// The same, with the right to read the processor's counter, or a clock that is the kernel's.
#[cold]
pub(crate) fn begin_blind() {
    begin();
    if let Some(injection) = state::injection().filter(|injection| !injection.is_blind()) {
        injection.go_blind();
    }
}

/// The process is about to let a filter decide about its system calls. A clock that is not the processor's own may
/// need one.
#[cold]
pub(crate) fn begin_filtered() {
    match state::injection() {
        Some(injection) if !injection.clock().reads_counter() => begin_blind(),
        _ => begin(),
    }
}

//! The calls with which a program gives rights up: see [`crate::confined`].

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_ulong, c_void};

use crate::real::{Real, set_errno, system_call};
use crate::{confined, defer, state};

/// `prctl` takes up to four arguments more, of any type: registers are passed on as they are.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    type Function = unsafe extern "C" fn(c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int;
    // SAFETY: the prototype is that of the C library; its function reads no more than these arguments.
    static REAL: Real<Function> = unsafe { Real::new(c"prctl") };
    match (option, second) {
        (libc::PR_SET_SECCOMP, STRICT) => begin_blind(),
        (libc::PR_SET_SECCOMP, _) => begin_filtered(),
        (libc::PR_SET_TSC, NO_COUNTER) => begin_blind(),
        _ => {}
    }
    match REAL.get() {
        // SAFETY: called with the caller's own arguments.
        Some(real) => unsafe { real(option, second, third, fourth, fifth) },
        None => {
            set_errno(libc::ENOSYS);
            -1
        }
    }
}

const STRICT: c_ulong = libc::SECCOMP_MODE_STRICT as c_ulong;
const NO_COUNTER: c_ulong = libc::PR_TSC_SIGSEGV as c_ulong;

/// The system call. The C library has no function for it.
pub(super) unsafe extern "C" fn seccomp(
    operation: c_uint,
    flags: c_uint,
    what: *mut c_void,
) -> c_int {
    match operation {
        libc::SECCOMP_SET_MODE_STRICT => begin_blind(),
        libc::SECCOMP_SET_MODE_FILTER => begin_filtered(),
        _ => {}
    }
    // SAFETY: what the program asks for.
    unsafe { system_call()(libc::SYS_seccomp, operation, flags, what) as c_int }
}

/// Likewise.
pub(super) unsafe extern "C" fn landlock_restrict_self(rules: c_int, flags: c_uint) -> c_int {
    begin();
    // SAFETY: what the program asks for.
    unsafe { system_call()(libc::SYS_landlock_restrict_self, rules, flags) as c_int }
}

/// The process is about to give rights up. If it then does not, it is treated as if it had.
#[cold]
fn begin() {
    if state::injection().is_some() && confined::set() {
        defer::settle_all();
        defer::dismiss_helper();
    }
}

/// The same, with the right to read the processor's counter, or a clock that is the kernel's.
#[cold]
fn begin_blind() {
    begin();
    if let Some(injection) = state::injection().filter(|injection| !injection.is_blind()) {
        injection.go_blind();
    }
}

/// The process is about to let a filter decide about its system calls. A clock that is not the processor's own may
/// need one.
#[cold]
fn begin_filtered() {
    match state::injection() {
        Some(injection) if !injection.clock().reads_counter() => begin_blind(),
        _ => begin(),
    }
}

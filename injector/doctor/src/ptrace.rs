//! The two calls of a tracer that the safe interfaces do not cover: both leave out real-time
//! signals, which the C library itself uses (to cancel threads, and to change the user of all of
//! them), so that a tracer built on them would hang such programs.

#![allow(unsafe_code)]

use std::io;

/// Waits until something happens to a child or tracee, thread or process; gives its number and its
/// wait status (`wait(2)`). `None` when there is none left.
///
/// # Errors
/// A signal interrupted the wait, or the system refuses.
pub fn wait() -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: the status is written to a place of ours.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
    if pid > 0 {
        return Ok(Some((pid, status)));
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        error => Err(error),
    }
}

/// Lets a stopped tracee run to its next system call, with the signal of that number delivered
/// to it; 0 for none.
///
/// # Errors
/// It is not a stopped tracee of this thread: it may have been killed meanwhile.
pub fn to_next_system_call(tid: i32, signal: i32) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_SYSCALL takes a number in its last argument and accesses no memory of ours.
    let outcome = unsafe { libc::ptrace(libc::PTRACE_SYSCALL, tid, nothing, i64::from(signal)) };
    if outcome == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

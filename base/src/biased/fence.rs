//! The two fences of a biased lock.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence, fence};

/// True if [`of_all`] can be had here: Linux may be old, or forbid it. The process asks for it once.
pub(super) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
}

/// The fence of the thread that has the bias. It costs nothing: [`of_all`] stands in for it.
#[inline(always)]
pub(super) fn own() {
    compiler_fence(Ordering::SeqCst);
}

/// A fence in every thread of the process: whatever a thread has stored before it is seen here, and whatever it loads after
/// it, it loads after what was stored here.
pub(super) fn of_all() {
    fence(Ordering::SeqCst);
    let barrier = || membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    // It is refused only to who has not asked for it, as a child of fork may not have.
    let done =
        barrier() || (membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && barrier());
    assert!(done, "membarrier is refused after it was granted");
    fence(Ordering::SeqCst);
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes three numbers and touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

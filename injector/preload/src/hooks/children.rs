//! Children of the kinds that the C library does not tell us of.

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::lifecycle;
use crate::real::{Real, set_errno};

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

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{c_int, c_void};

    use crate::real::{Real, errno, set_errno};
    use crate::{defer, state};

    extern "C" fn missing() -> c_int {
        set_errno(libc::ENOSYS);
        -1
    }

    extern "C" fn before(returns_to: usize) -> *const c_void {
        // SAFETY: the type is used for nothing but the address.
        static REAL: Real<unsafe extern "C" fn() -> c_int> = unsafe { Real::new(c"vfork") };
        defer::settle_for_child();
        state::before_vfork(returns_to);
        REAL.get()
            .map_or(missing as *const c_void, |real| real as *const c_void)
    }

    extern "C" fn after(child: c_int) -> usize {
        let errno = errno();
        let returns_to = state::after_vfork(child == 0);
        set_errno(errno);
        returns_to
    }

    /// A child that runs in its parent's memory, until it becomes another program or ends; it is known which of the two goes on.
    /// The child leaves nothing of the stack below the caller's as it was, so where to return to is kept elsewhere.
    #[unsafe(no_mangle)]
    #[unsafe(naked)]
    unsafe extern "C" fn vfork() -> c_int {
        core::arch::naked_asm!(
            "pop rdi",
            "call {before}",
            "call rax",
            "push rax",
            "sub rsp, 8",
            "mov edi, eax",
            "call {after}",
            "add rsp, 8",
            "mov rcx, rax",
            "pop rax",
            "jmp rcx",
            before = sym before,
            after = sym after,
        )
    }
}

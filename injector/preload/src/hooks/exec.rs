//! Programs that become others: what is deferred goes first.
//!
//! Some of these functions take any number of arguments, so all are caught by a few instructions
//! that leave the arguments as they are and jump to the real one.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{c_int, c_void};

    use crate::defer;
    use crate::real::{Real, c_name};

    /// Stands in for a function that is nowhere to be found.
    extern "C" fn missing() -> c_int {
        crate::real::set_errno(libc::ENOSYS);
        -1
    }

    macro_rules! execs {
        ($($name:ident),*) => {$(
            /// Takes any arguments, and hands them on.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() -> c_int {
                extern "C" fn before() -> *const c_void {
                    type Function = unsafe extern "C" fn() -> c_int;
                    // SAFETY: the type is used for nothing but the address.
                    static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
                    defer::settle_all();
                    REAL.get().map_or(missing as *const c_void, |real| real as *const c_void)
                }
                // The six registers of arguments, and al, which says how many vector registers
                // are in use (System V ABI); the stack is a multiple of 16 at the call.
                core::arch::naked_asm!(
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    "call {before}",
                    "mov r11, rax",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    "jmp r11",
                    before = sym before,
                )
            }
        )*};
    }

    execs!(
        execve, execv, execvp, execvpe, execl, execlp, execle, fexecve, execveat
    );
}

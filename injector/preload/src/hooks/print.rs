//! `dprintf`, which is not delayed: what is deferred goes first.
//!
//! It takes any number of arguments, so it is caught by a few instructions that leave the arguments
//! as they are and jump to the real one. They are x86-64's: on other machines it is not caught.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{c_int, c_void};

    use crate::hooks::descriptors::goes_next;
    use crate::real::{Real, c_name};

    /// Stands in for a function that is nowhere to be found.
    extern "C" fn missing() -> c_int {
        crate::real::set_errno(libc::ENOSYS);
        -1
    }

    /// Stands in for one that must not be called now; errno is set.
    extern "C" fn refused() -> c_int {
        -1
    }

    macro_rules! prints {
        ($($name:ident),*) => {$(
            /// Takes any arguments, and hands them on.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() -> c_int {
                extern "C" fn before(fd: c_int) -> *const c_void {
                    type Function = unsafe extern "C" fn() -> c_int;
                    // SAFETY: the type is used for nothing but the address.
                    static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
                    if goes_next(fd) {
                        REAL.get().map_or(missing as *const c_void, |real| real as *const c_void)
                    } else {
                        refused as *const c_void
                    }
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
                    "sub rsp, 128",
                    "movaps [rsp], xmm0",
                    "movaps [rsp + 16], xmm1",
                    "movaps [rsp + 32], xmm2",
                    "movaps [rsp + 48], xmm3",
                    "movaps [rsp + 64], xmm4",
                    "movaps [rsp + 80], xmm5",
                    "movaps [rsp + 96], xmm6",
                    "movaps [rsp + 112], xmm7",
                    "call {before}",
                    "mov r11, rax",
                    "movaps xmm0, [rsp]",
                    "movaps xmm1, [rsp + 16]",
                    "movaps xmm2, [rsp + 32]",
                    "movaps xmm3, [rsp + 48]",
                    "movaps xmm4, [rsp + 64]",
                    "movaps xmm5, [rsp + 80]",
                    "movaps xmm6, [rsp + 96]",
                    "movaps xmm7, [rsp + 112]",
                    "add rsp, 128",
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

    prints!(dprintf, __dprintf_chk);
}

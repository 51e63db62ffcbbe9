//! Functions that take any number of arguments: those with which programs become others or start
//! them, and `dprintf`.
//!
//! All are caught by a few instructions that leave the arguments as they are and jump to the real
//! one. They are x86-64's: on other machines these functions are not caught.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{c_int, c_void};

    use crate::hooks::descriptors::goes_next;
    use crate::hooks::lineage::{Environment, becomes, own, starts};
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

    /// The registers that hold a call's arguments, as they are saved below.
    #[repr(C)]
    struct Saved {
        _rax: usize,
        r9: Environment,
        _r8: usize,
        rcx: Environment,
        rdx: Environment,
        _rsi: usize,
        rdi: usize,
    }

    macro_rules! with_any_arguments {
        ($($name:ident |$saved:ident| $may:expr;)*) => {$(
            /// Takes any arguments, and hands them on.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() -> c_int {
                extern "C" fn before($saved: &Saved) -> *const c_void {
                    type Function = unsafe extern "C" fn() -> c_int;
                    // SAFETY: the type is used for nothing but the address.
                    static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
                    if $may {
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
                    "mov rdi, rsp",
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

    with_any_arguments! {
        execv |_saved| becomes(own());
        execvp |_saved| becomes(own());
        execl |_saved| becomes(own());
        execlp |_saved| becomes(own());
        // Its environment comes after any number of arguments: the lineage stays what it was.
        execle |_saved| becomes(std::ptr::null());
        execve |saved| becomes(saved.rdx);
        execvpe |saved| becomes(saved.rdx);
        fexecve |saved| becomes(saved.rdx);
        execveat |saved| becomes(saved.rcx);
        posix_spawn |saved| starts(saved.r9);
        posix_spawnp |saved| starts(saved.r9);
        system |_saved| starts(own());
        popen |_saved| starts(own());
        dprintf |saved| goes_next(saved.rdi as c_int);
        __dprintf_chk |saved| goes_next(saved.rdi as c_int);
    }
}

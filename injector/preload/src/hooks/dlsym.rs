//! Programs that look a function up by name get our hook of it.
//!
//! `dlsym` answers differently depending on which library calls it (`RTLD_NEXT`), so a wrapper
//! must leave the caller's return address in place: ours is a few instructions that ask whether
//! the name is hooked, and if not, jump to the real one. Who asks for the next one after himself
//! (`RTLD_NEXT`) stands before a function as we do, and must not be sent back to us.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{CStr, c_char, c_void};

    use crate::hooks::{mpi, verbs};
    use crate::real::real_dlsym;

    /// What a look-up of `name` gives, for the instructions below.
    #[repr(C)]
    struct Answer {
        /// Our hook of that name, or null.
        hook: *const c_void,
        /// The real `dlsym`, to go on with.
        real: *const c_void,
    }

    extern "C" fn answer(handle: *mut c_void, name: *const c_char) -> Answer {
        let hook = if name.is_null() || handle == libc::RTLD_NEXT {
            None
        } else {
            // SAFETY: the caller gave `dlsym` a C string.
            let name = unsafe { CStr::from_ptr(name) };
            verbs::hook_of(name).or_else(|| mpi::hook_of(handle, name))
        };
        Answer {
            hook: hook.unwrap_or(std::ptr::null()),
            real: real_dlsym() as *const c_void,
        }
    }

    /// `dlsym(handle, name)`. A pair of words is returned in rax and rdx (System V ABI).
    #[unsafe(no_mangle)]
    #[unsafe(naked)]
    unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
        core::arch::naked_asm!(
            "push rdi",
            "push rsi",
            "sub rsp, 8",
            "call {answer}",
            "add rsp, 8",
            "pop rsi",
            "pop rdi",
            "test rax, rax",
            "jne 2f",
            "jmp rdx",
            "2:",
            "ret",
            answer = sym answer,
        )
    }
}

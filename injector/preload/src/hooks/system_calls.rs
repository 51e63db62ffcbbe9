//! `syscall`, with which a program makes a system call by its number. A call after which something has to be known goes the way
//! of the C library's function of the same arguments, which is caught. All others, those that send among them, go on as they are.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{c_long, c_void};

    use crate::hooks::{confining, descriptors, ending};
    use crate::real::system_call;

    /// The way on.
    #[repr(C)]
    struct Way {
        /// The function with the same arguments, whose result is an `int`; or null.
        function: *const c_void,
        /// The real `syscall`.
        real: *const c_void,
    }

    extern "C" fn way_of(number: c_long) -> Way {
        let function = match number {
            libc::SYS_socket => descriptors::socket as *const c_void,
            libc::SYS_accept => descriptors::accept as *const c_void,
            libc::SYS_accept4 => descriptors::accept4 as *const c_void,
            libc::SYS_dup => descriptors::dup as *const c_void,
            libc::SYS_dup2 => descriptors::dup2 as *const c_void,
            libc::SYS_dup3 => descriptors::dup3 as *const c_void,
            libc::SYS_fcntl => descriptors::fcntl as *const c_void,
            libc::SYS_pidfd_getfd => descriptors::pidfd_getfd as *const c_void,
            libc::SYS_close => descriptors::close as *const c_void,
            libc::SYS_close_range => descriptors::close_range as *const c_void,
            libc::SYS_exit_group => ending::_exit as *const c_void,
            libc::SYS_prctl => confining::prctl as *const c_void,
            libc::SYS_seccomp => confining::seccomp as *const c_void,
            libc::SYS_landlock_restrict_self => confining::landlock_restrict_self as *const c_void,
            _ => std::ptr::null(),
        };
        Way {
            function,
            real: system_call() as *const c_void,
        }
    }

    /// `syscall(number, ...)`: of the six arguments five are in registers, and none of the functions takes the sixth. What gives
    /// an `int` is called, to make a `long` of that; what goes on is jumped to. The stack is a multiple of 16 at a call (System V ABI).
    #[unsafe(no_mangle)]
    #[unsafe(naked)]
    unsafe extern "C" fn syscall() -> c_long {
        core::arch::naked_asm!(
            "push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "push r9",
            "sub rsp, 8",
            "call {way}",
            "add rsp, 8",
            "pop r9",
            "pop r8",
            "pop rcx",
            "pop r10",
            "pop rsi",
            "pop rdi",
            "test rax, rax",
            "jne 2f",
            "mov rax, rdx",
            "mov rdx, r10",
            "jmp rax",
            "2:",
            "mov rdi, rsi",
            "mov rsi, r10",
            "mov rdx, rcx",
            "mov rcx, r8",
            "mov r8, r9",
            "sub rsp, 8",
            "call rax",
            "add rsp, 8",
            "cdqe",
            "ret",
            way = sym way_of,
        )
    }
}

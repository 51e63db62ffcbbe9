//! Programs that become others, or start them: what is deferred goes first, and the other program
//! is told its lineage.
//!
//! Some of these functions take any number of arguments, so all are caught by a few instructions
//! that leave the arguments as they are and jump to the real one.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{CStr, c_char, c_int, c_void};

    use jitterlab_injector::environment::{LINEAGE, NO_LINEAGE};

    use crate::real::{Real, c_name};
    use crate::{defer, state};

    /// An environment: pointers to `NAME=VALUE`, the last one null.
    type Environment = *const *const c_char;

    unsafe extern "C" {
        static environ: Environment;
    }

    /// Stands in for a function that is nowhere to be found.
    extern "C" fn missing() -> c_int {
        crate::real::set_errno(libc::ENOSYS);
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
    }

    /// The process becomes another program.
    fn becomes(environment: Environment) {
        defer::settle_all();
        if state::injection().is_some() {
            tell(environment, state::successor());
        }
    }

    /// The process starts another program in a child that is not forked.
    fn starts(environment: Environment) {
        if state::injection().is_some() {
            tell(environment, state::next_program());
        }
    }

    /// The process makes a child that runs in its memory until it becomes another program.
    fn splits(_none: Environment) {
        state::before_fork();
    }

    /// Writes the lineage into the variable that `jitterlab inject run` has made room for. Shells
    /// keep their environment themselves, so only the one that is handed over will do.
    fn tell(environment: Environment, lineage: u64) {
        let digits: [u8; NO_LINEAGE.len()] =
            std::array::from_fn(|at| b"0123456789abcdef"[(lineage >> (60 - 4 * at) & 15) as usize]);
        let Some(place) = place(environment) else {
            return;
        };
        let from = libc::iovec {
            iov_base: digits.as_ptr().cast_mut().cast(),
            iov_len: digits.len(),
        };
        let to = libc::iovec {
            iov_base: place.cast_mut().cast(),
            iov_len: digits.len(),
        };
        let errno = crate::real::errno();
        // SAFETY: the kernel writes to our own memory, where there are as many digits, and refuses
        // where it is not for writing. Nothing in this process reads it after the library is up.
        unsafe { libc::process_vm_writev(libc::getpid(), &raw const from, 1, &raw const to, 1, 0) };
        crate::real::set_errno(errno);
    }

    /// Where the digits are.
    fn place(mut variable: Environment) -> Option<*const c_char> {
        if variable.is_null() {
            return None;
        }
        // SAFETY: the caller has handed an environment to the C library: strings, and a null.
        unsafe {
            while !(*variable).is_null() {
                let text = CStr::from_ptr(*variable).to_bytes();
                let digits = text.strip_prefix(LINEAGE.as_bytes());
                let digits = digits.and_then(|rest| rest.strip_prefix(b"="));
                if digits.is_some_and(|digits| digits.len() == NO_LINEAGE.len()) {
                    return Some((*variable).add(LINEAGE.len() + 1));
                }
                variable = variable.add(1);
            }
        }
        None
    }

    macro_rules! hooks {
        ($($name:ident: $does:ident($environment:expr);)*) => {$(
            /// Takes any arguments, and hands them on.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() -> c_int {
                extern "C" fn before(saved: &Saved) -> *const c_void {
                    type Function = unsafe extern "C" fn() -> c_int;
                    // SAFETY: the type is used for nothing but the address.
                    static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
                    let environment: fn(&Saved) -> Environment = $environment;
                    $does(environment(saved));
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
                    "mov rdi, rsp",
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

    /// The environment of the process itself.
    fn own(_saved: &Saved) -> Environment {
        // SAFETY: the C library's variable, read as it reads it.
        unsafe { environ }
    }

    hooks! {
        execv: becomes(own);
        execvp: becomes(own);
        execl: becomes(own);
        execlp: becomes(own);
        // Its environment comes after any number of arguments: the lineage stays what it was.
        execle: becomes(|_| std::ptr::null());
        execve: becomes(|saved| saved.rdx);
        execvpe: becomes(|saved| saved.rdx);
        fexecve: becomes(|saved| saved.rdx);
        execveat: becomes(|saved| saved.rcx);
        posix_spawn: starts(|saved| saved.r9);
        posix_spawnp: starts(|saved| saved.r9);
        system: starts(own);
        popen: starts(own);
        vfork: splits(|_| std::ptr::null());
    }
}

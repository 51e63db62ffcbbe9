//! Libraries that a program opens itself, and the functions that it looks up there by name.
//!
//! What `dlopen` and `dlsym` do depends on the library that calls them (where that looks for others, what comes after
//! it), which they know by the address that they return to. So a hook lets them return to a `ret` in the caller's
//! library, which then returns to the hook. Who asks for the next function after himself (`RTLD_NEXT`) stands before it as we
//! do, and is given what he asks for.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::ffi::{CStr, c_char, c_void};

    use crate::interpose::{self, Slot, interposed};
    use crate::objects::scope::bounce_beside;
    use crate::real::{errno, set_errno};

    /// The way on.
    #[repr(C)]
    struct Way {
        /// The real function.
        real: *const c_void,
        /// The address that it is to return to, for the caller that it has; null for a jump that it returns from by itself.
        bounce: *const c_void,
    }

    impl Way {
        /// The way to a function, for a call that returns to `returns_to`.
        fn from(slot: &Slot, returns_to: usize) -> Self {
            Way {
                real: slot.original(),
                bounce: bounce_beside(returns_to).unwrap_or(std::ptr::null()),
            }
        }
    }

    /// `dlopen` has given `handle`.
    extern "C" fn opened(handle: *mut c_void) {
        if !handle.is_null() {
            let errno = errno();
            interpose::look_around();
            set_errno(errno);
        }
    }

    /// `dlsym` has found `address`.
    extern "C" fn found(address: *mut c_void, name: *const c_char) -> *mut c_void {
        if address.is_null() || name.is_null() {
            return address;
        }
        let errno = errno();
        // SAFETY: the caller gave `dlsym` a C string.
        let hook = interpose::found(unsafe { CStr::from_ptr(name) }, address);
        set_errno(errno);
        hook
    }

    extern "C" fn way_to_open<const SLOT: usize>(returns_to: usize) -> Way {
        Way::from(&OPEN[SLOT], returns_to)
    }

    /// `dlopen(name, how)`. A pair of words is returned in rax and rdx; the stack is a multiple of 16 at a call (System V ABI).
    #[unsafe(naked)]
    unsafe extern "C" fn open<const SLOT: usize>() {
        core::arch::naked_asm!(
            "push rdi",
            "push rsi",
            "sub rsp, 8",
            "mov rdi, [rsp + 24]",
            "call {way}",
            "add rsp, 8",
            "pop rsi",
            "pop rdi",
            "test rdx, rdx",
            "jne 2f",
            "jmp rax",
            "2:",
            "lea r11, [rip + 3f]",
            "push r11",
            "push rdx",
            "jmp rax",
            "3:",
            "push rax",
            "mov rdi, rax",
            "call {opened}",
            "pop rax",
            "ret",
            way = sym way_to_open::<SLOT>,
            opened = sym opened,
        )
    }

    /// The way of a look-up: of the next function after the caller, or of one that is not `named` for all, it is the real one's own.
    fn way_to_look_up(slot: &Slot, handle: *mut c_void, returns_to: usize) -> Way {
        match handle == libc::RTLD_NEXT {
            true => Way {
                real: slot.original(),
                bounce: std::ptr::null(),
            },
            false => Way::from(slot, returns_to),
        }
    }

    extern "C" fn way_to_symbol<const SLOT: usize>(handle: *mut c_void, returns_to: usize) -> Way {
        way_to_look_up(&SYMBOL[SLOT], handle, returns_to)
    }

    extern "C" fn way_to_version<const SLOT: usize>(handle: *mut c_void, returns_to: usize) -> Way {
        way_to_look_up(&VERSION[SLOT], handle, returns_to)
    }

    /// `dlsym(handle, name)` and `dlvsym(handle, name, version)`: the name is kept on the stack.
    macro_rules! looks_up {
        ($($function:ident by $way:ident;)*) => {$(
            #[unsafe(naked)]
            unsafe extern "C" fn $function<const SLOT: usize>() {
                core::arch::naked_asm!(
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "mov rsi, [rsp + 24]",
                    "call {way}",
                    "mov r11, rdx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    "test r11, r11",
                    "jne 2f",
                    "jmp rax",
                    "2:",
                    "push rsi",
                    "sub rsp, 8",
                    "lea r10, [rip + 3f]",
                    "push r10",
                    "push r11",
                    "jmp rax",
                    "3:",
                    "mov rdi, rax",
                    "mov rsi, [rsp + 8]",
                    "sub rsp, 8",
                    "call {found}",
                    "add rsp, 24",
                    "ret",
                    way = sym $way::<SLOT>,
                    found = sym found,
                )
            }
        )*};
    }

    looks_up! {
        symbol by way_to_symbol;
        version by way_to_version;
    }

    interposed!(c"dlopen", open, OPEN; asked || true; known |_| true);
    interposed!(c"dlsym", symbol, SYMBOL; asked || true; known |_| true);
    interposed!(c"dlvsym", version, VERSION; asked || true; known |_| true);
}

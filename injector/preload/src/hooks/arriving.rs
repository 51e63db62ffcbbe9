//! Descriptors that another process sends.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};

use super::descriptors::arrived;
use crate::real::{Real, c_name, set_errno};

/// Looks at the control data of a message that has arrived.
///
/// # Safety
/// `message` is one that the system has filled.
unsafe fn look_at(message: *const libc::msghdr) {
    // SAFETY: by the contract of this function; descriptors lie unaligned as far as anybody knows.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let data = libc::CMSG_DATA(control);
                let end = (control as usize) + header.cmsg_len;
                let count = end.saturating_sub(data as usize) / size_of::<c_int>();
                for index in 0..count {
                    arrived(data.cast::<c_int>().add(index).read_unaligned());
                }
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
}

/// Receives as `$name` does; `$messages` says how many messages there are that were filled, and where.
macro_rules! receives {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty; has $has:expr; |$outcome:ident| $after:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            // SAFETY: the prototype is that of the C library.
            static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
            let Some(real) = REAL.get() else {
                set_errno(libc::ENOSYS);
                return -1;
            };
            // SAFETY: the caller's own arguments.
            unsafe {
                // The real function is jumped to if nothing can arrive.
                if !$has {
                    return real($($argument),*);
                }
                let $outcome = real($($argument),*);
                $after;
                $outcome
            }
        }
    )*};
}

receives! {
    recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize;
    has !message.is_null() && !(*message).msg_control.is_null();
    |outcome| if outcome >= 0 { look_at(message) };

    recvmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int, time: *mut c_void) -> c_int;
    has !messages.is_null() && (0..count as usize).any(|at| !(*messages.add(at)).msg_hdr.msg_control.is_null());
    |outcome| (0..outcome.max(0) as usize).for_each(|at| look_at(&raw const (*messages.add(at)).msg_hdr));
}

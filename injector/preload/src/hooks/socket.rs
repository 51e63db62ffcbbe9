//! Sends on sockets of UDP and TCP.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};

use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::delay::Injection;

use super::descriptors::is_internet;
use crate::real::{Real, c_name, set_errno};
use crate::state;

#[inline(never)]
fn delay(injection: &Injection, hook: Hook) {
    state::pass(injection, hook);
}

/// Where nothing is to be done the real function is *jumped* to: after a system call the
/// processor has forgotten where to return to, and every call that is still open then costs some
/// eight nanoseconds.
/// A hook of a function that sends on its first argument.
macro_rules! sends {
    ($($hook:ident: $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(fd: c_int, $($arg: $type),*) -> $result {
            type Function = unsafe extern "C" fn(c_int, $($type),*) -> $result;
            // SAFETY: the prototype is that of the C library.
            static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
            let Some(real) = REAL.get() else {
                set_errno(libc::ENOSYS);
                return -1;
            };
            if let Some(injection) = state::active(HookFamily::Socket)
                && is_internet(fd)
            {
                delay(injection, Hook::$hook);
            }
            // SAFETY: called with the caller's own arguments.
            unsafe { real(fd, $($arg),*) }
        }
    )*};
}

sends! {
    Send: send(data: *const c_void, length: usize, flags: c_int) -> isize;
    SendTo: sendto(data: *const c_void, length: usize, flags: c_int, address: *const c_void, size: c_uint) -> isize;
    SendMsg: sendmsg(message: *const c_void, flags: c_int) -> isize;
    SendMMsg: sendmmsg(messages: *mut c_void, count: c_uint, flags: c_int) -> c_int;
    Write: write(data: *const c_void, length: usize) -> isize;
    WriteV: writev(vector: *const c_void, count: c_int) -> isize;
}

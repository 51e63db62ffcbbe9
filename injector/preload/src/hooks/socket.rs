//! Sends on sockets of UDP and TCP.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};

use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::delay::Passage;

use super::descriptors::{forget, is_internet, is_stream};
use crate::defer;
use crate::defer::message::{MOST_PARTS, Outgoing, Verdict};
use crate::real::{Real, c_name, set_errno};
use crate::state;

/// Waits, or says when the send is due.
#[inline(never)]
fn delay(fd: c_int, hook: Hook) -> Passage {
    match is_internet(fd) {
        // Whether it is enabled is looked at there once more.
        true => state::pass_if_installed(hook),
        false => Passage::Now,
    }
}

/// The part of a message beyond its data.
type Extra = (*const c_void, usize);
const NOTHING: Extra = (std::ptr::null(), 0);

/// Defers a send on `fd`: gives what the program is told, or `None` for a send that is to be
/// performed here and now.
fn later(fd: c_int, passage: Passage, message: &Outgoing) -> Option<isize> {
    let delay = match passage {
        Passage::Defer(delay) => Some(delay),
        // It is not delayed, but what is deferred on the same socket goes first.
        Passage::Now if is_internet(fd) => None,
        Passage::Now => return None,
    };
    match defer::message::send(fd, is_stream(fd), message, delay) {
        Verdict::Sent(length) => Some(length),
        Verdict::Failed(error) => {
            set_errno(error);
            Some(-1)
        }
        Verdict::Directly => None,
        Verdict::NoSocket => {
            forget(fd);
            None
        }
    }
}

/// The message of `sendmsg`.
///
/// # Safety
/// `header` is the caller's word that it leads to a message.
unsafe fn outgoing<'a>(header: *const libc::msghdr, flags: c_int) -> Outgoing<'a> {
    // SAFETY: by the contract of this function.
    unsafe {
        Outgoing {
            parts: match (*header).msg_iovlen {
                0 => &[],
                // One too many is all that has to be known of too many.
                count => std::slice::from_raw_parts((*header).msg_iov, count.min(MOST_PARTS + 1)),
            },
            // The system ignores the length of a name that is not there.
            address: if (*header).msg_name.is_null() {
                NOTHING
            } else {
                ((*header).msg_name, (*header).msg_namelen as usize)
            },
            control: ((*header).msg_control, (*header).msg_controllen),
            flags,
            written: false,
        }
    }
}

/// Several messages of one call, which has one delay. What can only be sent by the program itself
/// ends the call early, as the system may, or if it comes first makes the whole call direct.
unsafe fn many_later(
    fd: c_int,
    passage: Passage,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> Option<isize> {
    for done in 0..count as usize {
        let passage = match passage {
            Passage::Defer(delay) if done > 0 => Passage::Defer(delay.same()),
            passage => passage,
        };
        // SAFETY: the caller's word that there are `count` messages, which may be written to.
        let outcome = unsafe {
            let message = messages.add(done);
            let outcome = later(fd, passage, &outgoing(&raw const (*message).msg_hdr, flags));
            if let Some(length @ 0..) = outcome {
                (*message).msg_len = length as c_uint;
            }
            outcome
        };
        match outcome {
            Some(0..) => {}
            _ if done > 0 => return Some(done as isize),
            other => return other,
        }
    }
    Some(count as isize)
}

/// The result of a function that the system does not have.
#[cold]
#[inline(never)]
fn missing() -> isize {
    set_errno(libc::ENOSYS);
    -1
}

/// A hook of a function that sends on its first argument, `fd`; and how the message is deferred
/// that `passage` says may have to be.
///
/// Where nothing is to be done the real function is *jumped* to: after a system call the
/// processor has forgotten where to return to, and every call that is still open then costs some
/// eight nanoseconds. What a hook does itself calls nothing, so that it has hardly anything to
/// save on the stack; all else is done by `delayed`, with the arguments as they came.
macro_rules! sends {
    ($(
        $hook:ident: $name:ident($fd:ident, $($arg:ident: $type:ty),*) -> $result:ty;
        later |$passage:ident| $later:expr;
    )*) => {$(
        on_cache_lines!(concat!(".text.jitterlab.", stringify!($name)));

        #[unsafe(no_mangle)]
        #[unsafe(link_section = concat!(".text.jitterlab.", stringify!($name)))]
        unsafe extern "C" fn $name($fd: c_int, $($arg: $type),*) -> $result {
            type Function = unsafe extern "C" fn(c_int, $($type),*) -> $result;
            // SAFETY: the prototype is that of the C library.
            static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };

            // There is nothing to wait for, but nobody has looked for the function yet.
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn first($fd: c_int, $($arg: $type),*) -> $result {
                match REAL.get() {
                    // SAFETY: called with the caller's own arguments.
                    Some(real) => unsafe { real($fd, $($arg),*) },
                    None => missing() as $result,
                }
            }

            #[cold]
            #[inline(never)]
            unsafe extern "C" fn delayed($fd: c_int, $($arg: $type),*) -> $result {
                let Some(real) = REAL.get() else {
                    return missing() as $result;
                };
                if !is_internet($fd) {
                    // SAFETY: called with the caller's own arguments.
                    return unsafe { real($fd, $($arg),*) };
                }
                state::enter();
                let $passage = delay($fd, Hook::$hook);
                if $passage != Passage::Now || defer::busy() {
                    // Apart once more: a send that was waited for here needs no room for it on the stack.
                    #[inline(never)]
                    fn deferred($fd: c_int, $passage: Passage, $($arg: $type),*) -> Option<isize> {
                        $later
                    }
                    if let Some(outcome) = deferred($fd, $passage, $($arg),*) {
                        return outcome as $result;
                    }
                }
                // SAFETY: called with the caller's own arguments.
                unsafe { real($fd, $($arg),*) }
            }

            // There is nothing to wait for. `first` does not stay in the function's place until that is found: if a jump has led to two
            // places, the processor takes it to alternate, for as long as it knows the jump, and that costs a nanosecond more.
            #[inline(always)]
            unsafe extern "C" fn now($fd: c_int, $($arg: $type),*) -> $result {
                match REAL.found() {
                    // SAFETY: called with the caller's own arguments.
                    Some(real) => unsafe { real($fd, $($arg),*) },
                    // SAFETY: likewise.
                    None => unsafe { first($fd, $($arg),*) },
                }
            }

            let look = state::look(HookFamily::Socket);
            if look.is_off() {
                // SAFETY: called with the caller's own arguments.
                return unsafe { now($fd, $($arg),*) };
            }
            if !is_internet($fd) || look.goes_at_once(Hook::$hook, || true) {
                // The real function is loaded last, where a register is free for it.
                // SAFETY: called with the caller's own arguments.
                unsafe { now($fd, $($arg),*) }
            } else {
                // SAFETY: called with the caller's own arguments.
                unsafe { delayed($fd, $($arg),*) }
            }
        }
    )*};
}

fn part(data: *const c_void, length: usize) -> [libc::iovec; 1] {
    [libc::iovec {
        iov_base: data.cast_mut(),
        iov_len: length,
    }]
}

sends! {
    Send: send(fd, data: *const c_void, length: usize, flags: c_int) -> isize;
    later |passage| later(fd, passage, &Outgoing {
        parts: &part(data, length), address: NOTHING, control: NOTHING, flags, written: false,
    });

    SendTo: sendto(fd, data: *const c_void, length: usize, flags: c_int, address: *const c_void, size: c_uint) -> isize;
    later |passage| later(fd, passage, &Outgoing {
        parts: &part(data, length),
        address: if address.is_null() { NOTHING } else { (address, size as usize) },
        control: NOTHING, flags, written: false,
    });

    SendMsg: sendmsg(fd, message: *const libc::msghdr, flags: c_int) -> isize;
    // SAFETY: the caller's own message.
    later |passage| later(fd, passage, &unsafe { outgoing(message, flags) });

    SendMMsg: sendmmsg(fd, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int;
    // SAFETY: the caller's own messages.
    later |passage| unsafe { many_later(fd, passage, messages, count.min(1024), flags) };

    Write: write(fd, data: *const c_void, length: usize) -> isize;
    later |passage| later(fd, passage, &Outgoing {
        parts: &part(data, length), address: NOTHING, control: NOTHING, flags: 0, written: true,
    });

    WriteV: writev(fd, vector: *const libc::iovec, count: c_int) -> isize;
    later |passage| later(fd, passage, &Outgoing {
        parts: match count {
            // SAFETY: the caller's own parts.
            1..=1024 => unsafe { std::slice::from_raw_parts(vector, count as usize) },
            _ => &[],
        },
        address: NOTHING, control: NOTHING, flags: 0, written: true,
    });
}

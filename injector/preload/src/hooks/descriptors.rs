//! Which file descriptors are sockets of UDP and TCP.
//!
//! `write` is hot for files: what a descriptor is, is asked once and then kept in an array. An
//! entry is forgotten wherever a descriptor may have become something else.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::real::{Real, errno, set_errno};

const UNKNOWN: u8 = 0;
const INTERNET: u8 = 1;
const OTHER: u8 = 2;

/// Descriptors that are remembered; those above are asked for every time.
const REMEMBERED: usize = 1 << 16;
static KINDS: [AtomicU8; REMEMBERED] = [const { AtomicU8::new(UNKNOWN) }; REMEMBERED];

/// Whether `fd` is a socket of UDP or TCP.
#[inline(always)]
pub(super) fn is_internet(fd: c_int) -> bool {
    match KINDS
        .get(fd as usize)
        .map(|kind| kind.load(Ordering::Relaxed))
    {
        Some(INTERNET) => true,
        Some(OTHER) => false,
        _ => ask(fd),
    }
}

#[cold]
fn ask(fd: c_int) -> bool {
    let before = errno();
    let is = option(fd, libc::SO_DOMAIN).is_some_and(|d| d == libc::AF_INET || d == libc::AF_INET6)
        && option(fd, libc::SO_TYPE)
            .is_some_and(|t| t == libc::SOCK_STREAM || t == libc::SOCK_DGRAM);
    set_errno(before);
    if let Some(kind) = KINDS.get(fd as usize) {
        kind.store(if is { INTERNET } else { OTHER }, Ordering::Relaxed);
    }
    is
}

fn option(fd: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: value and length are ours, and length says how much room there is.
    let outcome = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    (outcome == 0).then_some(value)
}

fn forget(fd: c_int) {
    if let Some(kind) = KINDS.get(fd as usize) {
        kind.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// A hook of a function that gives a descriptor: what the number was before does not count.
macro_rules! gives_descriptor {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            // SAFETY: the prototype is that of the C library.
            static REAL: Real<Function> = unsafe {
                Real::new(match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                })
            };
            let Some(real) = REAL.get() else {
                set_errno(libc::ENOSYS);
                return -1;
            };
            // SAFETY: called with the caller's own arguments.
            let fd = unsafe { real($($arg),*) };
            forget(fd);
            fd
        }
    )*};
}

gives_descriptor! {
    socket(domain: c_int, kind: c_int, protocol: c_int);
    accept(fd: c_int, address: *mut c_void, length: *mut c_void);
    accept4(fd: c_int, address: *mut c_void, length: *mut c_void, flags: c_int);
    dup(fd: c_int);
    dup2(old: c_int, new: c_int);
    dup3(old: c_int, new: c_int, flags: c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close(fd: c_int) -> c_int {
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<unsafe extern "C" fn(c_int) -> c_int> = unsafe { Real::new(c"close") };
    forget(fd);
    match REAL.get() {
        // SAFETY: called with the caller's own argument.
        Some(real) => unsafe { real(fd) },
        None => {
            set_errno(libc::ENOSYS);
            -1
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    type Function = unsafe extern "C" fn(c_uint, c_uint, c_int) -> c_int;
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<Function> = unsafe { Real::new(c"close_range") };
    let end = (last as usize).saturating_add(1).min(REMEMBERED);
    for kind in KINDS.get(first as usize..end).unwrap_or_default() {
        kind.store(UNKNOWN, Ordering::Relaxed);
    }
    match REAL.get() {
        // SAFETY: called with the caller's own arguments.
        Some(real) => unsafe { real(first, last, flags) },
        None => {
            set_errno(libc::ENOSYS);
            -1
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    pair: *mut c_int,
) -> c_int {
    type Function = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_int) -> c_int;
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<Function> = unsafe { Real::new(c"socketpair") };
    let Some(real) = REAL.get() else {
        set_errno(libc::ENOSYS);
        return -1;
    };
    // SAFETY: called with the caller's own arguments; on success the two descriptors are there.
    unsafe {
        let outcome = real(domain, kind, protocol, pair);
        if outcome == 0 {
            forget(*pair);
            forget(*pair.add(1));
        }
        outcome
    }
}

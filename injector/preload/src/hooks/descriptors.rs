//! Which file descriptors are sockets of UDP and TCP.
//!
//! `write` is hot for files: what a descriptor is, is asked once and then kept in an array. An
//! entry is forgotten wherever a descriptor may have become something else.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::defer;
use crate::real::{Real, c_name, errno, set_errno};

const UNKNOWN: u8 = 0;
const OTHER: u8 = 1;
const TCP: u8 = 2;
const UDP: u8 = 3;

/// Descriptors that are remembered; those above are asked for every time.
const REMEMBERED: usize = 1 << 16;
static KINDS: [AtomicU8; REMEMBERED] = [const { AtomicU8::new(UNKNOWN) }; REMEMBERED];

/// Whether `fd` is a socket of UDP or TCP.
#[inline(always)]
pub(super) fn is_internet(fd: c_int) -> bool {
    kind(fd) >= TCP
}

/// What [`is_internet`] says, `None` if the kernel would have to be asked.
#[inline(always)]
pub(super) fn is_known_internet(fd: c_int) -> Option<bool> {
    remembered(fd).map(|kind| kind >= TCP)
}

/// Whether a socket of UDP or TCP is one of TCP.
pub(super) fn is_stream(fd: c_int) -> bool {
    kind(fd) == TCP
}

#[inline(always)]
fn kind(fd: c_int) -> u8 {
    remembered(fd).unwrap_or_else(|| ask(fd))
}

#[inline(always)]
fn remembered(fd: c_int) -> Option<u8> {
    let kind = KINDS.get(fd as usize)?.load(Ordering::Relaxed);
    (kind != UNKNOWN).then_some(kind)
}

#[cold]
fn ask(fd: c_int) -> u8 {
    let before = errno();
    set_errno(0);
    let kind = match (option(fd, libc::SO_DOMAIN), option(fd, libc::SO_TYPE)) {
        (Some(libc::AF_INET | libc::AF_INET6), Some(libc::SOCK_STREAM))
            if option(fd, libc::SO_PROTOCOL) != Some(libc::IPPROTO_SCTP) =>
        {
            TCP
        }
        (Some(libc::AF_INET | libc::AF_INET6), Some(libc::SOCK_DGRAM)) => UDP,
        _ => OTHER,
    };
    // A descriptor that is not open now may be opened in a way that is not seen here.
    let open = errno() != libc::EBADF;
    set_errno(before);
    if let (true, Some(place)) = (open, KINDS.get(fd as usize)) {
        place.store(kind, Ordering::Relaxed);
    }
    kind
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

pub(super) fn forget(fd: c_int) {
    if let Some(kind) = KINDS.get(fd as usize) {
        kind.store(UNKNOWN, Ordering::Relaxed);
    }
}

fn forget_all(first: c_uint, last: c_uint) {
    let end = (last as usize).saturating_add(1).min(REMEMBERED);
    for kind in KINDS.get(first as usize..end).unwrap_or_default() {
        kind.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// A hook around a function: what is done before it, what after it with its `outcome`, and what
/// it gives where the system has no such function.
macro_rules! around {
    ($(
        $name:ident($($arg:ident: $type:ty),*) -> $result:ty;
        before $before:block
        after |$outcome:ident| $after:block
    )*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $type),*) -> $result {
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            // SAFETY: the prototype is that of the C library.
            static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
            let Some(real) = REAL.get() else {
                set_errno(libc::ENOSYS);
                return -1;
            };
            $before
            // SAFETY: called with the caller's own arguments.
            let $outcome = unsafe { real($($arg),*) };
            $after
            $outcome
        }
    )*};
}

around! {
    // Functions that give a descriptor: what the number was before does not count.
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    before {} after |fd| { forget(fd) }

    accept(fd: c_int, address: *mut c_void, length: *mut c_void) -> c_int;
    before {} after |new| { forget(new) }

    accept4(fd: c_int, address: *mut c_void, length: *mut c_void, flags: c_int) -> c_int;
    before {} after |new| { forget(new) }

    dup(fd: c_int) -> c_int;
    before {} after |new| { forget(new) }

    dup2(old: c_int, new: c_int) -> c_int;
    before {
        if defer::busy() && !may_close(new) {
            defer::message::make_way(new);
        }
    }
    after |fd| { forget(fd) }

    dup3(old: c_int, new: c_int, flags: c_int) -> c_int;
    before {
        if defer::busy() && !may_close(new) {
            defer::message::make_way(new);
        }
    }
    after |fd| { forget(fd) }

    socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int;
    before {} after |outcome| {
        if outcome == 0 {
            // SAFETY: on success the two descriptors are there.
            let [first, second] = unsafe { *pair.cast::<[c_int; 2]>() };
            forget(first);
            forget(second);
        }
    }

    // `fcntl` takes a third argument of any type, or none: a register is passed on as it is.
    fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
    before {} after |outcome| { forget_duplicate(command, outcome) }

    fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int;
    before {} after |outcome| { forget_duplicate(command, outcome) }

    // Functions that close. What is deferred goes first.
    close(fd: c_int) -> c_int;
    before {
        if defer::busy() && !may_close(fd) {
            set_errno(libc::EBADF);
            return -1;
        }
        forget(fd)
    }
    after |outcome| {}

    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    before {
        forget_all(first, last);
        if defer::busy() && first <= last {
            let mut outcome = 0;
            defer::message::around_own(first, last, |first, last| {
                outcome = close_all(first, last, flags).min(outcome);
            });
            return outcome;
        }
    }
    after |outcome| {}

    fclose(stream: *mut libc::FILE) -> c_int;
    before { before_closing(stream) } after |outcome| {}

    // Functions after which a message would go elsewhere, or nowhere.
    connect(fd: c_int, address: *const c_void, length: c_uint) -> c_int;
    before { before_change(fd) } after |outcome| {}

    shutdown(fd: c_int, how: c_int) -> c_int;
    before {
        if defer::busy() && how != libc::SHUT_RD {
            if defer::message::shut_down_later(fd) {
                return if how == libc::SHUT_WR { 0 } else { shut_for_reading(fd) };
            }
            before_change(fd);
        }
    }
    after |outcome| {}

    // Functions that send, and are not delayed.
    sendfile(to: c_int, from: c_int, offset: *mut c_void, count: usize) -> isize;
    before { if !goes_next(to) { return -1; } } after |outcome| {}

    sendfile64(to: c_int, from: c_int, offset: *mut c_void, count: usize) -> isize;
    before { if !goes_next(to) { return -1; } } after |outcome| {}

    splice(from: c_int, from_at: *mut c_void, to: c_int, to_at: *mut c_void, count: usize, flags: c_uint) -> isize;
    before { if !goes_next(to) { return -1; } } after |outcome| {}

    pwritev2(to: c_int, vector: *const c_void, count: c_int, offset: i64, flags: c_int) -> isize;
    before { if !goes_next(to) { return -1; } } after |outcome| {}

    pwritev64v2(to: c_int, vector: *const c_void, count: c_int, offset: i64, flags: c_int) -> isize;
    before { if !goes_next(to) { return -1; } } after |outcome| {}

    vdprintf(to: c_int, format: *const c_void, arguments: *mut c_void) -> c_int;
    before { if !goes_next(to) { return -1; } } after |outcome| {}

    __vdprintf_chk(to: c_int, flag: c_int, format: *const c_void, arguments: *mut c_void) -> c_int;
    before { if !goes_next(to) { return -1; } } after |outcome| {}
}

/// The other half of a `shutdown` for both.
fn shut_for_reading(fd: c_int) -> c_int {
    // SAFETY: a part of what the program asks for, past our own hook.
    unsafe { libc::syscall(libc::SYS_shutdown, fd, libc::SHUT_RD) as c_int }
}

/// Something that is not deferred is about to be sent on `fd`: whether it may, or errno says why not.
pub(super) fn goes_next(fd: c_int) -> bool {
    !defer::busy() || defer::message::before_direct(fd)
}

macro_rules! reopens {
    ($($name:ident),*) => {$(
        /// Closes what a stream had, within the C library, and takes another file, often by the
        /// same number.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            path: *const c_char,
            mode: *const c_char,
            stream: *mut libc::FILE,
        ) -> *mut libc::FILE {
            type Function =
                unsafe extern "C" fn(*const c_char, *const c_char, *mut libc::FILE) -> *mut libc::FILE;
            // SAFETY: the prototype is that of the C library.
            static REAL: Real<Function> = unsafe { Real::new(c_name!($name)) };
            before_closing(stream);
            match REAL.get() {
                // SAFETY: called with the caller's own arguments.
                Some(real) => unsafe { real(path, mode, stream) },
                None => std::ptr::null_mut(),
            }
        }
    )*};
}

reopens!(freopen, freopen64);

/// The C library is about to close what `stream` has.
fn before_closing(stream: *mut libc::FILE) {
    if !stream.is_null() {
        // SAFETY: the caller's own stream, still open.
        let fd = unsafe { libc::fileno(stream) };
        if defer::busy() {
            defer::message::before_change(fd, 0);
        }
        forget(fd);
    }
}

/// `close_range`, past our own hook.
fn close_all(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: a part of what the program asks to be closed.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) as c_int }
}

/// Waits for what is deferred on `fd`; a socket that takes nothing is left to the helper, which has
/// a descriptor of its own. A helper's descriptor is nobody else's to close.
#[cold]
fn may_close(fd: c_int) -> bool {
    let own = defer::message::is_own(fd);
    if !own {
        defer::message::before_change(fd, 0);
    }
    !own
}

fn before_change(fd: c_int) {
    if defer::busy() {
        defer::message::before_change(fd, defer::PATIENCE_NS);
    }
}

fn forget_duplicate(command: c_int, outcome: c_int) {
    if command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC {
        forget(outcome);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn closefrom(first: c_int) {
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<unsafe extern "C" fn(c_int)> = unsafe { Real::new(c"closefrom") };
    let from = first.max(0) as c_uint;
    forget_all(from, c_uint::MAX);
    if defer::busy() {
        defer::message::around_own(from, c_uint::MAX, |first, last| {
            close_all(first, last, 0);
        });
    } else if let Some(real) = REAL.get() {
        // SAFETY: called with the caller's own argument.
        unsafe { real(first) };
    }
}

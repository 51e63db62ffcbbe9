//! The file descriptors that are sockets of UDP and TCP.
//!
//! A hook makes no system call that the program does not make: where one is not allowed, it would end the program. So the kernel
//! is asked nothing when something is sent. What a descriptor is is known from the call that makes it, or from the kernel when the
//! library comes up. A descriptor that another process sends is asked for when it arrives, while nothing confines the program.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::real::{Real, c_name, errno, set_errno, system_call};
use crate::{confined, defer, state};

/// No socket of the internet, or no descriptor at all.
const OTHER: u8 = 0;
const TCP: u8 = 1;
const UDP: u8 = 2;

/// Descriptors that are known: as many as Linux lets a process have (`fs.nr_open`). Those above, where that was raised, are not
/// delayed.
const KNOWN: usize = 1 << 20;
static KINDS: [AtomicU8; KNOWN] = [const { AtomicU8::new(OTHER) }; KNOWN];

/// True if `fd` is a socket of UDP or TCP.
#[inline(always)]
pub(super) fn is_internet(fd: c_int) -> bool {
    kind(fd) != OTHER
}

/// True if a socket of UDP or TCP is one of TCP.
pub(super) fn is_stream(fd: c_int) -> bool {
    kind(fd) == TCP
}

#[inline(always)]
fn kind(fd: c_int) -> u8 {
    KINDS
        .get(fd as usize)
        .map_or(OTHER, |kind| kind.load(Ordering::Relaxed))
}

/// The kind of a socket of this domain, type and protocol. A protocol of 0 is the usual one.
fn kind_of(domain: c_int, socket_type: c_int, protocol: c_int) -> u8 {
    const FLAGS: c_int = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    match (domain, socket_type & !FLAGS) {
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM) if protocol != libc::IPPROTO_SCTP => {
            TCP
        }
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM) => UDP,
        _ => OTHER,
    }
}

/// `fd` is of this kind from now on. What a child by `vfork` does to its descriptors it does not do to those of its parent, whose
/// memory it has.
fn set(fd: c_int, kind: u8) {
    if let Some(place) = KINDS.get(fd as usize)
        && !state::is_borrowed()
    {
        place.store(kind, Ordering::Relaxed);
    }
}

/// Asks the kernel what `fd` is.
pub(super) fn ask(fd: c_int) {
    let errno = errno();
    let asked = option(fd, libc::SO_DOMAIN).zip(option(fd, libc::SO_TYPE));
    let kind = asked.map_or(OTHER, |(domain, socket_type)| {
        let protocol = option(fd, libc::SO_PROTOCOL).unwrap_or(0);
        kind_of(domain, socket_type, protocol)
    });
    set(fd, kind);
    set_errno(errno);
}

/// Asks what the program has open when the library comes up.
pub(crate) fn ask_for_all() {
    /// The number of them, if the kernel does not list them.
    const USUAL: c_int = 1024;
    match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => {
            let names = entries.flatten().map(|entry| entry.file_name());
            names
                .filter_map(|name| name.to_str()?.parse().ok())
                .for_each(ask);
        }
        Err(_) => (0..USUAL).for_each(ask),
    }
}

/// A descriptor has come from elsewhere.
pub(super) fn arrived(fd: c_int) {
    match confined::is_on() {
        true => forget(fd),
        false => ask(fd),
    }
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
    set(fd, OTHER);
}

fn forget_all(first: c_uint, last: c_uint) {
    let end = (last as usize).saturating_add(1).min(KNOWN);
    if state::is_borrowed() {
        return;
    }
    for kind in KINDS.get(first as usize..end).unwrap_or_default() {
        // A page that was never written takes no memory.
        if kind.load(Ordering::Relaxed) != OTHER {
            kind.store(OTHER, Ordering::Relaxed);
        }
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
        pub(super) unsafe extern "C" fn $name($($arg: $type),*) -> $result {
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
    socket(domain: c_int, socket_type: c_int, protocol: c_int) -> c_int;
    before {} after |fd| { set(fd, kind_of(domain, socket_type, protocol)) }

    accept(fd: c_int, address: *mut c_void, length: *mut c_void) -> c_int;
    before {} after |new| { set(new, kind(fd)) }

    accept4(fd: c_int, address: *mut c_void, length: *mut c_void, flags: c_int) -> c_int;
    before {} after |new| { set(new, kind(fd)) }

    dup(fd: c_int) -> c_int;
    before {} after |new| { set(new, kind(fd)) }

    pidfd_getfd(process: c_int, fd: c_int, flags: c_uint) -> c_int;
    before {} after |new| { arrived(new) }

    dup2(old: c_int, new: c_int) -> c_int;
    before {
        if defer::busy() && !may_close(new) {
            defer::message::make_way(new);
        }
    }
    after |fd| { set(fd, kind(old)) }

    dup3(old: c_int, new: c_int, flags: c_int) -> c_int;
    before {
        if defer::busy() && !may_close(new) {
            defer::message::make_way(new);
        }
    }
    after |fd| { set(fd, kind(old)) }

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
    before {} after |outcome| { controlled(fd, command, outcome) }

    fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int;
    before {} after |outcome| { controlled(fd, command, outcome) }

    // The C library puts something else in the place of the first three itself.
    daemon(keep_folder: c_int, keep_streams: c_int) -> c_int;
    before {} after |outcome| {
        if outcome == 0 && keep_streams == 0 {
            forget_all(0, 2);
        }
    }

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
    unsafe { system_call()(libc::SYS_shutdown, fd, libc::SHUT_RD) as c_int }
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
    unsafe { system_call()(libc::SYS_close_range, first, last, flags) as c_int }
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

fn controlled(fd: c_int, command: c_int, outcome: c_int) {
    if command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC {
        set(outcome, kind(fd));
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

//! Messages on sockets.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use jitterlab_injector::delay::{Delay, Injection};

use super::{
    DEFERRED, Deferred, HELPER, Held, LANE_BYTES, Outcome, PATIENCE_NS, Work, busy, give_up,
    release, settle, wait_for_progress,
};
use crate::real::{errno, set_errno, system_call};
use crate::state;

/// A message that was copied: address, control data and data one after the other.
#[derive(Clone, Copy)]
pub(super) struct Message {
    copy: NonNull<u8>,
    address: usize,
    control: usize,
    data: usize,
    /// The bytes of the data that a stream has taken already.
    taken: usize,
    /// The flags for `send`.
    flags: c_int,
    stream: bool,
}

/// A message as the program gave it.
pub(crate) struct Outgoing<'a> {
    pub(crate) parts: &'a [libc::iovec],
    pub(crate) address: (*const c_void, usize),
    pub(crate) control: (*const c_void, usize),
    pub(crate) flags: c_int,
    /// It is sent by `write` or `writev`. An empty message means nothing to these, and no empty datagram.
    pub(crate) written: bool,
}

/// The next step of the hook.
pub(crate) enum Verdict {
    /// Gives this to the program.
    Sent(isize),
    /// Sets this error and gives -1.
    Failed(c_int),
    /// Performs the send itself: its time has come, and what came before it is through.
    Directly,
    /// Performs it, and learns that the descriptor is no socket any more.
    NoSocket,
}

/// The flags that a message can be sent with later as well as now.
const FLAGS: c_int =
    libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_MORE | libc::MSG_EOR | libc::MSG_DONTROUTE;
/// The most of a stream that is one entry.
const PIECE: usize = 64 << 10;
/// The most of address and control data.
const EXTRAS: usize = 4 << 10;
/// The most parts that the system takes.
pub(crate) const MOST_PARTS: usize = 1024;
/// A descriptor of our own is a high one: programs expect the low ones to be theirs.
const OWN_FROM: c_int = 200;
/// Longer than any program runs.
const EVER_NS: u64 = u64::MAX >> 8;

impl Outgoing<'_> {
    /// The length of its data; `None` for one that no memory holds, which is the system's to judge.
    fn length(&self) -> Option<usize> {
        if self.parts.len() > MOST_PARTS {
            return None;
        }
        let mut lengths = self.parts.iter().map(|part| part.iov_len);
        let sum = lengths.try_fold(0, usize::checked_add)?;
        isize::try_from(sum).is_ok().then_some(sum)
    }

    /// The length of one that can be sent later. `None` for what can only be sent by the program
    /// itself: out-of-band or zero-copy data, control data that is not there, a message that is too
    /// long for any socket, and what is no message at all.
    fn deferrable(&self, stream: bool) -> Option<usize> {
        let special = |length: usize| {
            self.flags & !FLAGS != 0
                || self.control.0.is_null() && self.control.1 > 0
                || self.address.1.saturating_add(self.control.1) > EXTRAS
                || !stream && length > PIECE
                || length == 0 && (stream || self.written)
        };
        self.length().filter(|&length| !special(length))
    }
}

/// Defers a message on `fd` by a delay; with `None`, only if it has to wait for what is
/// deferred there already. `stream` says that it is a socket of TCP.
pub(crate) fn send(fd: c_int, stream: bool, message: &Outgoing, asked: Option<Delay>) -> Verdict {
    let Some(injection) = state::injection() else {
        return Verdict::Directly;
    };
    let clock = injection.clock();
    let mut delay = asked.unwrap_or_else(|| Delay::none(clock.now()));
    let before = errno();
    let Some(key) = key_of(fd) else {
        set_errno(before);
        return Verdict::NoSocket;
    };
    let Some(length) = message.deferrable(stream) else {
        if !goes_next(fd, key, message.flags) {
            return Verdict::Failed(libc::EAGAIN);
        }
        set_errno(before);
        state::wait_out(injection, delay);
        return Verdict::Directly;
    };
    let mut sent = 0;
    let mut held = DEFERRED.lock();
    if asked.is_none() && !held.is_pending(key) {
        drop(held);
        set_errno(before);
        return Verdict::Directly;
    }
    let verdict = loop {
        if let Some(error) = held.take_error(key) {
            break if sent > 0 {
                // Whoever sends next gets to know.
                held.leave_error(key, error);
                Verdict::Sent(sent as isize)
            } else {
                Verdict::Failed(error)
            };
        }
        let piece = if stream {
            (length - sent).min(PIECE)
        } else {
            length
        };
        match held.copy(key, fd, message, sent..sent + piece, stream, delay) {
            Copied::Yes => {
                sent += piece;
                delay = delay.same();
                if sent == length {
                    break Verdict::Sent(length as isize);
                }
            }
            Copied::Never if sent == 0 => {
                drop(held);
                settle(|lane| lane.key == key, PATIENCE_NS);
                state::wait_out(injection, delay);
                set_errno(before);
                return Verdict::Directly;
            }
            Copied::Never => break Verdict::Sent(sent as isize),
            Copied::NotNow => {
                let (again, error) =
                    wait_for_room(held, key, fd, message.flags, injection, delay.start);
                held = again;
                match error {
                    None => {}
                    Some(_) if sent > 0 => break Verdict::Sent(sent as isize),
                    Some(error) => break Verdict::Failed(error),
                }
            }
        }
    };
    release(held, injection);
    set_errno(before);
    if let Verdict::Failed(libc::EPIPE) = verdict
        && message.flags & libc::MSG_NOSIGNAL == 0
    {
        // SAFETY: what the system does when such a send fails.
        unsafe { libc::raise(libc::SIGPIPE) };
    }
    verdict
}

/// Waits until the lanes have room, as a send waits for room in the socket's buffer. Or it gives
/// the error with which such a send is given up.
fn wait_for_room(
    mut held: Held,
    key: u64,
    fd: c_int,
    flags: c_int,
    injection: &'static Injection,
    start: u64,
) -> (Held, Option<c_int>) {
    let limit = match patience_of(fd, flags) {
        Patience::None => {
            if let Some(place) = held.lanes.find(key)
                && let Some(lane) = held.lanes.get(place)
            {
                lane.refused = lane.pending > 0;
            }
            return (held, Some(libc::EAGAIN));
        }
        Patience::Ns(ns) => Some(ns),
        Patience::Endless => None,
    };
    let clock = injection.clock();
    let passed = clock.ticks_to_ns(clock.now().saturating_sub(start));
    if limit.is_some_and(|limit| passed >= limit) {
        return (held, Some(libc::EAGAIN));
    }
    if HELPER.load(Ordering::Relaxed) == 0 {
        release(held, injection);
        return (DEFERRED.lock(), None);
    }
    // Room is made by what is performed, which wakes us. Only a wait without a limit goes on after a
    // handler with SA_RESTART; the system, too, gives up one with SO_SNDTIMEO after any handler.
    let (held, interrupted) = wait_for_progress(held, limit.map(|_| 5_000_000));
    (held, interrupted.then_some(libc::EINTR))
}

/// The time that a send on a socket waits.
enum Patience {
    None,
    Ns(u64),
    Endless,
}

fn patience_of(fd: c_int, flags: c_int) -> Patience {
    // SAFETY: asks the kernel, past our own hook; the time is ours and as long as it says.
    unsafe {
        let state = system_call()(libc::SYS_fcntl, fd, libc::F_GETFL);
        if flags & libc::MSG_DONTWAIT != 0 || state & i64::from(libc::O_NONBLOCK) != 0 {
            return Patience::None;
        }
        let mut time = libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        };
        let mut size = size_of::<libc::timeval>() as libc::socklen_t;
        let time_at = (&raw mut time).cast();
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_SNDTIMEO,
            time_at,
            &raw mut size,
        );
        match time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000 {
            0 => Patience::Endless,
            ns => Patience::Ns(ns),
        }
    }
}

/// The result of copying.
enum Copied {
    Yes,
    /// There is no room before something was performed.
    NotNow,
    /// There are no descriptors, or no lanes.
    Never,
}

impl Deferred {
    fn leave_error(&mut self, key: u64, error: c_int) {
        if let Some(place) = self.lanes.find_or_make(key)
            && let Some(lane) = self.lanes.get(place)
        {
            lane.error = Some(error);
        }
    }

    fn copy(
        &mut self,
        key: u64,
        fd: c_int,
        message: &Outgoing,
        range: std::ops::Range<usize>,
        stream: bool,
        delay: Delay,
    ) -> Copied {
        let Some(place) = self.lanes.find_or_make(key) else {
            return Copied::Never;
        };
        let Some(lane) = self.lanes.get(place) else {
            return Copied::Never;
        };
        let extras = if range.start == 0 {
            [message.address, message.control]
        } else {
            [(std::ptr::null(), 0); 2]
        };
        let before_data = extras.iter().map(|extra| aligned(extra.1)).sum::<usize>();
        let copied = before_data + range.len();
        if lane.pending > 0 && lane.bytes + copied > LANE_BYTES {
            return Copied::NotNow;
        }
        if lane.fd < 0 {
            let Some(own) = duplicate(fd) else {
                lane.rest();
                return Copied::Never;
            };
            lane.fd = own;
        }
        let Some((entry, copy, bytes)) = self.take(copied) else {
            let Some(lane) = self.lanes.get(place) else {
                return Copied::Never;
            };
            if lane.pending == 0 {
                lane.rest();
            }
            return if busy() {
                Copied::NotNow
            } else {
                Copied::Never
            };
        };
        // SAFETY: the block has room for all of it; that the message points to what it says it
        // does is the caller's word.
        unsafe {
            let mut to = copy.as_ptr();
            for (data, length) in extras {
                std::ptr::copy_nonoverlapping(data.cast::<u8>(), to, length);
                to = to.add(aligned(length));
            }
            gather(message.parts, range.clone(), to);
        }
        let work = Work::Message(Message {
            copy,
            address: extras[0].1,
            control: extras[1].1,
            data: range.len(),
            taken: 0,
            flags: message.flags | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            stream,
        });
        // SAFETY: the entry was taken for this, and the message is all in the copy.
        unsafe { self.put((entry, bytes), place, delay, work) };
        Copied::Yes
    }
}

/// The place where the next thing begins after `length` bytes.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(16)
}

/// Copies the bytes of `range`, counted over all parts, to `to`.
///
/// # Safety
/// The parts are memory that can be read, as long as they say; `to` has room.
unsafe fn gather(parts: &[libc::iovec], range: std::ops::Range<usize>, mut to: *mut u8) {
    let mut at = 0;
    for part in parts {
        let from = range.start.clamp(at, at + part.iov_len) - at;
        let until = range.end.clamp(at, at + part.iov_len) - at;
        // SAFETY: within the part, and by the contract of this function.
        unsafe {
            if until > from {
                let data = part.iov_base.cast::<u8>().add(from);
                std::ptr::copy_nonoverlapping(data, to, until - from);
                to = to.add(until - from);
            }
        }
        at += part.iov_len;
    }
}

impl Message {
    /// Sends it on `fd`, or what is left of it.
    pub(super) fn perform(&mut self, fd: c_int) -> Outcome {
        let control_at = aligned(self.address);
        let data_at = control_at + aligned(self.control) + self.taken;
        // SAFETY: all offsets are within the copy.
        let (address, control, data) = unsafe {
            let copy = self.copy.as_ptr();
            (copy, copy.add(control_at), copy.add(data_at))
        };
        let first = self.taken == 0;
        let or_null = |place: *mut u8, length: usize| {
            if length > 0 && first {
                (place.cast::<c_void>(), length)
            } else {
                (std::ptr::null_mut(), 0)
            }
        };
        let mut part = libc::iovec {
            iov_base: data.cast(),
            iov_len: self.data - self.taken,
        };
        // SAFETY: a header of zeros is an empty one.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        let (name, length) = or_null(address, self.address);
        (header.msg_name, header.msg_namelen) = (name, length as libc::socklen_t);
        let (control, length) = or_null(control, self.control);
        (header.msg_control, header.msg_controllen) = (control, length as _);
        (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
        loop {
            // SAFETY: the header leads to memory of our own; straight to the kernel, past our hook.
            let sent =
                unsafe { system_call()(libc::SYS_sendmsg, fd, &raw const header, self.flags) };
            return match sent {
                0.. => {
                    self.taken += sent as usize;
                    if self.stream && self.taken < self.data {
                        Outcome::Later
                    } else {
                        Outcome::Done
                    }
                }
                _ => match errno() {
                    libc::EINTR => continue,
                    libc::EAGAIN => Outcome::Later,
                    error => Outcome::Failed(error),
                },
            };
        }
    }
}

/// Lets an edge-triggered epoll report that the socket at `fd` can be written to. Its lane was full
/// and has room now, and the system does not know that. A program that sets this option is taken to have
/// made room. Where the system's buffer is full, `poll` asks it to report when it no longer is.
pub(super) fn tell_of_room(fd: c_int) {
    let mut about = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
    let mut value: c_int = 0;
    let mut size = size_of::<c_int>() as libc::socklen_t;
    let at = (&raw mut value).cast::<c_void>();
    // SAFETY: what the system reads and writes is ours; the option is set to what it is.
    unsafe {
        libc::poll(&raw mut about, 1, 0);
        if libc::getsockopt(fd, level, name, at, &raw mut size) == 0 {
            libc::setsockopt(fd, level, name, at, size);
        }
    }
}

/// A descriptor of our own of the socket at `fd`; where the program may have few, a lower one.
fn duplicate(fd: c_int) -> Option<c_int> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the system fills `limit`.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let from = (limit.rlim_cur / 2).min(OWN_FROM as libc::rlim_t);
    // SAFETY: asks for a second descriptor of what `fd` is, past our own hook.
    let own = unsafe { system_call()(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, from) };
    (own >= 0).then_some(own as c_int)
}

/// Sockets have a number of their own, whatever descriptors they have. `None` for what is none.
fn key_of(fd: c_int) -> Option<u64> {
    let mut about = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the system fills `about` if it says so.
    let about = unsafe { (libc::fstat(fd, about.as_mut_ptr()) == 0).then(|| about.assume_init()) }?;
    (about.st_mode & libc::S_IFMT == libc::S_IFSOCK).then_some(about.st_ino)
}

/// Waits for what is deferred on the socket `key` as a send on `fd` waits for room; whether that
/// is through.
fn goes_next(fd: c_int, key: u64, flags: c_int) -> bool {
    let patience_ns = match patience_of(fd, flags) {
        Patience::None => 0,
        Patience::Ns(ns) => ns,
        Patience::Endless => EVER_NS,
    };
    settle(|lane| lane.key == key, patience_ns)
}

/// Says that no more is sent on a socket. Nobody is there any more to be told of an error.
pub(super) fn shut_down(fd: c_int) -> Outcome {
    // SAFETY: straight to the kernel, past our own hook.
    unsafe { system_call()(libc::SYS_shutdown, fd, libc::SHUT_WR) };
    Outcome::Done
}

/// Shuts the socket at `fd` down for sending after what is deferred there, as one thing more that
/// is. `false` if there is nothing, or no room.
#[cold]
pub(crate) fn shut_down_later(fd: c_int) -> bool {
    let before = errno();
    let deferred = key_of(fd)
        .zip(state::injection())
        .and_then(|(key, injection)| {
            let mut held = DEFERRED.lock();
            let place = held.lanes.find(key)?;
            held.lanes.get(place).filter(|lane| lane.pending > 0)?;
            let (entry, _, bytes) = held.take(0)?;
            let now = Delay::none(injection.clock().now());
            // SAFETY: the entry was taken for this, and needs no copy.
            unsafe { held.put((entry, bytes), place, now, Work::Shutdown) };
            release(held, injection);
            Some(())
        });
    set_errno(before);
    deferred.is_some()
}

/// Something is about to be sent on `fd` by a function that does not defer: what is deferred there
/// goes first. If the socket takes nothing now, gives `false` and sets errno as such a send does.
#[cold]
pub(crate) fn before_direct(fd: c_int) -> bool {
    let before = errno();
    let next = key_of(fd).is_none_or(|key| goes_next(fd, key, 0));
    set_errno(if next { before } else { libc::EAGAIN });
    next
}

/// The socket at `fd` is about to change: to be closed, or shut down, or connected to somebody
/// else. Waits for what is deferred there, for at most `patience_ns` if it takes nothing.
#[cold]
pub(crate) fn before_change(fd: c_int, patience_ns: u64) {
    let before = errno();
    if let Some(key) = key_of(fd) {
        settle(|lane| lane.key == key, patience_ns);
    }
    set_errno(before);
}

/// True if `fd` is one of our own descriptors, which a program that closes whatever there may be
/// must leave alone.
#[cold]
pub(crate) fn is_own(fd: c_int) -> bool {
    fd >= 0 && DEFERRED.lock().lanes.all().any(|lane| lane.fd == fd)
}

/// A program puts something else in the place of one of our own descriptors: what is to be sent
/// there must not go to that.
#[cold]
pub(crate) fn make_way(fd: c_int) {
    settle(|lane| lane.fd == fd, PATIENCE_NS);
    give_up(|lane| lane.fd == fd);
}

/// Calls `close` with the parts of a range of descriptors that are not our own, first and last.
#[cold]
pub(crate) fn around_own(first: c_uint, last: c_uint, mut close: impl FnMut(c_uint, c_uint)) {
    settle(|_| true, 0);
    let held = DEFERRED.lock();
    let mut first = Some(first);
    while let Some(from) = first.filter(|&from| from <= last) {
        let own = held
            .lanes
            .all()
            .filter_map(|lane| c_uint::try_from(lane.fd).ok());
        let next = own.filter(|own| (from..=last).contains(own)).min();
        match next {
            Some(own) if own > from => close(from, own - 1),
            Some(_) => {}
            None => close(from, last),
        }
        first = next.and_then(|own| own.checked_add(1));
    }
}

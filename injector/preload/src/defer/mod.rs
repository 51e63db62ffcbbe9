//! Defer mode: a send is copied, and a helper thread performs it when it is due.
//!
//! What belongs together and has to stay in order (the sends of a socket, the posts of a queue
//! pair) is a [`Lane`]: a send is due no earlier than the one before it in its lane. A send that
//! fails leaves its error in the lane, for the next send there to return.
//!
//! Everything is in one static place behind one lock and in memory of its own, because a program
//! may send in a signal handler, in the middle of `malloc`.

#![allow(unsafe_code)]

pub(crate) mod build;
mod helper;
mod lanes;
mod lock;
mod margin;
mod memory;
pub(crate) mod message;
pub(crate) mod post;
mod queue;

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use jitterlab_injector::delay::{Delay, Injection};
use jitterlab_injector::table::MAX_DELAY_NS;

use crate::{confined, state};
pub(crate) use helper::dismiss_helper;
use lanes::Lanes;
use lock::{Guard, Lock};
use memory::Memory;
use queue::{Item, Queue};

/// The bytes that may wait in a lane, as in the buffer of a socket.
const LANE_BYTES: usize = 1 << 20;
/// The time that a socket that takes nothing may hold up the end of the program.
pub(crate) const PATIENCE_NS: u64 = 1_000_000_000;

/// The work that is performed when an entry is due.
#[derive(Clone, Copy)]
enum Work {
    /// A message on a socket.
    Message(message::Message),
    /// The end of what is sent on a socket.
    Shutdown,
    /// Posts on a queue pair.
    Post(post::Post),
    /// Posts on a queue pair, by the extended calls.
    Built(build::Built),
}

type Entry = lanes::Entry<Work>;
type Lane = lanes::Lane<Work>;

/// The outcome of an attempt to perform an entry.
enum Outcome {
    /// It is performed.
    Done,
    /// It cannot be performed now: its queue or socket is full or busy.
    Later,
    /// It failed with this error number.
    Failed(c_int),
}

/// True if a provider says by this error that its send queue is full: there is room when the program
/// has polled for completions. Some say it by a negative number.
fn is_full(error: c_int) -> bool {
    matches!(error.abs(), libc::ENOMEM | libc::ENOSPC)
}

/// All there is, behind the lock.
struct Deferred {
    queue: Queue<NonNull<Entry>>,
    lanes: Lanes<Work>,
    memory: Memory,
    orders: u64,
    /// The signals that a thread which forks held back before.
    forking: Option<libc::sigset_t>,
}

// SAFETY: what the pointers lead to is in `memory`, and belongs to whoever holds the lock; of an
// entry that is being performed, the helper alone.
unsafe impl Send for Deferred {}

static DEFERRED: Lock<Deferred> = Lock::new(Deferred {
    queue: Queue::new(),
    lanes: Lanes::new(),
    memory: Memory::new(),
    orders: 0,
    forking: None,
});

/// The process that has a helper thread: this one, or 0. (A child by `vfork` sees its parent's.)
/// Changed by whoever has the lock.
static HELPER: AtomicU32 = AtomicU32::new(0);
/// The number of entries that wait or are being performed. Changed by whoever has the lock.
static PENDING: AtomicUsize = AtomicUsize::new(0);
/// Counts what was performed; those who wait for that sleep here.
static PERFORMED: AtomicU32 = AtomicU32::new(0);
/// The number of threads that sleep there.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// The time that the helper waits for; changes of it are counted in `CALLS`, where it sleeps.
static EARLIEST: AtomicU64 = AtomicU64::new(u64::MAX);
static CALLS: AtomicU32 = AtomicU32::new(0);

/// True if anything is deferred at the moment.
#[inline(always)]
pub(crate) fn busy() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

impl Deferred {
    /// True if anything waits in the lane of `key`.
    fn is_pending(&self, key: u64) -> bool {
        self.lanes
            .all()
            .any(|lane| lane.key == key && lane.pending > 0)
    }

    /// The error that is left in the lane of `key`, for whoever sends there next.
    fn take_error(&mut self, key: u64) -> Option<c_int> {
        let place = self.lanes.find(key)?;
        let lane = self.lanes.get(place)?;
        let error = lane.error.take();
        if lane.pending == 0 {
            lane.rest();
        }
        error
    }

    /// A block for an entry that copies `copied` bytes: the place of the entry, and the place of the copy.
    fn take(&mut self, copied: usize) -> Option<(NonNull<Entry>, NonNull<u8>, usize)> {
        if self.queue.is_full() {
            return None;
        }
        let bytes = size_of::<Entry>() + copied;
        let block = self.memory.take(bytes)?;
        // SAFETY: the block is large enough for both.
        Some((
            block.cast(),
            unsafe { block.add(size_of::<Entry>()) },
            bytes,
        ))
    }

    /// Puts an entry in its lane and into the queue. The helper is told when it is the next.
    ///
    /// # Safety
    /// `entry` and `bytes` came from [`Deferred::take`], and `work` needs nothing but the copy.
    unsafe fn put(
        &mut self,
        (entry, bytes): (NonNull<Entry>, usize),
        lane: usize,
        mut delay: Delay,
        work: Work,
    ) {
        let Some(lane_of) = self.lanes.get(lane) else {
            return;
        };
        let due = delay.due.max(lane_of.last_due);
        (lane_of.last_due, delay.due) = (due, due);
        if lane_of.pending == 0 {
            lane_of.through = self.orders;
        }
        lane_of.pending += 1;
        lane_of.bytes += bytes;
        self.orders += 1;
        // SAFETY: the block is large enough, aligned, and nobody else's.
        unsafe {
            entry.write(Entry {
                next: None,
                lane,
                order: self.orders,
                delay,
                bytes,
                work,
            });
        }
        let pushed = self.queue.push(Item {
            when: due,
            order: self.orders,
            thing: entry,
        });
        debug_assert!(pushed, "`take` saw that there is room");
        if PENDING.fetch_add(1, Ordering::Relaxed) == 0 {
            state::set_deferring(true);
        }
        if due < EARLIEST.load(Ordering::Relaxed) {
            EARLIEST.store(due, Ordering::Relaxed);
            CALLS.fetch_add(1, Ordering::Release);
            lock::wake(&CALLS, 1);
        }
    }

    /// Takes an entry that is over out of its lane.
    fn over(&mut self, entry: NonNull<Entry>, error: Option<c_int>) {
        // SAFETY: the entry is initialised, and the helper is through with it.
        let Entry {
            lane, order, bytes, ..
        } = *unsafe { entry.as_ref() };
        // SAFETY: it came from `take` with these bytes.
        unsafe { self.memory.give(entry.cast(), bytes) };
        if let Some(lane) = self.lanes.get(lane) {
            lane.pending -= 1;
            lane.through = order;
            lane.bytes -= bytes;
            lane.error = lane.error.or(error);
            if lane.refused && lane.bytes <= LANE_BYTES / 2 {
                lane.refused = false;
                message::tell_of_room(lane.fd);
            }
            if lane.pending == 0 {
                lane.rest();
            }
        }
        if PENDING.fetch_sub(1, Ordering::Relaxed) == 1 {
            state::set_deferring(false);
        }
        PERFORMED.fetch_add(1, Ordering::Release);
        if WAITING.load(Ordering::Relaxed) > 0 {
            lock::wake(&PERFORMED, c_int::MAX);
        }
    }
}

type Held = Guard<'static, Deferred>;

/// Gives the lock back until something was performed, or `ns` have passed; whether a signal
/// handler wants the call to be given up.
fn wait_for_progress(held: Held, ns: Option<u64>) -> (Held, bool) {
    let seen = PERFORMED.load(Ordering::Acquire);
    WAITING.fetch_add(1, Ordering::Relaxed);
    let (held, interrupted) = held.wait(&PERFORMED, seen, ns);
    WAITING.fetch_sub(1, Ordering::Relaxed);
    (held, interrupted)
}

/// Lets the lock go and sees to it that there is a helper.
fn release(held: Held, injection: &'static Injection) {
    let start = HELPER.load(Ordering::Relaxed) == 0 && busy();
    if start {
        HELPER.store(std::process::id(), Ordering::Relaxed);
    }
    drop(held);
    if start {
        helper::start(injection);
    }
}

/// True if this process has a helper.
fn has_helper() -> bool {
    HELPER.load(Ordering::Relaxed) == std::process::id()
}

/// Waits until nothing is pending in the lanes that `chosen` is true for. A lane that could not
/// go on for `patience_ns` is left as it is. Gives whether there was none.
fn settle(chosen: impl Fn(&Lane) -> bool, patience_ns: u64) -> bool {
    let Some(injection) = state::injection().filter(|_| busy() && has_helper()) else {
        return true;
    };
    let clock = injection.clock();
    let patience = clock.ns_to_ticks(patience_ns);
    let mut held = DEFERRED.lock();
    let waits = |lane: &Lane| lane.pending > 0 && chosen(lane);
    while has_helper()
        && held.lanes.all().any(|lane| {
            let stuck = lane
                .stuck_since
                .is_some_and(|since| clock.now().saturating_sub(since) >= patience);
            waits(lane) && !stuck
        })
    {
        (held, _) = wait_for_progress(held, Some(5_000_000));
    }
    !held.lanes.all().any(waits)
}

/// Gives up what is pending in the lanes that `chosen` is true for, and waits until the helper has
/// done with it.
fn give_up(chosen: impl Fn(&Lane) -> bool) {
    let mut held = DEFERRED.lock();
    loop {
        let mut left = false;
        for lane in held.lanes.all_mut() {
            if lane.pending > 0 && chosen(lane) {
                lane.given_up = true;
                left = true;
            }
        }
        if !left || !has_helper() {
            return;
        }
        (held, _) = wait_for_progress(held, Some(5_000_000));
    }
}

/// Waits until all that is deferred is performed: the program ends, or becomes another.
pub(crate) fn settle_all() {
    settle(|_| true, PATIENCE_NS);
}

/// Waits until what is pending on sockets now is performed: a child that has them, too, may send there next, and the bytes of a stream
/// have to stay in order. What other threads send meanwhile is not waited for.
pub(crate) fn settle_for_child() {
    if !busy() {
        return;
    }
    let Some(injection) = state::injection() else {
        return;
    };
    let last = DEFERRED.lock().orders;
    let clock = injection.clock();
    // A helper that a fork holds up (by a lock that the program takes for it) has to be left behind.
    let end = clock.now() + clock.ns_to_ticks(u64::from(MAX_DELAY_NS) + PATIENCE_NS);
    settle(
        |lane| lane.fd >= 0 && lane.through < last && clock.now() < end,
        PATIENCE_NS,
    );
}

thread_local! {
    // Whether the calling thread keeps the books still.
    static KEEPS_STILL: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the books still while the calling thread forks, if there may be any.
pub(crate) fn before_fork() {
    let defers = || state::injection().is_some_and(Injection::defers);
    let may_be = busy() || !confined::is_on() && defers();
    KEEPS_STILL.set(may_be);
    if !may_be {
        return;
    }
    let mut held = DEFERRED.lock();
    held.forking = Some(held.signals());
    std::mem::forget(held);
}

/// After [`before_fork`], in parent and child alike.
///
/// # Safety
/// The calling thread came through [`before_fork`], or is its copy in the child.
unsafe fn after_fork() -> Option<Held> {
    if !KEEPS_STILL.replace(false) {
        return None;
    }
    // SAFETY: the lock is held by this thread, which forgot the guard.
    unsafe { DEFERRED.resume(|deferred| deferred.forking.take()) }
}

/// The parent goes on as before.
pub(crate) fn after_fork_in_parent() {
    // SAFETY: called by the system after `before_fork` in the same thread.
    drop(unsafe { after_fork() });
}

/// The child has no helper, and what its parent deferred is its parent's to perform. The
/// descriptors that were kept for it would keep connections open that the parent closes.
pub(crate) fn after_fork_in_child() {
    // SAFETY: called by the system in the copy of the thread that came through `before_fork`.
    let Some(mut held) = (unsafe { after_fork() }) else {
        return;
    };
    // The memory of entries is lost to the child: one that is being performed is in nobody's list.
    while held.queue.pop().is_some() {}
    for lane in held.lanes.all_mut() {
        lane.error = None;
        lane.rest();
    }
    HELPER.store(0, Ordering::Relaxed);
    PENDING.store(0, Ordering::Relaxed);
    state::set_deferring(false);
    WAITING.store(0, Ordering::Relaxed);
    EARLIEST.store(u64::MAX, Ordering::Relaxed);
}

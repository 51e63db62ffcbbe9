//! The helper thread: sleeps until shortly before something is due, and performs it.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use jitterlab_injector::control::Slot;
use jitterlab_injector::delay::Injection;

use super::lock::{HeldSignals, wake};
use super::margin::Margin;
use super::message;
use super::queue::Item;
use super::{CALLS, DEFERRED, EARLIEST, Entry, HELPER, Held, Outcome, Work};
use crate::real::{Real, system_call};

static MARGIN: Margin = Margin::new();
/// The time that a helper without work stays. A program ends when its last thread does, which must
/// not be ours.
const IDLE_NS: u64 = 100_000_000;
/// The time after which something that could not be performed is tried again: at first, and at most.
const RETRY_NS: u64 = 20_000;
const RETRY_MOST_NS: u64 = 1_000_000;

type PthreadCreate = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> c_int;

/// Starts the helper. If there can be no thread, does its work in this one.
///
/// This is the one place where a send may allocate, once after a pause of [`IDLE_NS`].
pub(super) fn start(injection: &'static Injection) {
    // SAFETY: the prototype is that of the C library.
    static REAL: Real<PthreadCreate> = unsafe { Real::new(c"pthread_create") };
    let argument = std::ptr::from_ref(injection).cast_mut().cast::<c_void>();
    // A thread begins with the blocked signals of its maker, here all of them, and with its niceness,
    // which decides when it begins on a busy processor.
    let held = HeldSignals::hold();
    let urgent = Urgent::begin();
    let mut thread = std::mem::MaybeUninit::uninit();
    let started = REAL.get().is_some_and(|create| {
        // SAFETY: as the prototype asks; the thread is detached, so that nobody has to join it.
        unsafe {
            create(
                thread.as_mut_ptr(),
                std::ptr::null(),
                thread_of_its_own,
                argument,
            ) == 0
                && libc::pthread_detach(thread.assume_init()) == 0
        }
    });
    drop(urgent);
    drop(held);
    if !started {
        run(injection, 0);
    }
}

/// The highest priority that is not real-time. The kernel takes a share of the time from real-time threads
/// that watch the clock.
const NICENESS: c_int = -20;

/// While it lives, the calling thread has [`NICENESS`], if the process may.
struct Urgent(Option<c_int>);

impl Urgent {
    fn begin() -> Self {
        // The program sees no error that is not its own.
        let errno = crate::real::errno();
        // SAFETY: reads and sets the niceness of this thread, which Linux has for each. The first fails for no
        // thread that is alive.
        let (before, raised) = unsafe {
            (
                libc::getpriority(libc::PRIO_PROCESS, 0),
                libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) == 0,
            )
        };
        crate::real::set_errno(errno);
        Urgent(raised.then_some(before))
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // SAFETY: sets the niceness of this thread; to be nicer is always allowed.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before) };
        }
    }
}

/// The helper's thread, 0 where it has not begun; and whether it is to end as soon as there is nothing to do.
static THREAD: AtomicI32 = AtomicI32::new(0);
static DISMISSED: AtomicBool = AtomicBool::new(false);

/// Lets the helper end, and waits until its thread is gone: soon it may not be allowed to make the system calls of its end.
pub(crate) fn dismiss_helper() {
    DISMISSED.store(true, Ordering::Relaxed);
    if HELPER.load(Ordering::Relaxed) == 0 && THREAD.load(Ordering::Relaxed) == 0 {
        return;
    }
    while HELPER.load(Ordering::Relaxed) == std::process::id() {
        CALLS.fetch_add(1, Ordering::Release);
        wake(&CALLS, 1);
        std::thread::yield_now();
    }
    let thread = THREAD.load(Ordering::Acquire);
    // SAFETY: asks whether there is such a thread in this process; no signal is sent.
    let is_there = || unsafe { system_call()(libc::SYS_tgkill, libc::getpid(), thread, 0) } == 0;
    while thread != 0 && is_there() {
        std::thread::yield_now();
    }
}

extern "C" fn thread_of_its_own(injection: *mut c_void) -> *mut c_void {
    // SAFETY: asks for the number of this thread, and sets its name and its timer slack.
    unsafe {
        THREAD.store(libc::gettid(), Ordering::Release);
        libc::prctl(libc::PR_SET_NAME, c"jitterlab-defer".as_ptr());
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
    // SAFETY: `start` was given a reference that is good for as long as the process.
    if let Some(injection) = unsafe { injection.cast_const().cast::<Injection>().as_ref() } {
        run(injection, IDLE_NS);
    }
    std::ptr::null_mut()
}

/// Performs what is due until there has been nothing to do for `idle_ns`.
fn run(injection: &'static Injection, idle_ns: u64) {
    let clock = injection.clock();
    let slot = injection.claim_slot();
    let mut idle = false;
    // The entry that the helper got up for: it does not lie down again.
    let mut up_for = None;
    let mut held = DEFERRED.lock();
    loop {
        let seen = CALLS.load(Ordering::Acquire);
        let Some(first) = held.queue.first() else {
            if idle || idle_ns == 0 || DISMISSED.load(Ordering::Relaxed) {
                break;
            }
            EARLIEST.store(u64::MAX, Ordering::Relaxed);
            let (again, _) = held.wait(&CALLS, seen, Some(idle_ns));
            held = again;
            idle = CALLS.load(Ordering::Acquire) == seen;
            continue;
        };
        idle = false;
        EARLIEST.store(first.when, Ordering::Relaxed);
        let now = clock.now();
        let left = clock.ticks_to_ns(first.when.saturating_sub(now));
        let asleep = MARGIN.sleep_ns(left).filter(|_| up_for != Some(first.when));
        if let Some(sleep) = asleep {
            (held, _) = held.wait(&CALLS, seen, Some(sleep));
            if CALLS.load(Ordering::Acquire) == seen {
                up_for = Some(first.when);
                let slept = clock.ticks_to_ns(clock.now() - now);
                MARGIN.slept(slept.saturating_sub(sleep));
            }
        } else if left > 0 {
            drop(held);
            while clock.now() < first.when && CALLS.load(Ordering::Relaxed) == seen {}
            held = DEFERRED.lock();
        } else if let Some(item) = held.queue.pop() {
            held = perform(held, item, injection, slot);
        }
    }
    EARLIEST.store(u64::MAX, Ordering::Relaxed);
    HELPER.store(0, Ordering::Relaxed);
    drop(held);
    slot.release();
}

/// Performs an entry, and those that wait behind it in its lane; or lets it wait.
fn perform(mut held: Held, item: Item<NonNull<Entry>>, injection: &Injection, slot: Slot) -> Held {
    let clock = injection.clock();
    let mut entry = item.thing;
    // SAFETY: an entry in the queue is initialised; the helper alone performs.
    let (place, retried) = unsafe { (entry.as_ref().lane, entry.as_ref().delay.due != item.when) };
    if let Some(lane) = held.lanes.get(place)
        && lane.stuck_since.is_some()
        && !retried
    {
        lane.wait(entry);
        return held;
    }
    loop {
        let Some(lane) = held.lanes.get(place) else {
            return held;
        };
        let (fd, given_up) = (lane.fd, lane.given_up);
        drop(held);
        // SAFETY: the entry is initialised, and nobody but the helper looks at it.
        let at = unsafe { entry.as_mut() };
        injection.is_over(slot, &mut at.delay);
        let outcome = match &mut at.work {
            _ if given_up => Outcome::Failed(libc::ECANCELED),
            Work::Message(message) => message.perform(fd),
            Work::Shutdown => message::shut_down(fd),
            Work::Post(post) => post.perform(),
            Work::Built(built) => built.perform(),
        };
        let error = match outcome {
            Outcome::Later => {
                held = DEFERRED.lock();
                wait_and_retry(&mut held, entry, place, injection);
                return held;
            }
            Outcome::Done => None,
            Outcome::Failed(error) => {
                slot.send_error();
                Some(error)
            }
        };
        held = DEFERRED.lock();
        let next = held.lanes.get(place).and_then(|lane| {
            lane.stuck_since = lane.stuck_since.map(|_| clock.now());
            let next = lane.next();
            if next.is_none() {
                lane.stuck_since = None;
            }
            next
        });
        held.over(entry, error);
        match next {
            Some(next) => entry = next,
            None => return held,
        }
    }
}

/// Puts an entry that could not be performed back into the queue, for later.
fn wait_and_retry(held: &mut Held, entry: NonNull<Entry>, place: usize, injection: &Injection) {
    let clock = injection.clock();
    let now = clock.now();
    let Some(lane) = held.lanes.get(place) else {
        return;
    };
    let since = *lane.stuck_since.get_or_insert(now);
    let stuck = clock.ticks_to_ns(now.saturating_sub(since));
    let pause = stuck.clamp(RETRY_NS, RETRY_MOST_NS);
    // SAFETY: the entry is initialised, and the lock is held.
    let (order, due) = unsafe { (entry.as_ref().order, entry.as_ref().delay.due) };
    // The time is never its own one: that tells it from entries that were not tried yet.
    let when = (now + clock.ns_to_ticks(pause)).max(due + 1);
    let pushed = held.queue.push(Item {
        when,
        order,
        thing: entry,
    });
    debug_assert!(pushed, "a place is kept for what is taken out");
}

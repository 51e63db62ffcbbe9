//! The state that hooks need at every call: the injection of the process and the stream of the thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};

use jitterlab_base::clock::Clock;
use jitterlab_base::page::published::{Generation, Seen};
use jitterlab_base::seed;
use jitterlab_injector::control::{Asked, DEFERRING, Hook, HookFamily, OFF};
use jitterlab_injector::delay::{Delay, Injection, Passage, Stream, Undelayed};

use crate::confined;

/// Null until the library has come up, and for good if it stays off.
static INJECTION: AtomicPtr<Injection> = AtomicPtr::new(std::ptr::null_mut());

/// The injection for each family of hooks, null where the family is off: one load says both.
static BY_FAMILY: [AtomicPtr<Injection>; HookFamily::ALL.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; HookFamily::ALL.len()];

/// A switch for each family says whether there is anything to do right now: `OFF` for one that is not installed, else
/// `PAGE` or `DEFERRING`. It is never null: a hook that is off loads its switch, looks at it, and is done.
static SWITCHES: [AtomicPtr<Generation>; HookFamily::ALL.len()] =
    [const { AtomicPtr::new((&raw const OFF).cast_mut()) }; HookFamily::ALL.len()];

/// The switch that they lead to while nothing is deferred: the page's, from when the library has come up until the process ends.
static PAGE: AtomicPtr<Generation> = AtomicPtr::new((&raw const OFF).cast_mut());

thread_local! {
    // The lineage of the child that this thread is about to fork: the child's one thread is a copy
    // of this one, and finds it here.
    static FORKED: Cell<u64> = const { Cell::new(0) };
    // The address that the `vfork` of this thread returns to.
    #[cfg(target_arch = "x86_64")]
    static SPLIT_AT: Cell<usize> = const { Cell::new(0) };
    // Whether it runs in the child that it has made.
    static BORROWED: Cell<bool> = const { Cell::new(false) };
}

/// An injection that was put in place, and the one that was there before.
#[repr(C)]
struct Installed {
    injection: Injection,
    /// Kept in memory, as another thread may be in the middle of using it; and named here, so that who looks for leaks finds it.
    _before: *mut Injection,
}

/// Puts the injection of this process in place.
pub(crate) fn install(injection: Injection, families: u32) {
    let switch = std::ptr::from_ref(injection.switch()).cast_mut();
    let new = Box::leak(Box::new(Installed {
        injection,
        _before: INJECTION.load(Ordering::Relaxed),
    }));
    let new = &raw mut new.injection;
    INJECTION.store(new, Ordering::Release);
    PAGE.store(switch, Ordering::Relaxed);
    for family in HookFamily::ALL {
        if families & family.bit() != 0 {
            BY_FAMILY[family as usize].store(new, Ordering::Release);
            SWITCHES[family as usize].store(switch, Ordering::Release);
        }
    }
}

/// Has the hooks of what can be deferred look at sends because something is, or not any more. Called by whoever has
/// the lock of what is deferred.
pub(crate) fn set_deferring(deferring: bool) {
    let switch = match deferring {
        true => (&raw const DEFERRING).cast_mut(),
        false => PAGE.load(Ordering::Relaxed),
    };
    set_switches(HookFamily::defers, switch);
}

/// Gives another switch to those installed families for which `whose` is true.
fn set_switches(whose: impl Fn(HookFamily) -> bool, switch: *mut Generation) {
    for family in HookFamily::ALL.into_iter().filter(|&family| whose(family)) {
        let place = &SWITCHES[family as usize];
        if !std::ptr::eq(place.load(Ordering::Relaxed), &raw const OFF) {
            place.store(switch, Ordering::Release);
        }
    }
}

#[inline(always)]
#[allow(unsafe_code)]
fn load(place: &AtomicPtr<Injection>) -> Option<&'static Injection> {
    // SAFETY: the pointer is null or leads into a Box that `install` leaked, so what it points to
    // is initialised, never written again and never freed.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

/// The injection of this process, if there is one.
pub(crate) fn injection() -> Option<&'static Injection> {
    load(&INJECTION)
}

/// The injection of this process if it has this family of hooks, be it enabled or not.
#[inline(always)]
pub(crate) fn installed(family: HookFamily) -> Option<&'static Injection> {
    load(&BY_FAMILY[family as usize])
}

/// The first thing that a hook learns.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Look {
    seen: Seen,
    thread: Thread,
}

/// The task of a hook of this family right now: the first thing that it asks.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn look(family: HookFamily) -> Look {
    // Needed last, but what is counted for the thread takes longest to come by.
    let thread = Thread::calling();
    // SAFETY: the pointer came from a `&'static Generation`, a static one or that of a page, and is only read through.
    let seen = unsafe { &*SWITCHES[family as usize].load(Ordering::Acquire) }.seen();
    Look { seen, thread }
}

impl Look {
    /// True if there is nothing to do.
    #[inline(always)]
    pub(crate) fn is_off(self) -> bool {
        self.seen.is_off()
    }

    /// True if a send whose family is on can be performed because the table has only zeros, if `and` that is so; it is counted
    /// then as one that came through `hook`. Calls nothing. Otherwise nothing has happened, and [`pass`] says what to do.
    #[inline(always)]
    pub(crate) fn goes_at_once(self, hook: Hook, and: impl FnOnce() -> bool) -> bool {
        // A delay begins when this is known: what is the thread's own may have left the processor's caches during the last.
        if self.seen.has_delays() {
            return false;
        }
        match self.thread.counters(self.seen) {
            Some(counters) if and() => {
                self.thread.stream().count_undelayed(counters, hook);
                true
            }
            _ => false,
        }
    }
}

/// True if a hook of this family, which looks no further, has nothing to do right now.
pub(crate) fn is_off(family: HookFamily) -> bool {
    look(family).is_off()
}

/// A send enters a hook that may delay it, which is called as soon as that is known.
#[inline(always)]
pub(crate) fn enter() {
    if injection().is_some_and(|injection| !injection.is_blind()) {
        let now = Clock::counter();
        stream().enter(now);
    }
}

/// Lets a send pass that came through `hook`: in spin mode, after its delay.
#[inline(always)]
pub(crate) fn pass(injection: &Injection, hook: Hook) -> Passage {
    // No closure is used: whether that becomes a call of its own depends on how many hooks there are.
    match injection.before_send(stream(), hook) {
        Passage::Now => Passage::Now,
        deferred => deferred_if_allowed(deferred),
    }
}

/// The steps of deferring a send may not be allowed; then its delay is waited out.
fn deferred_if_allowed(passage: Passage) -> Passage {
    match confined::is_on() {
        true => {
            wait_out_if_deferred(passage);
            Passage::Now
        }
        false => passage,
    }
}

/// The same, if this process has the hook's family.
#[inline(always)]
pub(crate) fn pass_if_installed(hook: Hook) -> Passage {
    installed(hook.family()).map_or(Passage::Now, |injection| pass(injection, hook))
}

/// Does as [`pass`], for a hook whose sends cannot be deferred. A mode that defers is refused with it, and what
/// such a mode has drawn is waited for.
#[inline(never)]
pub(crate) fn pass_undeferred(injection: &Injection, hook: Hook) {
    wait_out_if_deferred(pass(injection, hook));
}

/// Waits out what a mode that defers has drawn, where a send cannot be deferred.
pub(crate) fn wait_out_if_deferred(passage: Passage) {
    if let (Passage::Defer(delay), Some(injection)) = (passage, injection()) {
        wait_out(injection, delay);
    }
}

/// Waits out the delay of a send that the program performs itself.
pub(crate) fn wait_out(injection: &Injection, delay: Delay) {
    injection.wait_out(stream(), delay);
}

/// The stream of the calling thread.
#[inline(always)]
pub(crate) fn stream() -> &'static Stream {
    Thread::calling().stream()
}

/// The way to what the calling thread has of its own.
///
/// In a shared library every access to a thread's variable is a call of `__tls_get_addr`, which is a third of what a hook
/// costs. A library that is loaded with the program may use the static (initial-exec) model, two instructions, but stable
/// Rust has no word for it. So a thread's stream is laid out by hand, in that model: all zero, which is a new one.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod thread {
    use std::arch::{asm, global_asm};

    use jitterlab_injector::control::Counters;

    use super::{Stream, Undelayed};

    global_asm!(
        ".section .tbss.jitterlab_stream,\"awT\",@nobits",
        ".hidden jitterlab_stream",
        ".globl jitterlab_stream",
        ".type jitterlab_stream, @object",
        ".size jitterlab_stream, {size}",
        ".p2align 6",
        "jitterlab_stream:",
        ".zero {size}",
        ".text",
        size = const size_of::<Stream>(),
    );
    const _: () = assert!(align_of::<Stream>() <= 64);

    /// The distance from `fs` at which every thread has its stream.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub(crate) struct Thread(usize);

    impl Thread {
        #[inline(always)]
        pub(super) fn calling() -> Self {
            let offset;
            // SAFETY: reads what the dynamic linker has written down. (Not `pure`: it is to be done here and now.)
            unsafe {
                asm!(
                    "mov {offset}, qword ptr [rip + jitterlab_stream@GOTTPOFF]",
                    offset = out(reg) offset,
                    options(nostack, preserves_flags, readonly),
                );
            }
            Thread(offset)
        }

        #[inline(always)]
        pub(super) fn stream(self) -> &'static Stream {
            let stream: *const Stream;
            // SAFETY: reads the address that `fs` has, which the x86-64 ABI keeps there.
            unsafe {
                asm!(
                    "mov {stream}, qword ptr fs:[0]",
                    stream = out(reg) stream,
                    options(nostack, preserves_flags, pure, readonly),
                );
            }
            // The offset is negative, as a `usize` that wraps around.
            let stream = stream.wrapping_byte_add(self.0);
            // SAFETY: the stream that the calling thread has there, of that size and alignment; zero is a value of each of its
            // fields. It has no destructor, so it lives as long as the thread, which uses the reference while it runs.
            unsafe { &*stream }
        }
    }

    impl Undelayed for Thread {
        #[inline(always)]
        fn zeros(self) -> u64 {
            let zeros: u64;
            // SAFETY: reads the first word of the stream that the calling thread has there.
            unsafe {
                asm!(
                    "mov {zeros}, qword ptr fs:[{offset}]",
                    offset = in(reg) self.0,
                    zeros = lateout(reg) zeros,
                    options(nostack, preserves_flags, readonly),
                );
            }
            zeros
        }

        #[inline(always)]
        fn own(self) -> Option<&'static Counters> {
            let own: *const Counters;
            // SAFETY: reads the second word of the stream that the calling thread has there.
            unsafe {
                asm!(
                    "mov {own}, qword ptr fs:[{offset} + 8]",
                    offset = in(reg) self.0,
                    own = lateout(reg) own,
                    options(nostack, preserves_flags, readonly),
                );
            }
            // SAFETY: what lies there is an `Option` of a reference to counters in a page, which is never taken out of memory; null
            // is its `None`.
            unsafe { own.as_ref() }
        }
    }
}

/// Elsewhere, as the compiler does it.
#[cfg(not(target_arch = "x86_64"))]
mod thread {
    use jitterlab_injector::control::Counters;

    use super::{Stream, Undelayed};

    thread_local! {
        // Constant and without a destructor: it can be used in a thread that is about to end.
        static STREAM: Stream = const { Stream::new() };
    }

    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub(crate) struct Thread(&'static Stream);

    impl Thread {
        #[inline(always)]
        #[allow(unsafe_code)]
        pub(super) fn calling() -> Self {
            let stream = STREAM.with(std::ptr::from_ref);
            // SAFETY: this thread's own stream lives, as it has no destructor, as long as the thread
            // does, and the reference is used by this thread while it runs.
            Thread(unsafe { &*stream })
        }

        #[inline(always)]
        pub(super) fn stream(self) -> &'static Stream {
            self.0
        }
    }

    impl Undelayed for Thread {
        #[inline(always)]
        fn zeros(self) -> u64 {
            self.0.zeros()
        }

        #[inline(always)]
        fn own(self) -> Option<&'static Counters> {
            self.0.own()
        }
    }
}

pub(crate) use thread::Thread;

/// Injects nothing any more: the process ends. Whoever uses the injection now keeps it, and what is deferred goes before what
/// is sent from now on.
pub(crate) fn stop() {
    let look = (&raw const DEFERRING).cast_mut();
    PAGE.store(look, Ordering::Relaxed);
    set_switches(HookFamily::defers, look);
    set_switches(|family| !family.defers(), (&raw const OFF).cast_mut());
    for place in &BY_FAMILY {
        place.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Names the child that the calling thread is about to fork.
pub(crate) fn before_fork() {
    FORKED.set(stream().next_child());
}

/// The calling thread is about to `vfork`, which returns to `returns_to`.
#[cfg(target_arch = "x86_64")]
pub(crate) fn before_vfork(returns_to: usize) {
    before_fork();
    SPLIT_AT.set(returns_to);
}

/// The `vfork` of the calling thread has returned: in the child, and then in the parent. Gives where it returns to.
#[cfg(target_arch = "x86_64")]
pub(crate) fn after_vfork(is_child: bool) -> usize {
    BORROWED.set(is_child);
    SPLIT_AT.get()
}

/// True if the caller is a child by `vfork`, whose memory is its parent's.
#[inline(always)]
pub(crate) fn is_borrowed() -> bool {
    BORROWED.get()
}

/// The lineage of the program that the calling process is about to become.
pub(crate) fn successor() -> u64 {
    match is_borrowed() {
        // The stream that it sees is its parent's.
        true => seed::successor(FORKED.get()),
        false => stream().successor(),
    }
}

/// The lineage of a program that the calling thread is about to start as a child.
pub(crate) fn next_program() -> u64 {
    seed::successor(stream().next_child())
}

/// Starts the stream of a forked child.
pub(crate) fn after_fork_in_child() {
    stream().set_lineage(FORKED.get());
}

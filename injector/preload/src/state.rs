//! What the hooks need at every call: the injection of the process and the stream of the thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use jitterlab_injector::clock::Clock;
use jitterlab_injector::control::{DEFERRING, Generation, Hook, HookFamily, OFF, Switch};
use jitterlab_injector::delay::{Delay, Injection, Passage, Stream};
use jitterlab_injector::seed;

/// Null until the library has come up, and for good if it stays off.
static INJECTION: AtomicPtr<Injection> = AtomicPtr::new(std::ptr::null_mut());

/// The same for each family of hooks, null where the family is off: one load says both.
static BY_FAMILY: [AtomicPtr<Injection>; HookFamily::ALL.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; HookFamily::ALL.len()];

/// What says for each family whether there is anything to do right now: `OFF` for one that is not installed, else `PAGE` or
/// `DEFERRING`. Never null: a hook that is off loads its switch, looks at it, and is done.
static SWITCHES: [AtomicPtr<Generation>; HookFamily::ALL.len()] =
    [const { AtomicPtr::new((&raw const OFF).cast_mut()) }; HookFamily::ALL.len()];

/// The page's, once the library has come up.
static PAGE: AtomicPtr<Generation> = AtomicPtr::new((&raw const OFF).cast_mut());

/// The process that the injection was installed in last.
static PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    // Constant and without a destructor: an access is one call of the dynamic linker's fast path,
    // and works in a thread that is about to end.
    static STREAM: Stream = const { Stream::new() };
    // The lineage of the child that this thread is about to fork: the child's one thread is a copy
    // of this one, and finds it here.
    static FORKED: Cell<u64> = const { Cell::new(0) };
}

/// Puts the injection of this process in place. What was there before is kept in memory: another
/// thread may be in the middle of using it.
pub(crate) fn install(injection: Injection, families: u32) {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    let switch = std::ptr::from_ref(injection.switch()).cast_mut();
    let new = Box::into_raw(Box::new(injection));
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
    for family in HookFamily::ALL.into_iter().filter(|family| family.defers()) {
        let place = &SWITCHES[family as usize];
        if !std::ptr::eq(place.load(Ordering::Relaxed), &raw const OFF) {
            place.store(switch, Ordering::Release);
        }
    }
}

#[inline(always)]
#[allow(unsafe_code)]
fn load(place: &AtomicPtr<Injection>) -> Option<&'static Injection> {
    // SAFETY: the pointer is null or came from a Box that `install` leaked, so what it points to
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

/// What a hook of this family has to do right now: the first thing that it asks.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn switch(family: HookFamily) -> Switch {
    // SAFETY: the pointer came from a `&'static Generation`, a static one or that of a page, and is only read through.
    unsafe { &*SWITCHES[family as usize].load(Ordering::Acquire) }.switch()
}

/// A send enters a hook that may delay it, which is called as soon as that is known.
#[inline(always)]
pub(crate) fn enter() {
    let now = Clock::counter();
    fast::with_known_stream(|stream| stream.enter(now));
}

/// Lets a send pass that came through `hook`: in spin mode, after its delay.
#[inline(always)]
pub(crate) fn pass(injection: &Injection, hook: Hook) -> Passage {
    // Not by a closure: whether that becomes a call of its own depends on how many hooks there are.
    injection.before_send(fast::stream(), hook)
}

/// The same, if this process has the hook's family.
#[inline(always)]
pub(crate) fn pass_if_installed(hook: Hook) -> Passage {
    installed(hook.family()).map_or(Passage::Now, |injection| pass(injection, hook))
}

/// As [`pass`], for a hook whose sends cannot be deferred: a mode that defers is refused with it, and what such
/// a mode has drawn is waited for.
#[inline(never)]
pub(crate) fn pass_undeferred(injection: &Injection, hook: Hook) {
    if let Passage::Defer(delay) = pass(injection, hook) {
        wait_out(injection, delay);
    }
}

/// Whether a send that came through `hook`, whose family is on with a table of zeros, can be performed; it is counted then. Calls
/// nothing. If that takes a closer look, nothing has happened, and [`pass`] says.
#[inline(always)]
pub(crate) fn goes_at_once(hook: Hook) -> bool {
    match installed(hook.family()) {
        Some(injection) => {
            fast::with_known_stream(|stream| injection.is_undelayed(stream, hook)).unwrap_or(false)
        }
        None => false,
    }
}

/// Waits out the delay of a send that the program performs itself.
pub(crate) fn wait_out(injection: &Injection, delay: Delay) {
    with_stream(|stream| injection.wait_out(stream, delay));
}

/// The stream of the calling thread.
pub(crate) fn with_stream<T>(use_it: impl FnOnce(&Stream) -> T) -> T {
    STREAM.with(use_it)
}

/// The way to the stream from the hot path.
///
/// In a shared library every access to a thread's variable is a call of `__tls_get_addr`, which
/// is a third of what a hook costs. A library that is loaded with the program may use the static
/// (initial-exec) model, two instructions, but stable Rust has no word for it. So one pointer is
/// kept in that model by hand, and leads to the rest.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod fast {
    use super::{STREAM, Stream};

    core::arch::global_asm!(
        ".section .tbss.jitterlab_stream,\"awT\",@nobits",
        ".hidden jitterlab_stream",
        ".globl jitterlab_stream",
        ".type jitterlab_stream, @object",
        ".size jitterlab_stream, 8",
        ".p2align 3",
        "jitterlab_stream:",
        ".zero 8",
        ".text",
    );

    #[inline(always)]
    pub(super) fn stream() -> &'static Stream {
        match known() {
            Some(stream) => stream,
            None => first(),
        }
    }

    /// For a thread that has used its stream before.
    #[inline(always)]
    pub(super) fn with_known_stream<T>(use_it: impl FnOnce(&Stream) -> T) -> Option<T> {
        known().map(use_it)
    }

    #[inline(always)]
    fn known() -> Option<&'static Stream> {
        let stream: *const Stream;
        // SAFETY: reads the eight bytes that each thread has under this name, above.
        unsafe {
            core::arch::asm!(
                "mov {stream}, qword ptr [rip + jitterlab_stream@GOTTPOFF]",
                "mov {stream}, qword ptr fs:[{stream}]",
                stream = out(reg) stream,
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: null, or where `first` found this thread's own stream, which lives, as it has no
        // destructor, as long as the thread does.
        unsafe { stream.as_ref() }
    }

    #[cold]
    #[inline(never)]
    fn first() -> &'static Stream {
        let stream = STREAM.with(std::ptr::from_ref);
        // SAFETY: writes the eight bytes of this thread. The reference is used by this thread
        // while it runs.
        unsafe {
            core::arch::asm!(
                "mov {place}, qword ptr [rip + jitterlab_stream@GOTTPOFF]",
                "mov qword ptr fs:[{place}], {stream}",
                place = out(reg) _,
                stream = in(reg) stream,
                options(nostack, preserves_flags),
            );
            &*stream
        }
    }
}

/// Elsewhere, as the compiler does it.
#[cfg(not(target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod fast {
    use super::{STREAM, Stream};

    #[inline(always)]
    pub(super) fn stream() -> &'static Stream {
        let stream = STREAM.with(std::ptr::from_ref);
        // SAFETY: this thread's own stream lives, as it has no destructor, as long as the thread
        // does, and the reference is used by this thread while it runs.
        unsafe { &*stream }
    }

    #[inline(always)]
    pub(super) fn with_known_stream<T>(use_it: impl FnOnce(&Stream) -> T) -> Option<T> {
        Some(STREAM.with(use_it))
    }
}

/// Injects nothing any more: the process ends. Whoever uses the injection now keeps it.
pub(crate) fn stop() {
    for place in &BY_FAMILY {
        place.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Names the child that the calling thread is about to fork.
pub(crate) fn before_fork() {
    FORKED.set(with_stream(Stream::next_child));
}

/// The lineage of the program that the calling process is about to become.
pub(crate) fn successor() -> u64 {
    if PROCESS.load(Ordering::Relaxed) == std::process::id() {
        with_stream(Stream::successor)
    } else {
        // A child by vfork: the stream that it sees is its parent's.
        seed::successor(FORKED.get())
    }
}

/// The lineage of a program that the calling thread is about to start as a child.
pub(crate) fn next_program() -> u64 {
    seed::successor(with_stream(Stream::next_child))
}

/// Starts the stream of a forked child.
pub(crate) fn after_fork_in_child() {
    with_stream(|stream| stream.set_lineage(FORKED.get()));
}

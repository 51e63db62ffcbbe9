//! What the hooks need at every call: the injection of the process and the stream of the thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::delay::{Injection, Passage, Stream};

/// Null until the library has come up, and for good if it stays off.
static INJECTION: AtomicPtr<Injection> = AtomicPtr::new(std::ptr::null_mut());

/// The families of hooks that are on.
static FAMILIES: AtomicU32 = AtomicU32::new(0);

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
    let new = Box::into_raw(Box::new(injection));
    FAMILIES.store(families, Ordering::Relaxed);
    INJECTION.store(new, Ordering::Release);
}

/// The injection of this process, if there is one.
#[inline(always)]
pub(crate) fn injection() -> Option<&'static Injection> {
    // SAFETY: the pointer is null or came from a Box that `install` leaked, so what it points to
    // is initialised, never written again and never freed.
    #[allow(unsafe_code)]
    unsafe {
        INJECTION.load(Ordering::Acquire).as_ref()
    }
}

/// The injection of this process if it injects anything into this family of hooks right now.
#[inline(always)]
pub(crate) fn active(family: HookFamily) -> Option<&'static Injection> {
    let injection = injection()?;
    let wanted = FAMILIES.load(Ordering::Relaxed) & family.bit() != 0;
    (wanted && injection.is_enabled()).then_some(injection)
}

/// Lets a send pass that came through `hook`: in spin mode, after its delay.
#[inline(always)]
pub(crate) fn pass(injection: &Injection, hook: Hook) -> Passage {
    STREAM.with(|stream| injection.before_send(stream, hook))
}

/// The stream of the calling thread.
pub(crate) fn with_stream<T>(use_it: impl FnOnce(&Stream) -> T) -> T {
    STREAM.with(use_it)
}

/// Names the child that the calling thread is about to fork.
pub(crate) fn before_fork() {
    FORKED.set(with_stream(Stream::next_child));
}

/// Starts the stream of a forked child.
pub(crate) fn after_fork_in_child() {
    with_stream(|stream| stream.set_lineage(FORKED.get()));
}

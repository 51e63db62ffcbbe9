//! The state that each thread keeps of its own, and the count of sends that have no delay.

use std::cell::Cell;

use crate::control::Asked;
use crate::control::{Counters, Hook, Settings, Slot};
use crate::generator::Generator;
use crate::replay::Place;
use jitterlab_base::page::published::Seen;
use jitterlab_base::seed;

/// The state that a thread keeps of its own: its place in its stream of delays.
///
/// All cells, taken by `&self`, because a signal handler may send in the middle of a send. Memory that is all zero is a new
/// stream, as [`Stream::new`] makes it. It begins with what [`Undelayed`] asks for, laid out as C would.
#[derive(Debug)]
#[repr(C)]
pub struct Stream {
    pub(super) zeros: Cell<u64>,
    pub(super) own: Cell<Option<&'static Counters>>,
    /// The delays of zero that have been counted and that the generator has not gone past.
    pub(super) pending: Cell<u64>,
    /// The counters that it shares with other threads, when there were no others.
    pub(super) shared: Cell<Option<&'static Counters>>,
    pub(super) generator: Generator,
    /// The generation of the page that `settings` is of; 0 before the first send.
    pub(super) generation: Cell<u64>,
    pub(super) settings: Cell<Settings>,
    pub(super) lineage: Cell<u64>,
    pub(super) children: Cell<u64>,
    /// When the last send went that was paced, a reading of the clock; 0 before the first.
    pub(super) last: Cell<u64>,
    /// When the send that is under way entered its hook, by the processor's counter; 0 where nobody looked.
    pub(super) entered: Cell<u64>,
    /// The seed of the stretches of a recording that it replays.
    pub(super) stretches: Cell<u64>,
    /// Its place in that, by message.
    pub(super) place: Cell<Place>,
}

/// The knowledge that a thread needs of sends without a delay, and no more: the first two words of its stream, from the
/// stream itself or from who knows where it lies.
pub trait Undelayed: Copy {
    /// The generation of the stream if its table has only zeros; else 0, which is no generation that is on.
    fn zeros(self) -> u64;

    /// The thread's own counters.
    fn own(self) -> Option<&'static Counters>;

    /// The counters of a send ([`Stream::count_undelayed`]) that has no delay because the table has none ([`Switch::ZEROS`]): it can
    /// be performed. `None` if that takes a new look at the page, and [`Injection::before_send`] says what to do. The hook has
    /// `seen` that it is on.
    ///
    /// Nothing is called here or there, and the first word is done with when the second is read, so a hook has nothing to save
    /// on the stack. What a signal handler has changed since the hook looked is noticed; and from a new look in between the
    /// counters come that are the thread's then.
    #[inline(always)]
    fn counters(self, seen: Seen) -> Option<&'static Counters> {
        debug_assert!(!seen.is_off(), "a hook that is off asks nothing more");
        match self.zeros() == seen.number() {
            true => self.own(),
            false => None,
        }
    }
}

impl Undelayed for &Stream {
    #[inline(always)]
    fn zeros(self) -> u64 {
        self.zeros.get()
    }

    #[inline(always)]
    fn own(self) -> Option<&'static Counters> {
        self.own.get()
    }
}

impl Stream {
    /// The stream of a thread that has not sent yet: the main thread's, until
    /// [`Stream::set_lineage`].
    pub const fn new() -> Self {
        Stream {
            zeros: Cell::new(0),
            own: Cell::new(None),
            pending: Cell::new(0),
            shared: Cell::new(None),
            generator: Generator::new(),
            generation: Cell::new(0),
            settings: Cell::new(Settings::NONE),
            lineage: Cell::new(0),
            children: Cell::new(0),
            last: Cell::new(0),
            entered: Cell::new(0),
            stretches: Cell::new(0),
            place: Cell::new(Place::START),
        }
    }

    /// Counts a send that came through `hook` and has no delay, in the `counters` that [`Undelayed::counters`] gave. Its draw is made up
    /// for later: only the number of draws from a table of zeros has to be known.
    #[inline(always)]
    pub fn count_undelayed(&self, counters: &'static Counters, hook: Hook) {
        Slot::own(counters).undelayed(hook);
        self.pending.set(self.pending.get().wrapping_add(1));
    }

    pub(super) fn slot(&self) -> Option<Slot> {
        let own = self.own.get().map(Slot::own);
        own.or_else(|| self.shared.get().map(Slot::shared))
    }

    /// Counts there from now on.
    pub(super) fn set_slot(&self, slot: Option<Slot>) {
        let (own, shared) = match slot.map(Slot::counters) {
            Some(Ok(own)) => (Some(own), None),
            Some(Err(shared)) => (None, Some(shared)),
            None => (None, None),
        };
        self.zeros.set(0);
        self.own.set(own);
        self.shared.set(shared);
    }

    /// A send enters its hook, `now` by the processor's counter ([`Clock::counter`]): its delay begins. A hook calls this before
    /// [`Injection::before_send`], each time or never, because looking the delay up takes hundreds of nanoseconds where what is needed
    /// for it
    /// has left the processor's caches, as it has after a long wait or where something else ran meanwhile.
    #[inline(always)]
    pub fn enter(&self, now: u64) {
        self.entered.set(now);
    }

    /// The lineage of the next thread or child process that the calling thread starts.
    pub fn next_child(&self) -> u64 {
        let index = self.children.get();
        self.children.set(index + 1);
        seed::child(self.lineage.get(), index)
    }

    /// The lineage of the program that the process becomes by an `exec` in the calling thread.
    pub fn successor(&self) -> u64 {
        seed::successor(self.lineage.get())
    }

    /// Makes this the stream of a newly started thread or process.
    pub fn set_lineage(&self, lineage: u64) {
        self.lineage.set(lineage);
        self.children.set(0);
        self.generation.set(0);
        self.set_slot(None);
    }

    /// Gives the counters back; the thread is about to end. If it sends once more, it takes others,
    /// and its stream goes on.
    pub fn release(&self) {
        if let Some(slot) = self.slot() {
            self.set_slot(None);
            slot.release();
        }
    }
}

impl Default for Stream {
    fn default() -> Self {
        Stream::new()
    }
}

//! The lanes of what has to stay in order.

use std::ffi::c_int;
use std::ptr::NonNull;

use jitterlab_injector::delay::Delay;

use crate::real::system_call;

/// The number of lanes that there can be at a time.
const LANES: usize = 1 << 10;
/// A lane is at most this far from where its key says.
const REACH: usize = 16;

/// Something that waits for its time; what it copied follows it in its block of memory.
pub(super) struct Entry<W> {
    /// The next in the same lane, behind one that could not be performed.
    pub(super) next: Option<NonNull<Entry<W>>>,
    /// The place of its lane.
    pub(super) lane: usize,
    /// Counts entries, in the order in which they came.
    pub(super) order: u64,
    /// Until its first attempt is made.
    pub(super) delay: Delay,
    /// The size of the block.
    pub(super) bytes: usize,
    /// The work that is performed.
    pub(super) work: W,
}

/// The sends of a socket, or the posts of a queue pair.
pub(super) struct Lane<W> {
    /// The key that it is the lane of: 0 for none.
    pub(super) key: u64,
    /// A descriptor of the socket, our own, while anything is pending; else -1.
    pub(super) fd: c_int,
    pub(super) pending: usize,
    /// Every entry up to this one, in the order in which they came, is performed.
    pub(super) through: u64,
    pub(super) bytes: usize,
    /// When the last is due, in ticks.
    pub(super) last_due: u64,
    /// The error of a send that failed, to be returned by the next.
    pub(super) error: Option<c_int>,
    /// Since when the first one could not be performed; the others then wait behind it.
    pub(super) stuck_since: Option<u64>,
    pub(super) waiting: Option<Chain<W>>,
    /// A send that does not wait was refused, and its program may wait to be told of room.
    pub(super) refused: bool,
    /// Its target ends: no entry is tried again.
    pub(super) given_up: bool,
}

/// The first and the last of the entries that wait.
type Chain<W> = (NonNull<Entry<W>>, NonNull<Entry<W>>);

/// All lanes.
pub(super) struct Lanes<W>([Lane<W>; LANES]);

impl<W> Lane<W> {
    const NONE: Lane<W> = Lane {
        key: 0,
        fd: -1,
        pending: 0,
        through: 0,
        bytes: 0,
        last_due: 0,
        error: None,
        stuck_since: None,
        waiting: None,
        refused: false,
        given_up: false,
    };

    /// Nothing is pending any more. What was kept for that is given up, except an error.
    pub(super) fn rest(&mut self) {
        close(self.fd);
        let error = self.error;
        *self = Lane {
            key: if error.is_some() { self.key } else { 0 },
            error,
            ..Lane::NONE
        };
    }

    /// Adds one behind those that wait.
    pub(super) fn wait(&mut self, entry: NonNull<Entry<W>>) {
        match &mut self.waiting {
            None => self.waiting = Some((entry, entry)),
            Some((_, last)) => {
                // SAFETY: entries of a lane live as long as they are pending, and the lock is
                // held by whoever has the lane.
                unsafe { last.as_mut().next = Some(entry) };
                *last = entry;
            }
        }
    }

    /// Takes the first of those that wait.
    pub(super) fn next(&mut self) -> Option<NonNull<Entry<W>>> {
        let (first, last) = self.waiting?;
        // SAFETY: as above.
        let next = unsafe { first.as_ref().next };
        self.waiting = next.map(|next| (next, last));
        Some(first)
    }
}

impl<W> Lanes<W> {
    pub(super) const fn new() -> Self {
        Lanes([const { Lane::NONE }; LANES])
    }

    fn places(key: u64) -> impl Iterator<Item = usize> {
        let start = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        (0..REACH).map(move |step| (start + step) % LANES)
    }

    /// The lane of `key`, if there is one.
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        Lanes::<W>::places(key).find(|&place| self.0[place].key == key)
    }

    /// The lane of `key`, a new one if there is none; `None` where there is no room for one.
    /// One that holds nothing but an error that nobody came for makes room.
    pub(super) fn find_or_make(&mut self, key: u64) -> Option<usize> {
        if let Some(place) = self.find(key) {
            return Some(place);
        }
        let free = |lane: &Lane<W>| lane.key == 0;
        let idle = |lane: &Lane<W>| lane.pending == 0;
        let place = Lanes::<W>::places(key)
            .find(|&place| free(&self.0[place]))
            .or_else(|| Lanes::<W>::places(key).find(|&place| idle(&self.0[place])))?;
        self.0[place] = Lane { key, ..Lane::NONE };
        Some(place)
    }

    pub(super) fn get(&mut self, place: usize) -> Option<&mut Lane<W>> {
        self.0.get_mut(place)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Lane<W>> {
        self.0.iter().filter(|lane| lane.key != 0)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Lane<W>> {
        self.0.iter_mut().filter(|lane| lane.key != 0)
    }
}

/// Closes a descriptor of our own, past our own hooks.
fn close(fd: c_int) {
    if fd >= 0 {
        // SAFETY: ours to close.
        unsafe { system_call()(libc::SYS_close, fd) };
    }
}

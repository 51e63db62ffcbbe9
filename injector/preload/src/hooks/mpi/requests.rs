//! Persistent requests: what `MPI_Start` is given is a handle and nothing else, and may be one that
//! receives.
//!
//! They are made rarely, started often, and maybe by several threads at once, so they are in tables
//! without a lock. A table that has no room for a handle near its place is followed by one of twice the size.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use jitterlab_injector::control::{Hook, HookFamily};

use super::call::Call;
use super::door::Door;
use super::library::Library;
use super::sent::{Kept, Sent, peers, record_messages};
use crate::{recorder, state};

/// Places of the first table.
const ROOM: usize = 1024;
/// Tables that there may be: of 16 million places.
const TABLES: usize = 14;
/// The distance that a handle may have from its first place in a table.
const REACH: usize = 32;
/// The values in the place of a handle where there never was one, and where there is none any more.
/// No request has such a handle.
const NEVER: usize = 0;
const GONE: usize = 1;

/// A request, with its purpose.
#[derive(Default)]
struct Place {
    handle: AtomicUsize,
    /// [`MESSAGE`], [`PARTITIONS`], or a call from [`COLLECTIVE`] on.
    purpose: AtomicUsize,
    peer: AtomicUsize,
    bytes: AtomicU64,
}

const MESSAGE: usize = 0;
const PARTITIONS: usize = 1;
const COLLECTIVE: usize = 2;
/// The number in the place of a rank that is not known.
const NOBODY: usize = usize::MAX;

static PLACES: [OnceLock<Box<[Place]>>; TABLES] = [const { OnceLock::new() }; TABLES];

impl Place {
    /// Nobody can start a request before the call that makes it has returned.
    fn write(&self, kept: Kept) {
        let (purpose, peer, bytes) = match kept {
            Kept::Message(sent) => (MESSAGE, sent.peer, sent.bytes),
            Kept::Partitions(sent) => (PARTITIONS, sent.peer, sent.bytes),
            Kept::Collective(call, bytes) => (COLLECTIVE + call.index(), None, bytes),
        };
        self.purpose.store(purpose, Ordering::Relaxed);
        self.peer.store(peer.unwrap_or(NOBODY), Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Release);
    }

    fn read(&self) -> Kept {
        let bytes = self.bytes.load(Ordering::Acquire);
        let peer = Some(self.peer.load(Ordering::Relaxed)).filter(|&peer| peer != NOBODY);
        match self.purpose.load(Ordering::Relaxed) {
            MESSAGE => Kept::Message(Sent { peer, bytes }),
            PARTITIONS => Kept::Partitions(Sent { peer, bytes }),
            call => Kept::Collective(Call::at(call - COLLECTIVE), bytes),
        }
    }

    /// True if it was free and now belongs to `handle`.
    fn take(&self, handle: usize) -> bool {
        [NEVER, GONE].into_iter().any(|free| {
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            let taken = self.handle.compare_exchange(free, handle, order.0, order.1);
            taken.is_ok()
        })
    }
}

/// The places where a handle may be in a table.
fn near(table: &[Place], handle: usize) -> impl Iterator<Item = &Place> {
    let first = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (first..first + REACH).map(|place| &table[place % table.len()])
}

/// The place of a handle. It was put into the first free place, and one that was never taken has none behind it.
fn find(handle: usize) -> Option<&'static Place> {
    PLACES
        .iter()
        .map_while(OnceLock::get)
        .flat_map(|table| near(table, handle))
        .map(|place| (place, place.handle.load(Ordering::Acquire)))
        .take_while(|&(_, found)| found != NEVER)
        .find_map(|(place, found)| (found == handle).then_some(place))
}

/// A place for a handle that has none.
fn take(handle: usize) -> Option<&'static Place> {
    PLACES.iter().enumerate().find_map(|(index, table)| {
        let fresh = || (0..ROOM << index).map(|_| Place::default()).collect();
        near(table.get_or_init(fresh), handle).find(|place| place.take(handle))
    })
}

/// True if anybody wants to know of requests.
#[inline(always)]
pub(super) fn are_minded() -> bool {
    state::installed(HookFamily::Mpi).is_some()
        || state::installed(HookFamily::MpiCollectives).is_some()
}

/// Keeps what the request at `request`, just made, is for; `None` if that is nothing that counts.
pub(super) fn keep(door: &Door, request: usize, kept: Option<Kept>) {
    let Some(kept) = kept else {
        return forget(door, request);
    };
    // SAFETY: where the MPI has left the handle.
    let handle = door
        .library()
        .map(|library| unsafe { door.language.request_at(library, request, 0) });
    let Some(handle) = handle.filter(|&handle| handle != NEVER && handle != GONE) else {
        return;
    };
    // A handle that is there already was freed by a way that is not seen, and made anew.
    if let Some(place) = find(handle).or_else(|| take(handle)) {
        place.write(kept);
    }
}

/// The request at `request` is about to be freed, or is one that sends nothing.
pub(super) fn forget(door: &Door, request: usize) {
    // SAFETY: the caller's own handle.
    let handle = door
        .library()
        .map(|library| unsafe { door.language.request_at(library, request, 0) });
    if let Some(place) = handle.and_then(find) {
        place.handle.store(GONE, Ordering::Release);
    }
}

/// The use of the request whose handle a call is given.
pub(super) fn of(door: &Door, request: usize) -> Option<Kept> {
    // SAFETY: the caller's own argument.
    let handle = unsafe { door.language.request(door.library()?, request) };
    find(handle).map(Place::read)
}

/// The caller starts so many requests: all together that is one send, or one collective.
pub(super) fn start_all(door: &Door, call: Call, count: usize, requests: usize) {
    // SAFETY: the caller's own argument: an `int` in large calls, too.
    let count = unsafe { door.language.integer(count) };
    start(door, call, requests, usize::try_from(count).unwrap_or(0));
}

/// The same; there are `count` of them at `requests`.
pub(super) fn start(door: &Door, call: Call, requests: usize, count: usize) {
    let Some(library) = door.library() else {
        return;
    };
    state::enter();
    // SAFETY: the caller's own requests; there are `count` of them.
    let handle = |index| unsafe { door.language.request_at(library, requests, index) };
    let started = (0..count).filter_map(|index| find(handle(index)).map(Place::read));
    let started =
        started.filter(|&kept| hook_of(kept).is_some_and(|hook| !state::is_off(hook.family())));
    let starts = |hook: &Hook| started.clone().any(|kept| hook_of(kept) == Some(*hook));
    let Some(hook) = [Hook::MpiSend, Hook::MpiCollective]
        .into_iter()
        .find(starts)
    else {
        return;
    };
    if recorder::is_on() {
        record(call, library, started);
    }
    state::enter();
    if let Some(injection) = state::installed(hook.family()) {
        state::pass_undeferred(injection, hook);
    }
}

/// The hook that a start comes through; those of partitions come later.
fn hook_of(kept: Kept) -> Option<Hook> {
    match kept {
        Kept::Message(_) => Some(Hook::MpiSend),
        Kept::Collective(..) => Some(Hook::MpiCollective),
        Kept::Partitions(_) => None,
    }
}

fn record(call: Call, library: &Library, started: impl Iterator<Item = Kept> + Clone) {
    let mut messages = started.clone().filter_map(|kept| match kept {
        Kept::Message(sent) => Some(sent),
        Kept::Partitions(_) | Kept::Collective(..) => None,
    });
    if let Some(first) = messages.next() {
        record_messages(call, library, std::iter::once(first).chain(messages));
    }
    for kept in started {
        if let Kept::Collective(made_by, bytes) = kept {
            recorder::collective(made_by, peers(library), bytes);
        }
    }
}

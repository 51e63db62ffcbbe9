//! Persistent requests that send: what `MPI_Start` is given is a handle and nothing else, and may be
//! one that receives.
//!
//! They are made rarely, started often, and maybe by several threads at once, so they are in a table
//! of fixed size without a lock. What finds no room is not delayed.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::content::{Message, Sends};
use super::library::{Language, library};

const ROOM: usize = 4096;
/// What is in the place of a handle where there never was one, and where there is none any more. No
/// request has such a handle.
const NEVER: usize = 0;
const GONE: usize = 1;

/// What is sent when a request is started.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    /// The rank among all ranks, if it is one of them.
    pub(super) peer: Option<usize>,
    pub(super) bytes: u64,
}

struct Place {
    handle: AtomicUsize,
    peer: AtomicUsize,
    bytes: AtomicU64,
}

static PLACES: [Place; ROOM] = [const {
    Place {
        handle: AtomicUsize::new(NEVER),
        peer: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
    }
}; ROOM];

/// Where a handle may be, the likeliest place first.
fn places(handle: usize) -> impl Iterator<Item = &'static Place> {
    let first = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (0..ROOM).map(move |step| &PLACES[(first + step) % ROOM])
}

fn place_of(handle: usize) -> Option<&'static Place> {
    places(handle)
        .take_while(|place| place.handle.load(Ordering::Acquire) != NEVER)
        .find(|place| place.handle.load(Ordering::Acquire) == handle)
}

/// Keeps what the request at `request`, just made, sends.
pub(super) fn keep(language: Language, message: &Message, request: usize) {
    let Some(library) = library().filter(|_| message.sends(language)) else {
        return;
    };
    // SAFETY: where the MPI has left the handle, and what it was given to make it of.
    let (handle, sent) = unsafe {
        let handle = language.request_at(library, request, 0);
        (handle, message.sent(language, library))
    };
    if handle == NEVER || handle == GONE {
        return;
    }
    // A handle that is there already was freed by a way that is not seen, and made anew.
    let free = |place: &Place| {
        [NEVER, GONE].into_iter().any(|free| {
            let taken =
                place
                    .handle
                    .compare_exchange(free, handle, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok()
        })
    };
    if let Some(place) = place_of(handle).or_else(|| places(handle).find(|place| free(place))) {
        // Nobody can start it before the call that makes it has returned.
        let peer = sent.peer.unwrap_or(usize::MAX);
        place.peer.store(peer, Ordering::Relaxed);
        place.bytes.store(sent.bytes, Ordering::Release);
    }
}

/// The request at `request` is about to be freed.
pub(super) fn forget(language: Language, request: usize) {
    // SAFETY: the caller's own handle.
    let handle = library().map(|library| unsafe { language.request_at(library, request, 0) });
    if let Some(place) = handle.and_then(place_of) {
        place.handle.store(GONE, Ordering::Release);
    }
}

/// What the request at `index` of `requests` sends, if it does.
///
/// # Safety
/// An argument of a call in this language; the array has more.
pub(super) unsafe fn sent(language: Language, requests: usize, index: usize) -> Option<Sent> {
    // SAFETY: by the contract of this function.
    let handle = unsafe { language.request_at(library()?, requests, index) };
    let place = place_of(handle)?;
    let bytes = place.bytes.load(Ordering::Acquire);
    let peer = place.peer.load(Ordering::Relaxed);
    Some(Sent {
        peer: (peer != usize::MAX).then_some(peer),
        bytes,
    })
}

//! The data that the calls send: the arguments that say it, and their meaning.
//!
//! Bytes are those that the caller gives, as the standard counts its arguments.

#![allow(unsafe_code)]

use jitterlab_injector::control::Hook;

use super::call::Call;
use super::door::Door;
use super::library::{Language, Library};
use super::requests;
use super::sent::{Kept, Sent, record_messages};
use crate::{recorder, state};

/// Arguments of a call that is being made: all that is read of them is the caller's own.
pub(super) trait Sends {
    /// True if anything is sent to anybody. A send to `MPI_PROC_NULL`, which is negative in every MPI,
    /// is none.
    #[inline(always)]
    fn sends(&self, _door: &Door) -> bool {
        true
    }

    /// Puts it into the record.
    fn record(&self, door: &Door, call: Call);
}

/// Waits, and records what is sent.
pub(super) fn pass(hook: Hook, door: &Door, call: Call, content: &impl Sends) {
    if !content.sends(door) {
        return;
    }
    if recorder::is_on() {
        content.record(door, call);
    }
    if let Some(injection) = state::installed(hook.family()) {
        state::pass_undeferred(injection, hook);
    }
}

/// Reads arguments of a call that is being made.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) language: Language,
    pub(super) library: &'static Library,
}

impl Reader {
    /// The reader for a call by this door; `None` where there is no MPI that could be asked what its arguments mean.
    pub(super) fn of(door: &Door) -> Option<Self> {
        door.library().map(|library| Reader {
            language: door.language,
            library,
        })
    }

    /// True if the buffer at this address stands for another (`MPI_IN_PLACE`).
    pub(super) fn is_in_place(self, buffer: usize) -> bool {
        self.library.is_in_place(self.language, buffer)
    }

    /// `count` elements, in bytes. Where there are none, their type is not looked at: it may be one that an
    /// MPI does not take elsewhere.
    ///
    /// # Safety
    /// Arguments of a call in this language.
    pub(super) unsafe fn bytes(self, count: usize, datatype: usize) -> u64 {
        // SAFETY: by the contract of this function.
        unsafe { self.size(self.language.count(count), datatype) }
    }

    /// The bytes of a number of elements that has been read.
    ///
    /// # Safety
    /// As [`Reader::bytes`].
    pub(super) unsafe fn size(self, elements: u64, datatype: usize) -> u64 {
        if elements == 0 {
            return 0;
        }
        // SAFETY: by the contract of this function.
        let datatype = unsafe { self.language.datatype(self.library, datatype) };
        elements.saturating_mul(self.library.size_of(datatype))
    }

    /// # Safety
    /// As [`Reader::bytes`].
    pub(super) unsafe fn comm(self, comm: usize) -> usize {
        // SAFETY: by the contract of this function.
        unsafe { self.language.comm(self.library, comm) }
    }

    /// # Safety
    /// As [`Reader::bytes`].
    pub(super) unsafe fn integer(self, word: usize) -> i32 {
        // SAFETY: by the contract of this function.
        unsafe { self.language.integer(word) }
    }
}

/// A message from one rank to another.
pub(super) struct Message {
    pub(super) count: usize,
    pub(super) datatype: usize,
    pub(super) peer: usize,
    pub(super) comm: usize,
}

impl Message {
    fn sent(&self, door: &Door) -> Option<Sent> {
        let at = Reader::of(door)?;
        // SAFETY: the caller's own arguments.
        let bytes = unsafe { at.bytes(self.count, self.datatype) };
        // SAFETY: likewise.
        let peer = unsafe { to(at, self.peer, self.comm) };
        Some(Sent { peer, bytes })
    }

    /// The purpose of a request that is made of these.
    pub(super) fn kept(&self, door: &Door) -> Option<Kept> {
        match self.sends(door) {
            true => kept(|| self.sent(door)).map(Kept::Message),
            false => None,
        }
    }
}

/// The rank among all ranks of a communicator's.
///
/// # Safety
/// Arguments of a call that is being made.
unsafe fn to(at: Reader, peer: usize, comm: usize) -> Option<usize> {
    // SAFETY: by the contract of this function.
    let (comm, peer) = unsafe { (at.comm(comm), at.integer(peer)) };
    at.library.peer_by_comm(comm, peer)
}

/// The data that is sent. It is of interest to the recorder alone.
fn kept(sent: impl FnOnce() -> Option<Sent>) -> Option<Sent> {
    const UNKNOWN: Sent = Sent {
        peer: None,
        bytes: 0,
    };
    match recorder::is_on() {
        true => sent(),
        false => Some(UNKNOWN),
    }
}

impl Sends for Message {
    #[inline(always)]
    fn sends(&self, door: &Door) -> bool {
        // SAFETY: the caller's own argument.
        unsafe { door.language.integer(self.peer) >= 0 }
    }

    fn record(&self, door: &Door, call: Call) {
        if let (Some(library), Some(sent)) = (door.library(), self.sent(door)) {
            record_messages(call, library, std::iter::once(sent));
        }
    }
}

/// A transfer to or from the memory of another rank. Its arguments there count: those here may be left out.
pub(super) struct OneSided {
    pub(super) count: usize,
    pub(super) datatype: usize,
    pub(super) peer: usize,
    pub(super) window: usize,
}

impl Sends for OneSided {
    #[inline(always)]
    fn sends(&self, door: &Door) -> bool {
        // SAFETY: the caller's own argument.
        unsafe { door.language.integer(self.peer) >= 0 }
    }

    fn record(&self, door: &Door, call: Call) {
        if let Some(at) = Reader::of(door) {
            // SAFETY: the caller's own arguments.
            let sent = unsafe {
                let window = at.language.window(at.library, self.window);
                Sent {
                    peer: at.library.peer_by_window(window, at.integer(self.peer)),
                    bytes: at.bytes(self.count, self.datatype),
                }
            };
            record_messages(call, at.library, std::iter::once(sent));
        }
    }
}

/// One element of the memory of another rank.
pub(super) struct Element {
    pub(super) datatype: usize,
    pub(super) peer: usize,
    pub(super) window: usize,
}

impl Sends for Element {
    #[inline(always)]
    fn sends(&self, door: &Door) -> bool {
        // SAFETY: the caller's own argument.
        unsafe { door.language.integer(self.peer) >= 0 }
    }

    fn record(&self, door: &Door, call: Call) {
        let Element {
            datatype,
            peer,
            window,
        } = *self;
        OneSided {
            count: door.language.one(),
            datatype,
            peer,
            window,
        }
        .record(door, call);
    }
}

/// The data that a request sends partition by partition.
pub(super) struct Partitioned {
    /// Elements of a partition.
    pub(super) count: usize,
    pub(super) datatype: usize,
    pub(super) peer: usize,
    pub(super) comm: usize,
}

impl Partitioned {
    /// The purpose of the request that is made of these.
    pub(super) fn kept(&self, door: &Door) -> Option<Kept> {
        // SAFETY: the caller's own argument.
        if unsafe { door.language.integer(self.peer) } < 0 {
            return None;
        }
        let sent = || {
            let at = Reader::of(door)?;
            // SAFETY: the caller's own arguments.
            unsafe {
                Some(Sent {
                    peer: to(at, self.peer, self.comm),
                    bytes: at.size(at.language.large_count(self.count), self.datatype),
                })
            }
        };
        kept(sent).map(Kept::Partitions)
    }
}

/// A partition that is ready.
pub(super) struct Ready {
    pub(super) request: usize,
}

impl Sends for Ready {
    fn sends(&self, door: &Door) -> bool {
        partition(door, self.request).is_some()
    }

    fn record(&self, door: &Door, call: Call) {
        record_partitions(door, call, self.request, 1);
    }
}

/// Those from one to another.
pub(super) struct ReadyRange {
    pub(super) low: usize,
    pub(super) high: usize,
    pub(super) request: usize,
}

impl ReadyRange {
    fn partitions(&self, door: &Door) -> i64 {
        // SAFETY: the caller's own arguments.
        let (low, high) = unsafe {
            (
                door.language.integer(self.low),
                door.language.integer(self.high),
            )
        };
        i64::from(high) - i64::from(low) + 1
    }
}

impl Sends for ReadyRange {
    fn sends(&self, door: &Door) -> bool {
        self.partitions(door) > 0 && partition(door, self.request).is_some()
    }

    fn record(&self, door: &Door, call: Call) {
        record_partitions(door, call, self.request, self.partitions(door));
    }
}

/// A list of partitions that are ready.
pub(super) struct ReadyList {
    pub(super) length: usize,
    pub(super) request: usize,
}

impl ReadyList {
    fn partitions(&self, door: &Door) -> i64 {
        // SAFETY: the caller's own argument.
        unsafe { door.language.integer(self.length) }.into()
    }
}

impl Sends for ReadyList {
    fn sends(&self, door: &Door) -> bool {
        self.partitions(door) > 0 && partition(door, self.request).is_some()
    }

    fn record(&self, door: &Door, call: Call) {
        record_partitions(door, call, self.request, self.partitions(door));
    }
}

/// The data of each partition of a request, if it sends any.
fn partition(door: &Door, request: usize) -> Option<Sent> {
    match requests::of(door, request)? {
        Kept::Partitions(sent) => Some(sent),
        Kept::Message(_) | Kept::Collective(..) => None,
    }
}

fn record_partitions(door: &Door, call: Call, request: usize, number: i64) {
    if let (Some(library), Some(sent)) = (door.library(), partition(door, request)) {
        let number = usize::try_from(number).unwrap_or(0);
        record_messages(call, library, std::iter::repeat_n(sent, number));
    }
}

//! What the calls send: the arguments that say it, and what they say.
//!
//! Bytes are those that the caller gives, as the standard counts its arguments. Of a collective that
//! works in place they are those that lie in the place of the caller's.

#![allow(unsafe_code)]

use super::Call;
use super::library::{Language, Library, library};
use super::requests::{self, Sent};
use crate::trace::{self, Peers};

/// Arguments of a call that is being made: all that is read of them is the caller's own.
pub(super) trait Sends {
    /// Whether anything is sent to anybody. A send to `MPI_PROC_NULL`, which is negative in every MPI,
    /// is none.
    #[inline(always)]
    fn sends(&self, _language: Language) -> bool {
        true
    }

    /// The bytes that the caller gives to a collective.
    fn bytes(&self, _language: Language, _library: &Library) -> u64 {
        0
    }

    /// Puts it into the trace.
    fn record(&self, language: Language, call: Call) {
        if let Some(library) = library() {
            trace::collective(call, peers(library), self.bytes(language, library));
        }
    }
}

/// Who takes part, for the first call that is traced.
fn peers(library: &Library) -> impl FnOnce() -> Option<Peers> {
    || {
        let world = library.world()?;
        Some(Peers {
            ranks: library.ranks_of(world),
            own: library.rank_in(world)?,
        })
    }
}

fn record_messages(call: Call, library: &Library, sent: impl Iterator<Item = Sent>) {
    let messages = sent.map(|sent| (sent.peer, sent.bytes));
    trace::messages(call, peers(library), messages);
}

/// `count` elements, in bytes.
///
/// # Safety
/// Arguments of a call in this language.
unsafe fn bytes_of(language: Language, library: &Library, count: usize, datatype: usize) -> u64 {
    // SAFETY: by the contract of this function.
    unsafe { language.count(count) * library.size_of(language.datatype(library, datatype)) }
}

/// From one rank to another.
pub(super) struct Message {
    pub(super) count: usize,
    pub(super) datatype: usize,
    pub(super) peer: usize,
    pub(super) comm: usize,
}

impl Message {
    /// # Safety
    /// It is a call's that is being made.
    pub(super) unsafe fn sent(&self, language: Language, library: &Library) -> Sent {
        // SAFETY: by the contract of this function.
        unsafe {
            let comm = language.comm(library, self.comm);
            Sent {
                peer: library.peer_by_comm(comm, language.integer(self.peer) as usize),
                bytes: bytes_of(language, library, self.count, self.datatype),
            }
        }
    }
}

impl Sends for Message {
    #[inline(always)]
    fn sends(&self, language: Language) -> bool {
        // SAFETY: the caller's own argument.
        unsafe { language.integer(self.peer) >= 0 }
    }

    fn record(&self, language: Language, call: Call) {
        if let Some(library) = library() {
            // SAFETY: the caller's own arguments.
            let sent = unsafe { self.sent(language, library) };
            record_messages(call, library, std::iter::once(sent));
        }
    }
}

/// To or from the memory of another rank. What lies there counts: what is here may be left out.
pub(super) struct OneSided {
    pub(super) count: usize,
    pub(super) datatype: usize,
    pub(super) peer: usize,
    pub(super) window: usize,
}

impl Sends for OneSided {
    #[inline(always)]
    fn sends(&self, language: Language) -> bool {
        // SAFETY: the caller's own argument.
        unsafe { language.integer(self.peer) >= 0 }
    }

    fn record(&self, language: Language, call: Call) {
        if let Some(library) = library() {
            // SAFETY: the caller's own arguments.
            let sent = unsafe {
                let window = language.window(library, self.window);
                Sent {
                    peer: library.peer_by_window(window, language.integer(self.peer) as usize),
                    bytes: bytes_of(language, library, self.count, self.datatype),
                }
            };
            record_messages(call, library, std::iter::once(sent));
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
    fn sends(&self, language: Language) -> bool {
        // SAFETY: the caller's own argument.
        unsafe { language.integer(self.peer) >= 0 }
    }

    fn record(&self, language: Language, call: Call) {
        let one = &raw const ONE as usize;
        let count = if language == Language::Fortran {
            one
        } else {
            1
        };
        let Element {
            datatype,
            peer,
            window,
        } = *self;
        OneSided {
            count,
            datatype,
            peer,
            window,
        }
        .record(language, call);
    }
}

/// An `INTEGER` of Fortran.
static ONE: i32 = 1;

/// What a persistent request sends.
pub(super) struct Start {
    pub(super) request: usize,
}

impl Sends for Start {
    fn sends(&self, language: Language) -> bool {
        // SAFETY: the caller's own argument.
        unsafe { requests::sent(language, self.request, 0) }.is_some()
    }

    fn record(&self, language: Language, call: Call) {
        if let Some(library) = library() {
            // SAFETY: the caller's own argument.
            let sent = unsafe { requests::sent(language, self.request, 0) };
            record_messages(call, library, sent.into_iter());
        }
    }
}

/// What several of them send.
pub(super) struct StartAll {
    pub(super) count: usize,
    pub(super) requests: usize,
}

impl StartAll {
    fn sent(&self, language: Language) -> impl Iterator<Item = Sent> {
        let requests = self.requests;
        // SAFETY: the caller's own argument: an `int` in large calls, too.
        let count = unsafe { language.integer(self.count) };
        // SAFETY: the caller's own requests.
        (0..count as usize).filter_map(move |i| unsafe { requests::sent(language, requests, i) })
    }
}

impl Sends for StartAll {
    fn sends(&self, language: Language) -> bool {
        self.sent(language).next().is_some()
    }

    fn record(&self, language: Language, call: Call) {
        if let Some(library) = library() {
            record_messages(call, library, self.sent(language));
        }
    }
}

/// No data.
pub(super) struct Nothing {}

impl Sends for Nothing {}

/// The bytes that the caller gives to each kind of collective.
macro_rules! collectives {
    ($($(#[$documentation:meta])* $name:ident { $($part:ident),* }
       |$it:ident, $language:ident, $library:ident| $bytes:expr;)*) => {$(
        $(#[$documentation])*
        pub(super) struct $name {
            $(pub(super) $part: usize),*
        }

        impl Sends for $name {
            fn bytes(&self, $language: Language, $library: &Library) -> u64 {
                let $it = self;
                // SAFETY: the caller's own arguments, of which those are read that the standard says
                // are significant.
                unsafe { $bytes }
            }
        }
    )*};
}

collectives! {
    /// A buffer that everybody has.
    Whole { count, datatype } |it, language, library|
        bytes_of(language, library, it.count, it.datatype);

    /// The caller's part of what is gathered.
    Part { buffer, count, datatype, its_count, its_datatype } |it, language, library|
        match language.is_in_place(it.buffer) {
            true => bytes_of(language, library, it.its_count, it.its_datatype),
            false => bytes_of(language, library, it.count, it.datatype),
        };

    /// The same, where parts differ.
    Parts { buffer, count, datatype, its_counts, its_datatype, comm } |it, language, library|
        match language.is_in_place(it.buffer) {
            true => {
                let rank = library.rank_in(language.comm(library, it.comm)).unwrap_or(0);
                let count = language.counts(it.its_counts, rank + 1).last().unwrap_or(0);
                count * library.size_of(language.datatype(library, it.its_datatype))
            }
            false => bytes_of(language, library, it.count, it.datatype),
        };

    /// A part for each rank, by the root alone.
    Scattered { count, datatype, root, comm } |it, language, library| {
        let comm = language.comm(library, it.comm);
        match library.rank_in(comm) == usize::try_from(language.integer(it.root)).ok() {
            true => bytes_of(language, library, it.count, it.datatype) * library.ranks_of(comm) as u64,
            false => 0,
        }
    };

    /// The same, where parts differ.
    ScatteredParts { counts, datatype, root, comm } |it, language, library| {
        let comm = language.comm(library, it.comm);
        match library.rank_in(comm) == usize::try_from(language.integer(it.root)).ok() {
            true => sum(language, library, it.counts, it.datatype, it.comm),
            false => 0,
        }
    };

    /// A part for each rank, by everybody.
    ForAll { buffer, count, datatype, its_count, its_datatype, comm } |it, language, library| {
        let ranks = library.ranks_of(language.comm(library, it.comm)) as u64;
        ranks * match language.is_in_place(it.buffer) {
            true => bytes_of(language, library, it.its_count, it.its_datatype),
            false => bytes_of(language, library, it.count, it.datatype),
        }
    };

    /// The same, where parts differ.
    ForEach { buffer, counts, datatype, its_counts, its_datatype, comm } |it, language, library|
        match language.is_in_place(it.buffer) {
            true => sum(language, library, it.its_counts, it.its_datatype, it.comm),
            false => sum(language, library, it.counts, it.datatype, it.comm),
        };

    /// The same, where types differ.
    ForEachTyped { buffer, counts, datatypes, its_counts, its_datatypes, comm } |it, language, library| {
        let (counts, datatypes) = match language.is_in_place(it.buffer) {
            true => (it.its_counts, it.its_datatypes),
            false => (it.counts, it.datatypes),
        };
        let ranks = library.ranks_of(language.comm(library, it.comm));
        language
            .counts(counts, ranks)
            .enumerate()
            .map(|(at, count)| count * library.size_of(language.datatype_at(library, datatypes, at)))
            .sum()
    };

    /// What is reduced, of which each rank gets a part.
    Sum { counts, datatype, comm } |it, language, library|
        sum(language, library, it.counts, it.datatype, it.comm);

    /// The same, where parts are equal.
    Times { count, datatype, comm } |it, language, library|
        bytes_of(language, library, it.count, it.datatype)
            * library.ranks_of(language.comm(library, it.comm)) as u64;
}

/// The parts of all ranks, in bytes.
///
/// # Safety
/// Arguments of a call in this language.
unsafe fn sum(
    language: Language,
    library: &Library,
    counts: usize,
    datatype: usize,
    comm: usize,
) -> u64 {
    // SAFETY: by the contract of this function; there is a count for each rank.
    unsafe {
        let ranks = library.ranks_of(language.comm(library, comm));
        let elements: u64 = language.counts(counts, ranks).sum();
        elements * library.size_of(language.datatype(library, datatype))
    }
}

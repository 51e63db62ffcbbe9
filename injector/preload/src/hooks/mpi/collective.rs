//! The data that the caller gives to collectives: its send buffer. A scatter counts the root's alone; a
//! collective in place counts what lies in the place of the caller's data.
//!
//! Arguments that the standard does not call significant are not read. Between the two groups of an
//! intercommunicator, the root says `MPI_ROOT`, and those beside it say `MPI_PROC_NULL`.

#![allow(unsafe_code)]

use super::call::Call;
use super::content::{Reader, Sends};
use super::door::Door;
use super::sent::{Kept, peers};
use crate::recorder;

/// Arguments of a collective.
pub(super) trait Gives {
    /// The bytes that the caller gives.
    fn bytes(&self, at: Reader) -> u64;
}

impl<T: Gives> Sends for T {
    fn record(&self, door: &Door, call: Call) {
        if let Some(at) = Reader::of(door) {
            recorder::collective(call, peers(at.library), self.bytes(at));
        }
    }
}

impl Kept {
    /// A collective that `call` makes of these arguments.
    pub(super) fn collective(door: &Door, call: Call, content: &impl Gives) -> Self {
        let at = Reader::of(door).filter(|_| recorder::is_on());
        Kept::Collective(call, at.map_or(0, |at| content.bytes(at)))
    }
}

/// No data.
pub(super) struct Nothing {}

impl Gives for Nothing {
    fn bytes(&self, _at: Reader) -> u64 {
        0
    }
}

macro_rules! collectives {
    ($($(#[$documentation:meta])* $name:ident { $($part:ident),* } |$it:ident, $at:ident| $bytes:expr;)*) => {$(
        $(#[$documentation])*
        pub(super) struct $name {
            $(pub(super) $part: usize),*
        }

        impl Gives for $name {
            fn bytes(&self, $at: Reader) -> u64 {
                let $it = self;
                // SAFETY: the caller's own arguments; only those that the standard calls significant
                // are read.
                unsafe { $bytes }
            }
        }
    )*};
}

collectives! {
    /// A buffer that everybody has.
    Whole { count, datatype } |it, at| at.bytes(it.count, it.datatype);

    /// The same, but for who stands beside the root.
    Rooted { count, datatype, root } |it, at|
        if at.stands_aside(it.root) { 0 } else { at.bytes(it.count, it.datatype) };

    /// A buffer that all have but a root that belongs to another group.
    Reduced { count, datatype, root } |it, at|
        if at.integer(it.root) < 0 { 0 } else { at.bytes(it.count, it.datatype) };

    /// The caller's part of what all get.
    Part { buffer, count, datatype, its_count, its_datatype } |it, at|
        match at.is_in_place(it.buffer) {
            true => at.bytes(it.its_count, it.its_datatype),
            false => at.bytes(it.count, it.datatype),
        };

    /// The same, where parts differ.
    Parts { buffer, count, datatype, its_counts, its_datatype, comm } |it, at|
        match at.is_in_place(it.buffer) {
            true => {
                let rank = at.library.rank_in(at.comm(it.comm)).unwrap_or(0);
                let count = at.language.count_at(it.its_counts, rank);
                at.size(count, it.its_datatype)
            }
            false => at.bytes(it.count, it.datatype),
        };

    /// The caller's part of what the root gets.
    Gathered { buffer, count, datatype, its_count, its_datatype, root } |it, at| {
        let Gathered { buffer, count, datatype, its_count, its_datatype, root } = *it;
        match at.integer(root) < 0 {
            true => 0,
            false => Part { buffer, count, datatype, its_count, its_datatype }.bytes(at),
        }
    };

    /// The same, where parts differ.
    GatheredParts { buffer, count, datatype, its_counts, its_datatype, root, comm } |it, at| {
        let GatheredParts { buffer, count, datatype, its_counts, its_datatype, root, comm } = *it;
        match at.integer(root) < 0 {
            true => 0,
            false => Parts { buffer, count, datatype, its_counts, its_datatype, comm }.bytes(at),
        }
    };

    /// A part for each rank, by the root alone.
    Scattered { count, datatype, root, comm } |it, at|
        match at.is_root(it.root, it.comm) {
            true => at.bytes(it.count, it.datatype).saturating_mul(at.ranks(it.comm)),
            false => 0,
        };

    /// The same, where parts differ.
    ScatteredParts { counts, datatype, root, comm } |it, at|
        match at.is_root(it.root, it.comm) {
            true => at.sum(it.counts, at.ranks(it.comm), it.datatype),
            false => 0,
        };

    /// A part for each rank, by everybody.
    ForAll { buffer, count, datatype, its_count, its_datatype, comm } |it, at| {
        let ForAll { buffer, count, datatype, its_count, its_datatype, comm } = *it;
        let part = Part { buffer, count, datatype, its_count, its_datatype };
        part.bytes(at).saturating_mul(at.ranks(comm))
    };

    /// The same, where parts differ.
    ForEach { buffer, counts, datatype, its_counts, its_datatype, comm } |it, at|
        match at.is_in_place(it.buffer) {
            true => at.sum(it.its_counts, at.ranks(it.comm), it.its_datatype),
            false => at.sum(it.counts, at.ranks(it.comm), it.datatype),
        };

    /// The same, where types differ.
    ForEachTyped { buffer, counts, datatypes, its_counts, its_datatypes, comm } |it, at| {
        let ranks = 0..at.ranks(it.comm) as usize;
        match at.is_in_place(it.buffer) {
            true => at.typed_sum(it.its_counts, it.its_datatypes, ranks),
            false => at.typed_sum(it.counts, it.datatypes, ranks),
        }
    };

    /// The data that is reduced. Each rank of the caller's group gets a part of the result.
    Sum { counts, datatype, comm } |it, at|
        at.sum(it.counts, at.own_ranks(it.comm), it.datatype);

    /// The same, where parts are equal.
    Times { count, datatype, comm } |it, at|
        at.bytes(it.count, it.datatype).saturating_mul(at.own_ranks(it.comm));

    /// A part for each neighbour.
    Neighbours { count, datatype, comm } |it, at| {
        let neighbours = at.library.neighbours(at.comm(it.comm)).count() as u64;
        at.bytes(it.count, it.datatype).saturating_mul(neighbours)
    };

    /// The same, where parts differ.
    NeighboursParts { counts, datatype, comm } |it, at| {
        let count = |place| at.language.count_at(it.counts, place);
        let elements = at.library.neighbours(at.comm(it.comm)).map(count);
        at.size(elements.fold(0, u64::saturating_add), it.datatype)
    };

    /// The same, where types differ.
    NeighboursTyped { counts, datatypes, comm } |it, at|
        at.typed_sum(it.counts, it.datatypes, at.library.neighbours(at.comm(it.comm)));
}

/// The further questions of collectives. All of these are for arguments of a call that is being made.
impl Reader {
    /// True if it is neither the root nor one of those that it sends to: `MPI_PROC_NULL` is -1 or -2 and
    /// `MPI_ROOT` less, in every MPI.
    unsafe fn stands_aside(self, root: usize) -> bool {
        // SAFETY: by the contract of these functions.
        matches!(unsafe { self.integer(root) }, -2 | -1)
    }

    /// True if the caller is the root.
    unsafe fn is_root(self, root: usize, comm: usize) -> bool {
        // SAFETY: by the contract of these functions.
        let (root, comm) = unsafe { (self.integer(root), self.comm(comm)) };
        match self.library.is_inter(comm) {
            true => root < -2,
            false => {
                let rank = self.library.rank_in(comm);
                rank.is_some_and(|rank| Ok(rank) == usize::try_from(root))
            }
        }
    }

    /// The number of ranks that the caller sends parts to.
    unsafe fn ranks(self, comm: usize) -> u64 {
        // SAFETY: by the contract of these functions.
        self.library.ranks_of(unsafe { self.comm(comm) }) as u64
    }

    /// The number of ranks in the caller's group.
    unsafe fn own_ranks(self, comm: usize) -> u64 {
        // SAFETY: by the contract of these functions.
        self.library.own_ranks_of(unsafe { self.comm(comm) }) as u64
    }

    /// The sum of so many parts, in bytes; the array has as many counts.
    unsafe fn sum(self, counts: usize, number: u64, datatype: usize) -> u64 {
        // SAFETY: by the contract of these functions.
        unsafe {
            let counts = (0..number as usize).map(|place| self.language.count_at(counts, place));
            self.size(counts.fold(0, u64::saturating_add), datatype)
        }
    }

    /// The parts at these places of arrays of counts and types, in bytes.
    unsafe fn typed_sum(
        self,
        counts: usize,
        datatypes: usize,
        places: impl Iterator<Item = usize>,
    ) -> u64 {
        // SAFETY: by the contract of these functions; the arrays have these places. Where there are no elements
        // the type is not looked at.
        let part = |place| unsafe {
            match self.language.count_at(counts, place) {
                0 => 0,
                count => {
                    let datatype = self.language.datatype_at(self.library, datatypes, place);
                    count.saturating_mul(self.library.size_of(datatype))
                }
            }
        };
        places.map(part).fold(0, u64::saturating_add)
    }
}

//! The record of what a rank has sent by MPI. The preloaded library leaves it when the rank ends: a file
//! of JSON in the folder that `JITTERLAB_TRACE` names.

mod traffic;

pub use traffic::{Matrix, Rank, Traffic, read};

use serde::{Deserialize, Serialize};

/// One rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its rank among all that were started together (`MPI_COMM_WORLD`).
    pub rank: usize,
    /// The number of these; 0 where the MPI is one whose handles are not known.
    pub ranks: usize,
    /// True if the ranks were started by those of another program (`MPI_Comm_spawn`), and not with it.
    pub spawned: bool,
    /// The functions that it called, in the order of a fixed list; other functions are left out.
    pub calls: Vec<Calls>,
    /// The messages to each rank that it sent to; other ranks are left out.
    pub peers: Vec<Sent>,
    /// The messages to other processes than these ranks, or to unknown ones.
    pub others: Others,
}

/// The calls of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Its name in C.
    pub call: String,
    /// The number of calls; for a call that makes a persistent collective, the number of its starts. A send to
    /// `MPI_PROC_NULL` is none.
    pub calls: u64,
    /// Messages that it sent to single ranks: of `MPI_Startall` or `MPI_Pready_range` several, of a collective none.
    pub messages: u64,
    /// Bytes in them, or that the rank gave to a collective.
    pub bytes: u64,
}

/// The messages to one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The rank that they went to.
    pub rank: usize,
    /// Messages, and one-sided calls.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// The messages to others than the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    /// Messages, and one-sided calls.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

//! What a rank has sent by MPI, as the preloaded library leaves it when the rank ends: a file of JSON in
//! the folder that `JITTERLAB_TRACE` names.

mod traffic;

pub use traffic::{Matrix, Rank, Traffic, read};

use serde::{Deserialize, Serialize};

/// One rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its rank among all that were started together (`MPI_COMM_WORLD`).
    pub rank: usize,
    /// How many these are; 0 where the MPI is one whose handles are not known.
    pub ranks: usize,
    /// Whether the ranks were started by those of another program (`MPI_Comm_spawn`), and not with it.
    pub spawned: bool,
    /// What it called, in the order of a fixed list; what it did not call is left out.
    pub calls: Vec<Calls>,
    /// To whom it sent, by rank; those it did not send to are left out.
    pub peers: Vec<Sent>,
    /// To processes that are none of these ranks, or of which that is not known.
    pub others: Others,
}

/// The calls of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Its name in C.
    pub call: String,
    /// How often it was called; of a call that makes a persistent collective, how often that was started. A send to
    /// `MPI_PROC_NULL` is none.
    pub calls: u64,
    /// Messages that it sent to single ranks: of `MPI_Startall` or `MPI_Pready_range` several, of a collective none.
    pub messages: u64,
    /// Bytes in them, or that the rank gave to a collective.
    pub bytes: u64,
}

/// What was sent to one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Whom to.
    pub rank: usize,
    /// Messages, and one-sided calls.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// What was sent to others than the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    /// Messages, and one-sided calls.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

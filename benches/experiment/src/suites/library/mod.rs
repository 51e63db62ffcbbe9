//! The library suite: operations of MPI between ranks.

mod perform;
mod spec;
mod work;

pub use spec::{LibraryCase, LibraryCaseKind};
pub use work::Work;

//! The output of `jitterlab-mpi` for programs, as types. They are a crate of their own because that program needs an MPI
//! to be built, and those that read its results need none.
//!
//! A field that may have no value is printed as null: one that is not there at all is refused.

#![forbid(unsafe_code)]

pub mod library;
pub mod load;
pub mod npb;

//! The measurements over MPI: ping-pong and collectives ([`library`]), the NAS Parallel Benchmarks ([`npb`]), over a
//! communicator that keeps account of what passes it ([`comm`]); and the load beside which they are made ([`load`]).
//!
//! This crate alone needs an MPI. `jitterlab` builds and runs without it, and starts the program
//! `jitterlab-mpi` with mpirun or srun.

// One-sided communication has no safe form in the bindings: `window` gives it one.
#![deny(unsafe_code)]

pub mod comm;
pub mod library;
pub mod load;
pub mod npb;
mod window;

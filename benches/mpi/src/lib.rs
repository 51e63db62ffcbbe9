//! What jitterlab measures over MPI: the NAS Parallel Benchmarks ([`npb`]), over a communicator that
//! keeps account of what passes it ([`comm`]).
//!
//! This crate alone needs an MPI. `jitterlab` builds and runs without it, and starts the program
//! `jitterlab-mpi` with mpirun or srun.

#![forbid(unsafe_code)]

pub mod comm;
pub mod npb;

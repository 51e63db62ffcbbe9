//! Experiments: the file that describes one, the schedule of its runs, the workers on the hosts
//! that perform them, and the folder that keeps the results.

#![forbid(unsafe_code)]

pub mod agent;
pub mod conduct;
pub mod environment;
mod estimate;
pub mod fit;
pub mod hosts;
pub mod level;
mod link;
pub mod mpi;
mod parting;
mod pattern;
mod perform;
pub mod record;
mod runtime;
pub mod samples;
pub mod schedule;
pub mod spec;
mod ssh;
pub mod standing;
pub mod store;
pub mod validate;
mod worker;

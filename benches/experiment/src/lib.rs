//! Experiments: the file that describes one, the schedule of its runs, how they are
//! performed on the hosts, and the folder that keeps the results.

#![forbid(unsafe_code)]

mod background;
mod command;
pub mod conduct;
pub mod delays;
pub mod enough;
pub mod environment;
mod estimate;
pub mod fit;
mod format;
pub mod headless;
pub mod hosts;
pub mod level;
mod link;
pub mod live;
pub mod merge;
pub mod mpi;
pub mod pause;
mod perform;
pub mod record;
pub mod samples;
mod scene;
pub mod schedule;
pub mod spec;
pub mod standing;
pub mod store;
pub mod suites;
pub mod tables;
pub mod validate;

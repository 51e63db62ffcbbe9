//! Experiments: the file that describes one, the schedule of its runs, the workers on the hosts
//! that perform them, and the folder that keeps the results.

#![forbid(unsafe_code)]

pub mod level;
pub mod record;
pub mod samples;

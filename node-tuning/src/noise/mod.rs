//! The time that a CPU is taken away from a program that only spins, and who took it.
//!
//! [`Noise`] is a measurement, and [`report::NoiseReport`] is its result. [`tracers`] asks the kernel's
//! own tracers. [`compare`] holds two reports against each other, and [`limits`] holds one against the
//! limits of a measuring core. Nothing here changes the machine.

pub mod affinity;
pub mod compare;
pub mod counters;
mod error;
pub mod limits;
mod measure;
pub mod probe;
pub mod record;
pub mod report;
pub mod tracers;
pub mod who;

pub use error::Error;
pub use measure::{Noise, default_threshold};

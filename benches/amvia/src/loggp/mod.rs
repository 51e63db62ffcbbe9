//! `loggp`: what a frame costs in the terms of LogGP (Culler et al. 1993; Alexandrov et al. 1995), by the method of Kaur, section
//! 3.4.2: bursts of requests of growing length, with computing between the messages.
//!
//! docs/amvia-loggp.md derives what is taken from what.

mod estimate;
mod measure;
mod relations;
pub mod schedule;
mod text;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_injector::control::Mode;
use serde::{Deserialize, Serialize};

use crate::cases::{Case, Setting};

pub use estimate::{Estimates, Identity, Observable, Shift, Verdict, Visible};
pub use relations::{Related, related};
pub use text::as_expected;

/// The measurement that is made.
#[derive(Debug, Clone)]
pub struct LogGp {
    /// Size of a request and of its reply.
    pub size: Bytes,
    /// Messages of a burst, ascending: one at least is not above the window, and two are of eight windows or more.
    pub bursts: Vec<u64>,
    /// Computing after each message of a burst (Δ), ascending from 0.
    pub computing: Vec<Nanos>,
    /// Sizes of requests in bulk, ascending.
    pub bulk: Vec<Bytes>,
    /// Delays that are injected, one after the other.
    pub injected: Vec<Injected>,
    /// The number of times that everything is measured.
    pub blocks: u32,
}

/// A delay that is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injected {
    /// The mode.
    pub mode: Mode,
    /// The length of the delay, in nanoseconds.
    pub delay_ns: u64,
}

impl Default for LogGp {
    fn default() -> Self {
        let each = Mode::ALL
            .into_iter()
            .flat_map(|mode| [5_000, 10_000, 20_000].map(|delay_ns| Injected { mode, delay_ns }));
        LogGp {
            size: Bytes(32),
            bursts: (0..10).map(|power| 1 << power).collect(),
            computing: [0, 1_000, 2_000, 5_000, 10_000, 20_000].map(Nanos).to_vec(),
            bulk: (0..5).map(|power| Bytes(512 << power)).collect(),
            injected: each.collect(),
            blocks: 20,
        }
    }
}

/// The measurements, in the form that is printed and stored. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`Case::Loggp`].
    pub case: Case,
    /// The setting of the measurements.
    #[serde(flatten)]
    pub setting: Setting,
    /// Size of a request and of its reply in bytes.
    pub size: u64,
    /// Messages of a burst.
    pub bursts: Vec<u64>,
    /// Computing after each message of a burst.
    pub computing_ns: Vec<u64>,
    /// Sizes of requests in bulk, in bytes.
    pub bulk: Vec<u64>,
    /// Delays that were injected.
    pub injected: Vec<Injected>,
    /// Pauses that were made: each time of a delay, ascending.
    pub pauses_ns: Vec<u64>,
    /// Blocks that do not count, since a request was sent again in them.
    pub discarded_blocks: u64,
    /// The measurements, once a block.
    pub blocks: Vec<Block>,
}

/// Everything measured once. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The mean cost of a message of a burst, its computing included: by computing, and in that by length of the burst.
    pub signature_ns: Vec<Vec<f64>>,
    /// Without a delay.
    pub plain: Observed,
    /// Requests in bulk, by size.
    pub bulk: Vec<Bulk>,
    /// The times with a delay, by the delay that is injected.
    pub injected: Vec<Observed>,
    /// The mean length of the delays in each of those measurements, as the injector achieved it, by the delay; what was asked for
    /// where it counted none.
    pub achieved: Vec<Observed>,
    /// The times without a delay, by pause.
    pub paused: Vec<Paused>,
}

/// The observations of small messages, or a figure for each. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// A message of a burst that the window holds.
    pub send_ns: f64,
    /// The time from one message to the next in a long burst.
    pub interval_ns: f64,
    /// The time from one request to the next, each after the reply to the one before.
    pub round_trip_ns: f64,
}

/// The observations of small messages after a pause, in which the processor waits and does nothing else. The pause is no part of
/// the times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    /// A message of a burst that the window holds, with the pause before the burst.
    pub send_ns: f64,
    /// The time from one request to the next, each after the reply to the one before and the pause.
    pub round_trip_ns: f64,
}

/// The observations of messages in bulk. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bulk {
    /// A message of a burst that the window holds.
    pub send_ns: f64,
    /// The time from one message to the next in a long burst.
    pub interval_ns: f64,
}

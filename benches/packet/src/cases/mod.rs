//! Cases: a file each, chosen from one list.

pub mod bandwidth;
pub mod bidirectional;
pub mod buffer_reuse;
pub mod completion;
pub mod hot_spot;
pub mod latency;
mod length;
pub mod open_loop;
pub mod overhead;
mod pacing;
mod report;
pub mod rtt;
mod samples;
mod silence;
mod told;

use jitterlab_base::named;
use jitterlab_base::units::{Bytes, Nanos};

use crate::Error;
use crate::transport::Path;

pub use report::{Point, Report, Setting};
pub use samples::Samples;
pub use told::{Told, usual_window};

/// The time to measure for, of a case that is measured for a time, if nothing is said.
pub const DURATION: Nanos = Nanos(500_000_000);
/// The time to warm up of other cases than [`rtt`], if nothing is said.
pub const WARMUP: Nanos = Nanos(50_000_000);

/// The cases: those of the paper (interconnect-microbenchmarks), and `rtt`, which keeps every sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Round trips of messages of one size.
    Rtt,
    /// The same by size, and one way.
    Latency,
    /// A stream in one direction, by size.
    Bandwidth,
    /// Both directions at once.
    Bidirectional,
    /// The CPU's work for communication.
    Overhead,
    /// Ways to see that a message has come.
    Completion,
    /// Many buffers, and one.
    BufferReuse,
    /// One against many.
    HotSpot,
}

named!(
    Case, serde, "a case",
    Rtt => "rtt",
    Latency => "latency",
    Bandwidth => "bandwidth",
    Bidirectional => "bidirectional",
    Overhead => "overhead",
    Completion => "completion",
    BufferReuse => "buffer-reuse",
    HotSpot => "hot-spot",
);

impl Case {
    /// A line about what it measures.
    pub fn meaning(self) -> &'static str {
        match self {
            Case::Rtt => "ping-pong: the round-trip time of one message at a time",
            Case::Latency => "ping-pong by message size: one-way latency, half the round trip",
            Case::Bandwidth => "a stream by message size, half to a whole window under way",
            Case::Bidirectional => "latency and bandwidth with both ends sending at once",
            Case::Overhead => {
                "CPU time of a message, and how much computing a stream leaves room for"
            }
            Case::Completion => {
                "latency by the way an arrival is seen: polling memory or a queue, sleeping"
            }
            Case::BufferReuse => {
                "latency and bandwidth with many buffers, and with one that is used more often"
            }
            Case::HotSpot => "one node sending to, and receiving from, 1 to n others",
        }
    }
}

/// Measures each size in turn: what came of it, and the path of the last.
fn each_size<P>(
    sizes: &[Bytes],
    mut measure: impl FnMut(Bytes) -> Result<(P, Option<Path>), Error>,
) -> Result<(Vec<P>, Option<Path>), Error> {
    let mut points = Vec::new();
    let mut last = None;
    for &size in sizes {
        let (point, path) = measure(size)?;
        points.push(point);
        last = path;
    }
    Ok((points, last))
}

//! Cases: a file each, chosen from one list.

pub mod bandwidth;
pub mod bidirectional;
pub mod buffer_reuse;
pub mod completion;
pub mod hot_spot;
pub mod latency;
pub mod overhead;
pub mod rtt;
mod silence;

use jitterlab_base::clock::{Clock, Source};
use jitterlab_base::named;
use jitterlab_base::units::Bytes;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::Serialize;

use crate::Error;
use crate::transport::{Link, Path, Transport, Wait};

/// What is measured: those of the paper (interconnect-microbenchmarks), and `rtt`, which keeps every sample.
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
    /// What the CPU has to do.
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
    /// What it measures, in a line.
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

/// What a case was measured over, and with.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    /// Over what.
    pub transport: Transport,
    /// The path of this end, where the transport knows it, and all messages went over the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// How messages were waited for, where all were in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// The CPUs that the measuring thread may run on.
    pub cpus: Vec<usize>,
    /// What times were measured with.
    pub clock: Source,
    /// Time that one reading takes.
    pub clock_read_ns: f64,
    /// Smallest step between two readings.
    pub clock_resolution_ns: f64,
}

impl Setting {
    /// That of the calling thread.
    pub fn now(link: &Link, wait: impl Into<Option<Wait>>, path: Option<Path>) -> Self {
        let clock = Clock::global();
        Setting {
            transport: link.transport(),
            path,
            wait: wait.into(),
            cpus: allowed_cpus(),
            clock: clock.source(),
            clock_read_ns: clock.read_cost_ns(),
            clock_resolution_ns: clock.resolution_ns(),
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

/// None where the system does not say.
fn allowed_cpus() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect()
}

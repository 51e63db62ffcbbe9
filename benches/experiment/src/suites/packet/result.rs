//! The result of a case of the packet suite: what `jitterlab packet run` prints.

use jitterlab_packet::cases::{
    Case, Report, bandwidth, bidirectional, buffer_reuse, completion, hot_spot, overhead, rtt,
};
use serde::{Deserialize, Deserializer, Serialize};

use crate::suites::by_case::{by_case, read};

/// The report of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PacketResult {
    /// Round trips of messages of one size.
    Rtt(rtt::Report),
    /// Round-trip times by size, and one way.
    Latency(Report<rtt::Point>),
    /// A stream in one direction, by size.
    Bandwidth(Report<bandwidth::Point>),
    /// Both directions at once.
    Bidirectional(Report<bidirectional::Point>),
    /// The CPU's work for communication.
    Overhead(Report<overhead::Point>),
    /// Ways to see that a message has come.
    Completion(Report<completion::Point>),
    /// Many buffers, and one.
    BufferReuse(Report<buffer_reuse::Point>),
    /// One against many.
    HotSpot(Report<hot_spot::Point>),
}

impl<'de> Deserialize<'de> for PacketResult {
    /// Its field `case` says which report it is.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (case, value) = by_case(deserializer)?;
        Ok(match case {
            Case::Rtt => PacketResult::Rtt(read(value)?),
            Case::Latency => PacketResult::Latency(read(value)?),
            Case::Bandwidth => PacketResult::Bandwidth(read(value)?),
            Case::Bidirectional => PacketResult::Bidirectional(read(value)?),
            Case::Overhead => PacketResult::Overhead(read(value)?),
            Case::Completion => PacketResult::Completion(read(value)?),
            Case::BufferReuse => PacketResult::BufferReuse(read(value)?),
            Case::HotSpot => PacketResult::HotSpot(read(value)?),
        })
    }
}

impl PacketResult {
    /// The round trips, if these are what was measured.
    pub fn rtt(&self) -> Option<&rtt::Report> {
        match self {
            PacketResult::Rtt(report) => Some(report),
            _ => None,
        }
    }

    /// True if a part of it ended before its time because there was no memory left for samples.
    pub fn memory_full(&self) -> bool {
        use jitterlab_packet::cases::Point;
        fn any<P: Point>(report: &Report<P>) -> bool {
            report.points.iter().any(Point::memory_full)
        }
        match self {
            PacketResult::Rtt(report) => report.point.memory_full,
            PacketResult::Latency(report) => any(report),
            PacketResult::Bandwidth(report) => any(report),
            PacketResult::Bidirectional(report) => any(report),
            PacketResult::Overhead(report) => any(report),
            PacketResult::Completion(report) => any(report),
            PacketResult::BufferReuse(report) => any(report),
            PacketResult::HotSpot(report) => any(report),
        }
    }
}

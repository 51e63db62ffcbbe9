//! `bidirectional`: both ends send at once (interconnect-microbenchmarks, "Bidirectional latency and
//! bandwidth").
//!
//! Latency: each end sends a message and waits for the other's, then the next. What comes makes either end send,
//! so that two messages are on their way round and round, and nothing keeps them half a round apart: a sample is
//! half the time in which two messages came, one of each. It is one-way. Bandwidth: a stream in each direction.

use std::net::SocketAddr;

use jitterlab_base::show;
use jitterlab_base::units::Bytes;
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::bandwidth::{self, Bandwidth, rate};
use super::report::{self, Column, Report, Setting, size};
use super::rtt::{Rtt, summary};
use super::{Case, each_size};
use crate::Error;
use crate::transport::{Buffers, Link, Path, Plan, Role};

/// Both directions with messages of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of a message in bytes.
    pub size: u64,
    /// Half the time in which two messages came when both ends send and wait at once, in nanoseconds.
    pub latency_ns: Summary,
    /// Messages that were lost in that.
    pub lost: u64,
    /// True if that ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// The stream from here.
    pub out: bandwidth::Point,
    /// The stream to here in the same time, in bytes a second.
    pub back_bytes_per_second: f64,
    /// Both.
    pub bytes_per_second: f64,
}

/// The settings that hold for messages of every size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// Messages that might be under way in each direction: Q.
    pub window: u32,
}

impl report::Point for Point {
    type Common = Common;

    const COLUMNS: &'static [Column<Self>] = &[
        ("size", |point| size(point.size)),
        ("latency", |point| show::time(point.latency_ns.median)),
        ("99.9 %", |point| show::time(point.latency_ns.p999)),
        ("out", |point| show::bandwidth(point.out.bytes_per_second)),
        ("back", |point| show::bandwidth(point.back_bytes_per_second)),
        ("both", |point| show::bandwidth(point.bytes_per_second)),
        ("lost", |point| show::count(point.lost + point.out.missing)),
    ];

    fn memory_full(&self) -> bool {
        self.memory_full || self.out.memory_full
    }

    fn head(report: &Report<Self>) -> String {
        let window = report.common.window;
        format!(", {window} under way in each direction")
    }
}

/// Measures each size in turn; `latency` and `bandwidth` say the rest.
///
/// # Errors
/// As those of [`Rtt::run`] and [`Bandwidth::run`].
pub fn by_size(
    latency: &Rtt,
    bandwidth: &Bandwidth,
    sizes: &[Bytes],
    address: SocketAddr,
) -> Result<Report<Point>, Error> {
    let (points, path) = each_size(sizes, |size| measure(latency, bandwidth, size, address))?;
    Ok(Report {
        case: Case::Bidirectional,
        setting: Setting::now(&latency.link, latency.wait, path),
        common: Common {
            window: bandwidth.window,
        },
        points,
    })
}

fn measure(
    latency: &Rtt,
    bandwidth: &Bandwidth,
    size: Bytes,
    address: SocketAddr,
) -> Result<(Point, Option<Path>), Error> {
    let bandwidth = Bandwidth {
        size,
        both: true,
        ..bandwidth.clone()
    };
    // Refused before anything is measured.
    bandwidth.link.check_plan(&bandwidth.plan())?;
    let exchanged = latency.run_planned(address, &exchange(latency, size))?;
    let streamed = bandwidth.run(address)?;
    let out = bandwidth::Point::of(size, &streamed)?;
    let back_bytes_per_second = rate(streamed.back, streamed.time_ns) * size.0 as f64;
    let point = Point {
        size: size.0,
        latency_ns: summary(&halves(&exchanged.samples))?,
        lost: exchanged.lost,
        memory_full: exchanged.memory_full,
        bytes_per_second: out.bytes_per_second + back_bytes_per_second,
        out,
        back_bytes_per_second,
    };
    Ok((point, exchanged.path))
}

/// Half the time of each two that follow each other.
fn halves(times: &[u64]) -> Vec<u64> {
    let pairs = times.chunks_exact(2);
    pairs.map(|pair| (pair[0] + pair[1]) / 2).collect()
}

fn exchange(options: &Rtt, size: Bytes) -> Plan {
    Plan {
        role: Role::Exchange,
        buffers: ahead(&options.link, 2),
        ..Plan::ping_pong(size.0, options.wait)
    }
}

/// Buffers where an end may be ahead of the other one by this many messages less one: the one that is not
/// looked at yet must not be written over. Datagrams lie each in a place of its own.
pub(super) fn ahead(link: &Link, messages: u32) -> Buffers {
    match link {
        Link::Verbs(..) if link.is_reliable() => Buffers::Fifo(messages),
        _ => Buffers::Fifo(1),
    }
}

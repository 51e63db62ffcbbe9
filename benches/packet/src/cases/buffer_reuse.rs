//! `buffer-reuse`: latency and bandwidth where messages lie in many buffers (interconnect-microbenchmarks,
//! "Impact of buffer reuse"), which shows what translating addresses costs a device, and what caches that
//! are too small cost a socket.
//!
//! Two patterns: N buffers, one after the other; and, of so many messages, a percentage R in one and the
//! same buffer, and all others in one each of their own. No two buffers share a page. Both ends do the same.

use std::net::SocketAddr;

use jitterlab_base::show;
use serde::{Deserialize, Serialize};

use super::Case;
use super::bandwidth::{self, Bandwidth};
use super::report::{self, Column, Report, Setting};
use super::rtt::{Point as Latency, Rtt};
use crate::Error;
use crate::transport::{Buffers, Path, Plan};

/// Messages of one pattern of percentages: those that have buffers of their own have a thousand at most.
pub const PATTERN: u32 = 1000;
/// Numbers of buffers, if nothing is said.
pub const BUFFERS: [u32; 4] = [1, 10, 100, 1000];
/// Percentages of messages in one buffer, if nothing is said.
pub const REUSE: [u8; 5] = [0, 25, 50, 75, 100];
/// The most buffers.
pub const MOST_BUFFERS: u32 = 1 << 20;

/// One pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Buffers that are used one after the other; none in the other pattern.
    #[serde(deserialize_with = "Option::deserialize")]
    pub fifo: Option<u32>,
    /// The percentage of messages that lie in one and the same buffer; none in the other pattern.
    #[serde(deserialize_with = "Option::deserialize")]
    pub reuse_percent: Option<u8>,
    /// The number of buffers that this makes.
    pub buffers: usize,
    /// Round trips.
    pub latency: Latency,
    /// A stream.
    pub bandwidth: bandwidth::Point,
}

/// The settings that hold for every pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// Messages that might be under way in the stream: Q.
    pub window: u32,
}

impl report::Point for Point {
    type Common = Common;

    const COLUMNS: &'static [Column<Self>] = &[
        ("pattern", |point| match (point.fifo, point.reuse_percent) {
            (Some(count), _) => format!("{count} in turn"),
            (None, percent) => format!("{} % in one", percent.unwrap_or(0)),
        }),
        ("buffers", |point| point.buffers.to_string()),
        ("one-way", |point| {
            show::time(point.latency.one_way_median_ns)
        }),
        ("RTT 99.9 %", |point| show::time(point.latency.rtt_ns.p999)),
        ("bandwidth", |point| {
            show::bandwidth(point.bandwidth.bytes_per_second)
        }),
    ];

    fn memory_full(&self) -> bool {
        self.latency.memory_full || self.bandwidth.memory_full
    }

    fn head(report: &Report<Self>) -> String {
        let sizes = report.points.first();
        let (one, many) = sizes.map_or((0, 0), |p| (p.latency.size, p.bandwidth.size));
        let window = report.common.window;
        format!(", {one} B; {many} B and {window} under way in a stream")
    }
}

/// Measures each pattern; `latency` and `bandwidth` say the rest.
///
/// # Errors
/// As those of [`Rtt::run`] and [`Bandwidth::run`].
pub fn by_pattern(
    latency: &Rtt,
    bandwidth: &Bandwidth,
    patterns: &[Buffers],
    address: SocketAddr,
) -> Result<Report<Point>, Error> {
    let with = |&buffers: &Buffers| Bandwidth {
        buffers,
        ..bandwidth.clone()
    };
    // Refused before anything is measured.
    for pattern in patterns {
        let options = with(pattern);
        options.link.check_plan(&options.plan())?;
    }
    let mut points = Vec::new();
    let mut path: Option<Path> = None;
    for pattern in patterns {
        let plan = Plan {
            buffers: *pattern,
            ..Plan::ping_pong(latency.size.0, latency.wait)
        };
        let answered = latency.run_planned(address, &plan)?;
        let streamed = with(pattern).run(address)?;
        let (fifo, reuse_percent) = match *pattern {
            Buffers::Fifo(count) => (Some(count), None),
            Buffers::Reuse { percent, .. } => (None, Some(percent)),
        };
        points.push(Point {
            fifo,
            reuse_percent,
            buffers: pattern.count(),
            latency: Latency::of(latency.size, &answered)?,
            bandwidth: bandwidth::Point::of(bandwidth.size, &streamed)?,
        });
        path = path.or(answered.path);
    }
    Ok(Report {
        case: Case::BufferReuse,
        setting: Setting::now(&latency.link, latency.wait, path),
        common: Common {
            window: bandwidth.window,
        },
        points,
    })
}

//! `buffer-reuse`: latency and bandwidth where messages lie in many buffers (interconnect-microbenchmarks,
//! "Impact of buffer reuse"), which shows what translating addresses costs a device, and what caches that
//! are too small cost a socket.
//!
//! Two patterns: N buffers, one after the other; and, of so many messages, a percentage R in one and the
//! same buffer, and all others in one each of their own. No two buffers share a page. Both ends do the same.

use std::net::SocketAddr;

use serde::Serialize;

use super::Setting;
use super::bandwidth::{self, Bandwidth};
use super::rtt::{Point as Latency, Rtt};
use crate::Error;
use crate::transport::{Buffers, Path, Plan};

/// Messages of one pattern of percentages: those that have buffers of their own have a thousand at most.
pub const PATTERN: u32 = 1000;

/// One pattern.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// Buffers that are used one after the other; none in the other pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fifo: Option<u32>,
    /// The percentage of messages that lie in one and the same buffer; none in the other pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse_percent: Option<u8>,
    /// How many buffers that makes.
    pub buffers: usize,
    /// Round trips.
    pub latency: Latency,
    /// A stream.
    pub bandwidth: bandwidth::Point,
}

/// All patterns.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `buffer-reuse`.
    pub case: &'static str,
    /// What it was measured over, and with.
    #[serde(flatten)]
    pub setting: Setting,
    /// Messages that might be under way in the stream: Q.
    pub window: u32,
    /// By the pattern.
    pub points: Vec<Point>,
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
) -> Result<Report, Error> {
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
        case: "buffer-reuse",
        setting: Setting::now(&latency.link, latency.wait, path),
        window: bandwidth.window,
        points,
    })
}

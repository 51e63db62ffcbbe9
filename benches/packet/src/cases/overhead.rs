//! `overhead`: what the CPU has to do for communication (interconnect-microbenchmarks, "Host communication
//! overhead").
//!
//! The latency test measures three durations. Two are those of the call that sends a message, and of the
//! call that receives one that is already there. They are measured apart by waiting between the two for
//! longer than a round trip takes (as o_s and o_r of LogP are: Culler, Liu, Martin, Yoshikawa: Assessing
//! fast network interfaces, IEEE Micro 16(1), 1996). The third is the CPU time of the thread for a round
//! trip in an ordinary ping-pong.
//!
//! The bandwidth test computes for a time after each window is filled. That time is grown until
//! bandwidth drops.

use std::net::SocketAddr;
use std::time::Duration;

use jitterlab_base::clock::Clock;
use jitterlab_base::print::Part;
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_live::Timing;
use jitterlab_stats::summary::Summary;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::bandwidth::{self, Bandwidth};
use super::report::{self, Column, MEMORY_FULL, Report, Setting, size, table};
use super::rtt::{Length, Pinger, Rtt, summary};
use super::samples::Samples;
use super::{Case, each_size};
use crate::Error;
use crate::transport::{Path, Plan};

/// Bandwidth has dropped when less than this part of it is left.
pub const LEFT: f64 = 0.95;
/// The times of computing, as parts of the time of a half window without computing: coarse steps. Bandwidth drops
/// within one of them.
const COARSE: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5];
/// The number of finer steps between the last coarse one that held and the first one that had dropped.
const FINE: u32 = 9;

/// The overhead of messages of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of a message in bytes.
    pub size: u64,
    /// The call that sends, in nanoseconds.
    pub send_ns: Summary,
    /// The call that receives what is there, in nanoseconds.
    pub receive_ns: Summary,
    /// CPU time of this thread for a round trip, system calls included, in nanoseconds.
    pub cpu_ns_per_round_trip: f64,
    /// The median round trip in the same run, in nanoseconds.
    pub rtt_median_ns: f64,
    /// True if that ended before its time because there was no memory left for samples.
    pub memory_full: bool,
}

/// Bandwidth beside computing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Time that was computed for in each half window, in nanoseconds.
    pub computing_ns: u64,
    /// The part of the time that this was.
    pub share: f64,
    /// Bandwidth, in bytes a second.
    pub bytes_per_second: f64,
    /// The part of the bandwidth without computing that this is.
    pub left: f64,
    /// True if it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
}

/// The bandwidth test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// Messages that might be under way in it: Q.
    pub window: u32,
    /// The size of a message in it, in bytes.
    pub bandwidth_size: u64,
    /// Bandwidth without computing.
    pub alone: bandwidth::Point,
    /// And with more and more.
    pub beside: Vec<Beside>,
    /// The greatest share of the time that was computed in without bandwidth dropping below 95 %; none if it
    /// dropped at once.
    #[serde(deserialize_with = "Option::deserialize")]
    pub room: Option<f64>,
}

impl report::Point for Point {
    type Common = Common;

    const COLUMNS: &'static [Column<Self>] = &[
        ("size", |point| size(point.size)),
        ("send", |point| show::time(point.send_ns.median)),
        ("receive", |point| show::time(point.receive_ns.median)),
        ("CPU a round trip", |point| {
            show::time(point.cpu_ns_per_round_trip)
        }),
        ("RTT", |point| show::time(point.rtt_median_ns)),
    ];

    fn memory_full(&self) -> bool {
        self.memory_full
    }

    fn rest(report: &Report<Self>) -> Vec<Part> {
        let stream = &report.common;
        let alone = format!(
            "a stream of {} B, {} under way: {} alone",
            stream.bandwidth_size,
            stream.window,
            show::bandwidth(stream.alone.bytes_per_second)
        );
        let room = match stream.room {
            Some(share) => format!(
                "bandwidth holds (95 %) with computing in {} of the time",
                show::percent(share)
            ),
            None => "bandwidth drops as soon as anything is computed".into(),
        };
        let mut parts = vec![
            Part::Line(alone),
            table(BESIDE, &stream.beside),
            Part::Line(room),
        ];
        if stream.alone.memory_full || stream.beside.iter().any(|beside| beside.memory_full) {
            parts.push(Part::Line(format!("{MEMORY_FULL}: the stream")));
        }
        parts
    }
}

/// The table of bandwidth beside computing.
const BESIDE: &[Column<Beside>] = &[
    ("computing", |beside| show::time(beside.computing_ns as f64)),
    ("of the time", |beside| show::percent(beside.share)),
    ("bandwidth", |beside| {
        show::bandwidth(beside.bytes_per_second)
    }),
    ("left", |beside| show::percent(beside.left)),
];

/// Measures each size in turn, and computing beside a stream with messages of the last; `latency` and
/// `bandwidth` say the rest.
///
/// # Errors
/// As those of [`Rtt::run`] and [`Bandwidth::run`].
pub fn by_size(
    latency: &Rtt,
    bandwidth: &Bandwidth,
    sizes: &[Bytes],
    address: SocketAddr,
) -> Result<Report<Point>, Error> {
    let (points, path) = each_size(sizes, |size| {
        let options = Rtt {
            size,
            ..latency.clone()
        };
        measure(&options, address)
    })?;
    let size = sizes.last().copied().unwrap_or(bandwidth.size);
    let bandwidth = Bandwidth {
        size,
        ..bandwidth.clone()
    };
    let (alone, beside) = beside(&bandwidth, address)?;
    Ok(Report {
        case: Case::Overhead,
        setting: Setting::now(&latency.link, latency.wait, path),
        common: Common {
            window: bandwidth.window,
            bandwidth_size: size.0,
            alone,
            room: room(&beside),
            beside,
        },
        points,
    })
}

fn measure(options: &Rtt, address: SocketAddr) -> Result<(Point, Option<Path>), Error> {
    let plan = Plan::ping_pong(options.size.0, options.wait);
    let timeout = options.timeout.as_duration();
    let connection = options.link.connect(address, &plan, timeout)?;
    let clock = Clock::global();
    let mut pinger = Pinger::new(connection, options, false, || clock.now_in_order());
    let round_trips = Samples::room(options.length, options.size);
    let mut round_trips = round_trips.timed(Timing::ClosedLoop);
    pinger.run(options.warmup, &mut Samples::discarded())?;
    let before = cpu_time();
    let sent = pinger.run(options.length, &mut round_trips)?;
    let busy = cpu_time().saturating_sub(before);
    let memory_full = round_trips.is_full(options.length);
    let rtt = summary(&round_trips.into_ns())?;

    // Twice what nearly every answer took.
    let pause = Nanos(2 * rtt.p999 as u64);
    let count = calls(options.length, &rtt);
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for _ in 0..count {
        if let Some([send, receive]) = pinger.calls(pause)? {
            sends.push(clock.ticks_to_ns(send));
            receives.push(clock.ticks_to_ns(receive));
        }
    }
    let point = Point {
        size: options.size.0,
        send_ns: summary(&sends)?,
        receive_ns: summary(&receives)?,
        cpu_ns_per_round_trip: busy.as_nanos() as f64 / sent.max(1) as f64,
        rtt_median_ns: rtt.median,
        memory_full,
    };
    Ok((point, pinger.path()))
}

/// The number of messages that fit into the time with pauses between.
fn calls(length: Length, rtt: &Summary) -> u64 {
    match length {
        Length::Messages(count) => count,
        Length::Time(time) => (time.0 as f64 / (2.0 * rtt.p999).max(1.0)).ceil() as u64,
    }
}

/// CPU time of this thread so far.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn beside(
    options: &Bandwidth,
    address: SocketAddr,
) -> Result<(bandwidth::Point, Vec<Beside>), Error> {
    let alone = bandwidth::Point::of(options.size, &options.run(address)?)?;
    let half = alone.half_window_ns.mean;
    let computing = |share: f64| -> Result<Beside, Error> {
        let computing = Nanos((half * share) as u64);
        let options = Bandwidth {
            computing,
            ..options.clone()
        };
        let point = bandwidth::Point::of(options.size, &options.run(address)?)?;
        let left = point.bytes_per_second / alone.bytes_per_second;
        Ok(Beside {
            computing_ns: computing.0,
            share: computing.0 as f64 / point.half_window_ns.mean,
            bytes_per_second: point.bytes_per_second,
            left,
            memory_full: point.memory_full,
        })
    };
    let mut all = Vec::new();
    let mut held = 0.0;
    for share in COARSE {
        let beside = computing(share)?;
        let left = beside.left;
        all.push(beside);
        if left >= LEFT {
            held = share;
        }
        // It has dropped, and not only a little.
        if left >= LEFT * LEFT {
            continue;
        }
        for step in 1..=FINE {
            let between = held + (share - held) * f64::from(step) / f64::from(FINE + 1);
            all.push(computing(between)?);
        }
        break;
    }
    all.sort_by_key(|beside| beside.computing_ns);
    Ok((alone, all))
}

/// The greatest share of computing at which bandwidth held.
fn room(beside: &[Beside]) -> Option<f64> {
    let held = beside.iter().take_while(|point| point.left >= LEFT);
    held.last().map(|point| point.share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_where_bandwidth_first_drops() {
        let beside = |share, left| Beside {
            computing_ns: 1,
            share,
            bytes_per_second: 1.0,
            left,
            memory_full: false,
        };
        assert_eq!(room(&[]), None);
        assert_eq!(room(&[beside(0.1, 0.9)]), None);
        let points = [
            beside(0.1, 1.0),
            beside(0.5, 0.95),
            beside(0.6, 0.9),
            beside(0.7, 1.0),
        ];
        assert_eq!(room(&points), Some(0.5));
    }
}

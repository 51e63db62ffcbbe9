//! The curves of each case of the packet suite, one list for each case (the figures of
//! interconnect-microbenchmarks).

use jitterlab_experiment::record::PacketResult;
use jitterlab_packet::cases::open_loop::Loop;

/// The unit of times.
pub const MICROSECONDS: &str = "µs";

/// A curve: what is drawn over what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Curve {
    /// The place among the curves of a case.
    pub place: usize,
    /// The quantity that it shows.
    pub name: &'static str,
    /// The unit of that quantity.
    pub unit: &'static str,
    /// The quantity that it is drawn over.
    pub over: Over,
}

/// The quantity that a curve is drawn over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Over {
    /// Bytes of a message.
    Size,
    /// Buffers that are used in turn.
    Buffers,
    /// The percentage of messages in one buffer.
    Reuse,
    /// Slaves of a hot spot.
    Slaves,
    /// The percentage of the time that is computed in.
    Computing,
    /// Messages a second.
    Rate,
    /// Messages that may be under way.
    Window,
}

impl Over {
    /// The label for the axis and the table.
    pub fn label(self) -> &'static str {
        match self {
            Over::Size => "Message size",
            Over::Buffers => "Buffers in turn",
            Over::Reuse => "Messages in one buffer, %",
            Over::Slaves => "Slaves",
            Over::Computing => "Time spent computing, %",
            Over::Rate => "Messages a second",
            Over::Window => "Messages under way",
        }
    }
}

/// A value of a curve, of one run.
pub struct Reading {
    /// The curve.
    pub curve: Curve,
    /// The place on the curve.
    pub x: f64,
    /// The value, in the unit of the curve.
    pub y: f64,
}

/// Shares of the time are told apart to so many percent: no two runs compute for the same share.
const SHARE_STEP: f64 = 5.0;

/// The curves that a run shows; none of round trips in the closed loop, since every sample of those is kept.
pub fn readings(result: &PacketResult) -> Vec<Reading> {
    let mut all = Readings::default();
    match result {
        PacketResult::Rtt(report) => {
            if let Loop::Open(open) = &report.pacing {
                let rtt = &report.point.rtt_ns;
                all.us("Median, open loop", Over::Rate, open.rate_asked, rtt.median);
                all.us("99 %, open loop", Over::Rate, open.rate_asked, rtt.p99);
                all.us("99.9 %, open loop", Over::Rate, open.rate_asked, rtt.p999);
            }
        }
        PacketResult::Latency(report) => {
            for point in &report.points {
                all.us(
                    "One-way latency",
                    Over::Size,
                    point.size,
                    point.one_way_median_ns,
                );
            }
        }
        PacketResult::Bandwidth(report) => {
            for point in &report.points {
                all.mb("Bandwidth", Over::Size, point.size, point.bytes_per_second);
            }
        }
        PacketResult::Bidirectional(report) => {
            for point in &report.points {
                all.us(
                    "Latency, both ways",
                    Over::Size,
                    point.size,
                    point.latency_ns.median,
                );
                all.mb(
                    "Bandwidth, both ways",
                    Over::Size,
                    point.size,
                    point.bytes_per_second,
                );
            }
        }
        PacketResult::Overhead(report) => {
            for point in &report.points {
                all.us(
                    "Call that sends",
                    Over::Size,
                    point.size,
                    point.send_ns.median,
                );
                all.us(
                    "Call that receives",
                    Over::Size,
                    point.size,
                    point.receive_ns.median,
                );
                all.us(
                    "CPU a round trip",
                    Over::Size,
                    point.size,
                    point.cpu_ns_per_round_trip,
                );
            }
            for beside in &report.common.beside {
                let share = (beside.share * 100.0 / SHARE_STEP).round() * SHARE_STEP;
                all.mb(
                    "Bandwidth beside computing",
                    Over::Computing,
                    share,
                    beside.bytes_per_second,
                );
            }
        }
        PacketResult::Completion(report) => {
            for point in &report.points {
                all.us(
                    point.way.words(),
                    Over::Size,
                    point.size,
                    point.one_way_median_ns,
                );
            }
        }
        PacketResult::BufferReuse(report) => {
            for point in &report.points {
                let (over, x) = match (point.fifo, point.reuse_percent) {
                    (Some(count), _) => (Over::Buffers, f64::from(count)),
                    (None, percent) => (Over::Reuse, f64::from(percent.unwrap_or_default())),
                };
                all.us("One-way latency", over, x, point.latency.one_way_median_ns);
                all.mb("Bandwidth", over, x, point.bandwidth.bytes_per_second);
            }
        }
        PacketResult::HotSpot(report) => {
            for point in &report.points {
                all.us(
                    "Send",
                    Over::Slaves,
                    point.slaves as u64,
                    point.send_ns.median,
                );
                all.us(
                    "Receive",
                    Over::Slaves,
                    point.slaves as u64,
                    point.receive_ns.median,
                );
            }
        }
    }
    all.readings
}

/// The value of a run at its window, for its size of messages or its reuse; none for a case without a window.
pub fn at_window(result: &PacketResult) -> Vec<Reading> {
    let Some(window) = window(result) else {
        return Vec::new();
    };
    let mut readings = readings(result);
    readings.retain(|reading| matches!(reading.curve.over, Over::Size | Over::Rate));
    let most = readings.iter().map(|reading| reading.x).fold(0.0, f64::max);
    readings.retain(|reading| reading.x == most);
    for reading in &mut readings {
        reading.curve.over = Over::Window;
        reading.x = window.into();
    }
    readings
}

fn window(result: &PacketResult) -> Option<u32> {
    match result {
        PacketResult::Rtt(report) => match &report.pacing {
            Loop::Open(open) => Some(open.window),
            Loop::Closed => None,
        },
        PacketResult::Bandwidth(report) => Some(report.common.window),
        PacketResult::Bidirectional(report) => Some(report.common.window),
        PacketResult::Overhead(report) => Some(report.common.window),
        PacketResult::BufferReuse(report) => Some(report.common.window),
        PacketResult::Latency(_) | PacketResult::Completion(_) | PacketResult::HotSpot(_) => None,
    }
}

/// A place on a curve: a count, or a number.
trait Place {
    fn number(self) -> f64;
}

impl Place for u64 {
    fn number(self) -> f64 {
        self as f64
    }
}

impl Place for f64 {
    fn number(self) -> f64 {
        self
    }
}

#[derive(Default)]
struct Readings {
    readings: Vec<Reading>,
    curves: Vec<(&'static str, Over)>,
}

impl Readings {
    /// A time in nanoseconds.
    fn us(&mut self, name: &'static str, over: Over, x: impl Place, ns: f64) {
        self.add(name, MICROSECONDS, over, x.number(), ns / 1e3);
    }

    /// A rate in bytes a second.
    fn mb(&mut self, name: &'static str, over: Over, x: impl Place, bytes_per_second: f64) {
        self.add(name, "MB/s", over, x.number(), bytes_per_second / 1e6);
    }

    fn add(&mut self, name: &'static str, unit: &'static str, over: Over, x: f64, y: f64) {
        let known = self.curves.iter().position(|&curve| curve == (name, over));
        let place = known.unwrap_or_else(|| {
            self.curves.push((name, over));
            self.curves.len() - 1
        });
        let curve = Curve {
            place,
            name,
            unit,
            over,
        };
        self.readings.push(Reading { curve, x, y });
    }
}

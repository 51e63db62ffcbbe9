//! `bandwidth`: a stream of messages with a window of Q (interconnect-microbenchmarks, "Latency and
//! bandwidth"): Q are sent, then half of them have to be finished before the next half is sent. A sample
//! is the time from one half window that is finished to the next.

use std::net::SocketAddr;

use jitterlab_base::clock::Clock;
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::report::{self, Column, Report, Setting, size};
use super::rtt::{Length, summary};
use super::samples::Samples;
use super::silence;
use super::{Case, each_size};
use crate::Error;
use crate::pace::{Pace, Patience};
use crate::transport::{Buffers, Link, Path, Plan, Progress, Role, Stream, Wait};

/// Messages that may be under way, if nothing is said.
pub const WINDOW: u32 = 100;

/// The measurement that is made.
#[derive(Debug, Clone)]
pub struct Bandwidth {
    /// The link.
    pub link: Link,
    /// Size of a message.
    pub size: Bytes,
    /// The way that both ends wait.
    pub wait: Wait,
    /// Messages that may be under way: Q.
    pub window: u32,
    /// The buffers that messages lie in.
    pub buffers: Buffers,
    /// True if the other end streams, too.
    pub both: bool,
    /// The time that this end computes whenever it has sent half a window.
    pub computing: Nanos,
    /// The messages that are discarded at the beginning.
    pub warmup: Length,
    /// The messages that are measured.
    pub length: Length,
    /// The other end is asked how far it is if nothing came for this time.
    pub timeout: Nanos,
}

/// The figures that were measured.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Messages that were finished in the time.
    pub messages: u64,
    /// Those of them that never came.
    pub missing: u64,
    /// Messages that came from the other end in the time.
    pub back: u64,
    /// The time, in nanoseconds.
    pub time_ns: u64,
    /// Time from one half window to the next, in nanoseconds.
    pub halves: Vec<u64>,
    /// True if it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// The path, where the transport knows it.
    pub path: Option<Path>,
}

impl Bandwidth {
    /// The plan of both ends.
    pub fn plan(&self) -> Plan {
        /// The bytes of a note.
        const NOTE: u64 = 16;
        let window = self.window;
        Plan {
            role: match self.both {
                true => Role::Both { window },
                false => Role::Sink { window },
            },
            wait: self.wait,
            size: self.size.0,
            answer: if self.both { self.size.0 } else { NOTE },
            buffers: self.buffers,
        }
    }

    /// Measures against the server at `address`.
    ///
    /// # Errors
    /// The link cannot carry such messages, nobody answers, or the peer goes away or falls silent.
    pub fn run(&self, address: SocketAddr) -> Result<Outcome, Error> {
        let stream = self.link.stream(address, &self.plan())?;
        let clock = Clock::global();
        self.run_on(stream, || clock.now())
    }

    /// Measures over a stream that is there already; `now` says what time it is, in ticks of [`Clock::global`].
    ///
    /// # Errors
    /// The peer goes away or falls silent.
    pub fn run_on(&self, stream: Box<dyn Stream>, now: impl Fn() -> u64) -> Result<Outcome, Error> {
        let mut pump = Pump {
            stream,
            options: self,
            now,
            clock: Clock::global(),
            pace: Pace::new(self.window),
            computed: 0,
            progress: Progress::default(),
        };
        let what = format_args!("{} stream", self.size);
        let mut halves = Samples::room(self.length, what);
        pump.run(self.warmup, &mut Samples::discarded())?;
        let mut outcome = pump.run(self.length, &mut halves)?;
        outcome.memory_full = halves.is_full(self.length);
        outcome.halves = halves.into_ns();
        outcome.path = pump.stream.path().cloned();
        Ok(outcome)
    }
}

struct Pump<'a, N> {
    stream: Box<dyn Stream>,
    options: &'a Bandwidth,
    /// The present time, in ticks of the clock.
    now: N,
    clock: &'static Clock,
    pace: Pace,
    /// Messages sent before it computed last.
    computed: u64,
    progress: Progress,
}

impl<N: Fn() -> u64> Pump<'_, N> {
    /// Streams for `length`, and keeps the times of half windows, as many as there is room for. It begins and
    /// ends with a half window that is finished.
    fn run(&mut self, length: Length, halves: &mut Samples) -> Result<Outcome, Error> {
        let (count, time) = match length {
            Length::Messages(count) => (count, u64::MAX),
            Length::Time(time) => (u64::MAX, self.clock.ns_to_ticks(time.0)),
        };
        let (mut before, mut start) = (self.progress, (self.now)());
        if count > 0 && time > 0 {
            start = self.half()?;
            before = self.progress;
        }
        let mut last = start;
        while self.progress.finished - before.finished < count && last - start < time {
            let now = self.half()?;
            let is_room = halves.push(now - last);
            last = now;
            if !is_room {
                break;
            }
        }
        Ok(Outcome {
            messages: self.progress.finished - before.finished,
            missing: self.progress.missing.saturating_sub(before.missing),
            back: self.progress.arrived.saturating_sub(before.arrived),
            time_ns: self.clock.ticks_to_ns(last - start),
            halves: Vec::new(),
            memory_full: false,
            path: None,
        })
    }

    /// Goes on until half a window is finished: when that was.
    #[inline]
    fn half(&mut self) -> Result<u64, Error> {
        let mut patience = Patience::new(self.options.timeout, self.options.wait);
        loop {
            let before = self.progress;
            let is_sent = self.pace.fill(&mut *self.stream).map_err(gone(&before))?;
            if self.pace.sent >= self.computed + self.pace.half() {
                self.computed = self.pace.sent;
                self.compute();
            }
            self.progress = self.stream.progress().map_err(gone(&before))?;
            if self.pace.finished(&self.progress) {
                return Ok((self.now)());
            }
            if is_sent || self.progress.finished != before.finished {
                patience.renew();
            } else if patience.is_over(|| self.clock.ticks_to_ns((self.now)())) {
                self.ask(&patience)?;
            }
            if !is_sent && self.progress == before {
                let most = self.options.timeout.as_duration();
                self.stream.idle(most).map_err(gone(&before))?;
            }
        }
    }

    /// Computes for the time that was asked for.
    #[inline]
    fn compute(&self) {
        if self.options.computing.0 > 0 {
            let end = (self.now)() + self.clock.ns_to_ticks(self.options.computing.0);
            while (self.now)() < end {
                std::hint::spin_loop();
            }
        }
    }

    /// Asks the other end how far it is, and gives it up in the end.
    #[cold]
    fn ask(&mut self, patience: &Patience) -> Result<(), Error> {
        if patience.asked >= silence::TIMES {
            return Err(Error::Silence {
                time: Nanos(self.options.timeout.0.saturating_mul(silence::TIMES)),
                answered: self.progress.finished,
                late: 0,
            });
        }
        self.stream.ask().map_err(gone(&self.progress))
    }
}

fn gone(progress: &Progress) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let answered = progress.finished;
    move |source| Error::PeerGone { answered, source }
}

/// Bandwidth with messages of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of a message in bytes.
    pub size: u64,
    /// Messages that were finished.
    pub messages: u64,
    /// Those of them that never came.
    pub missing: u64,
    /// The time, in nanoseconds.
    pub time_ns: u64,
    /// The bytes a second that came there.
    pub bytes_per_second: f64,
    /// The bandwidth in messages.
    pub messages_per_second: f64,
    /// Time from one half window to the next, in nanoseconds.
    pub half_window_ns: Summary,
    /// True if it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
}

impl Point {
    /// The point of a finished run.
    ///
    /// # Errors
    /// It was too short.
    pub fn of(size: Bytes, outcome: &Outcome) -> Result<Self, Error> {
        let came = outcome.messages.saturating_sub(outcome.missing);
        let messages_per_second = rate(came, outcome.time_ns);
        Ok(Point {
            size: size.0,
            messages: outcome.messages,
            missing: outcome.missing,
            time_ns: outcome.time_ns,
            bytes_per_second: messages_per_second * size.0 as f64,
            messages_per_second,
            half_window_ns: summary(&outcome.halves)?,
            memory_full: outcome.memory_full,
        })
    }
}

/// The rate in a second of so many in a time.
pub(super) fn rate(count: u64, time_ns: u64) -> f64 {
    count as f64 * 1e9 / time_ns.max(1) as f64
}

/// The settings that hold for a stream of every size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// Messages that might be under way: Q.
    pub window: u32,
}

impl report::Point for Point {
    type Common = Common;

    const COLUMNS: &'static [Column<Self>] = &[
        ("size", |point| size(point.size)),
        ("bandwidth", |point| show::bandwidth(point.bytes_per_second)),
        ("messages/s", |point| {
            show::number(point.messages_per_second)
        }),
        ("half window", |point| {
            show::time(point.half_window_ns.median)
        }),
        ("99.9 %", |point| show::time(point.half_window_ns.p999)),
        ("n", |point| show::count(point.messages)),
        ("missing", |point| show::count(point.missing)),
    ];

    fn memory_full(&self) -> bool {
        self.memory_full
    }

    fn head(report: &Report<Self>) -> String {
        format!(", {} under way", report.common.window)
    }
}

/// Measures each size in turn; `options` says the rest.
///
/// # Errors
/// As those of [`Bandwidth::run`].
pub fn by_size(
    options: &Bandwidth,
    sizes: &[Bytes],
    address: SocketAddr,
) -> Result<Report<Point>, Error> {
    let (points, path) = each_size(sizes, |size| {
        let outcome = Bandwidth {
            size,
            ..options.clone()
        }
        .run(address)?;
        Ok((Point::of(size, &outcome)?, outcome.path))
    })?;
    Ok(Report {
        case: Case::Bandwidth,
        setting: Setting::now(&options.link, options.wait, path),
        common: Common {
            window: options.window,
        },
        points,
    })
}

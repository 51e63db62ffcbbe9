//! `rtt`: ping-pong. One message is under way at a time; a sample is the time from just before it
//! is sent to just after its answer was received.

use std::net::SocketAddr;

use jitterlab_base::clock::Clock;
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_live::Timing;
use jitterlab_stats::histogram::{Compact, Histogram};
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::Case;
use super::pacing::{Loop, Open};
use super::report::{MEMORY_FULL, Setting};
use super::samples::Samples;
use super::silence::Silence;
use crate::Error;
use crate::transport::{Connection, Link, Path, Plan, Role, Wait};

pub use super::length::Length;

/// The size of a message, if nothing is said.
pub const SIZE: Bytes = Bytes(64);
/// The time to warm up, if nothing is said.
pub const WARMUP: Nanos = Nanos(200_000_000);
/// The time after which a message without an answer is lost, if nothing is said.
pub const TIMEOUT: Nanos = Nanos(100_000_000);

/// The measurement that is made.
#[derive(Debug, Clone)]
pub struct Rtt {
    /// The link.
    pub link: Link,
    /// Size of the message and of its answer.
    pub size: Bytes,
    /// The way that answers are waited for.
    pub wait: Wait,
    /// The messages that are discarded at the beginning.
    pub warmup: Length,
    /// The messages that are measured.
    pub length: Length,
    /// A message without an answer after this time is lost; over a reliable link it goes on being
    /// waited for.
    pub timeout: Nanos,
}

/// The measurement. It has every sample, in the order in which they were taken.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// RTT of each answered message, in nanoseconds.
    pub samples: Vec<u64>,
    /// Messages without an answer.
    pub lost: u64,
    /// Answers that came after the timeout.
    pub reordered: u64,
    /// Answers that came twice.
    pub duplicates: u64,
    /// Messages of the warm-up.
    pub discarded: u64,
    /// True if it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// The path, where the transport knows it.
    pub path: Option<Path>,
    /// The loop in which messages followed each other.
    pub pacing: Loop,
}

impl Rtt {
    /// Measures against the server at `address`.
    ///
    /// # Errors
    /// The link cannot carry such messages, nobody answers, or the peer goes away or falls silent.
    pub fn run(&self, address: SocketAddr) -> Result<Outcome, Error> {
        self.run_planned(address, &Plan::ping_pong(self.size.0, self.wait))
    }

    /// Measures what is planned: a ping-pong, or an exchange, in which a sample is the time from a message to
    /// the next.
    ///
    /// # Errors
    /// As those of [`Rtt::run`].
    pub(super) fn run_planned(&self, address: SocketAddr, plan: &Plan) -> Result<Outcome, Error> {
        let timeout = self.timeout.as_duration();
        let connection = self.link.connect(address, plan, timeout)?;
        let clock = Clock::global();
        self.sample(connection, plan.role == Role::Exchange, || clock.now())
    }

    /// Measures over a connection that is there already; `now` says what time it is, in ticks of [`Clock::global`].
    ///
    /// # Errors
    /// The peer goes away or falls silent.
    pub fn run_on(
        &self,
        connection: Box<dyn Connection>,
        now: impl Fn() -> u64,
    ) -> Result<Outcome, Error> {
        self.sample(connection, false, now)
    }

    fn sample(
        &self,
        connection: Box<dyn Connection>,
        in_step: bool,
        now: impl Fn() -> u64,
    ) -> Result<Outcome, Error> {
        let mut pinger = Pinger::new(connection, self, in_step, now);
        let samples = Samples::room(self.length, self.size);
        let mut samples = samples.timed(Timing::ClosedLoop);
        // No pause after the warm-up: caches and CPUs would cool down in it.
        let discarded = pinger.run(self.warmup, &mut Samples::discarded())?;
        pinger.forget();
        pinger.run(self.length, &mut samples)?;
        if samples.is_empty() {
            return Err(Error::NoSamples);
        }
        Ok(Outcome {
            memory_full: samples.is_full(self.length),
            samples: samples.into_ns(),
            lost: pinger.counts.lost,
            reordered: pinger.counts.reordered,
            duplicates: pinger.counts.duplicates,
            discarded,
            path: pinger.connection.path().cloned(),
            pacing: Loop::Closed,
        })
    }
}

#[derive(Default)]
struct Counts {
    lost: u64,
    reordered: u64,
    duplicates: u64,
}

pub(super) struct Pinger<'a, N> {
    connection: Box<dyn Connection>,
    options: &'a Rtt,
    /// The present time, in ticks of the clock.
    now: N,
    clock: &'static Clock,
    /// The time that an answer may take, in ticks: over a reliable link as long as it likes.
    limit: u64,
    /// The part of a number that a message carries.
    carried: u64,
    sequence: u64,
    answered: u64,
    silence: Silence,
    counts: Counts,
    /// Sequence numbers up to this one are not counted.
    forgotten: u64,
    /// Messages among the others that have been given up.
    missing: Vec<u64>,
    /// True if both ends send at once.
    in_step: bool,
    /// Whether they do not yet, or not since a loss: the time until the next answer says nothing.
    is_out_of_step: bool,
    /// The other end's next message, which came although the one before it did not.
    early: Option<u64>,
}

impl<'a, N: Fn() -> u64> Pinger<'a, N> {
    pub fn new(connection: Box<dyn Connection>, options: &'a Rtt, in_step: bool, now: N) -> Self {
        let bytes = options.size.0.clamp(1, 8) as u32;
        let clock = Clock::global();
        let limit = match options.link.is_reliable() {
            true => u64::MAX,
            false => clock.ns_to_ticks(options.timeout.0),
        };
        Pinger {
            connection,
            options,
            now,
            clock,
            limit,
            carried: u64::MAX >> (64 - 8 * bytes),
            sequence: 0,
            answered: 0,
            silence: Silence::default(),
            counts: Counts::default(),
            forgotten: 0,
            missing: Vec::new(),
            in_step,
            is_out_of_step: in_step,
            early: None,
        }
    }

    /// Pings for `length`, keeps round trips in `samples`, as many as there is room for; gives the number of messages sent.
    pub fn run(&mut self, length: Length, samples: &mut Samples) -> Result<u64, Error> {
        let (count, time) = match length {
            Length::Messages(count) => (count, u64::MAX),
            Length::Time(Nanos(0)) => (0, 0),
            Length::Time(time) => (u64::MAX, self.clock.ns_to_ticks(time.0)),
        };
        let start = (self.now)();
        let mut sent = 0;
        while sent < count {
            let round_trip = self.ping()?;
            sent += 1;
            if let Some((begin, end)) = round_trip {
                if !samples.push(end - begin) || end - start >= time {
                    break;
                }
            } else if (self.now)() - start >= time {
                break;
            }
        }
        Ok(sent)
    }

    /// One message and its answer: when it was sent and when the answer was there.
    #[inline]
    fn ping(&mut self) -> Result<Option<(u64, u64)>, Error> {
        let begin = (self.now)();
        self.send()?;
        let end = self.answer(begin)?;
        Ok(end.map(|end| (begin, end)))
    }

    /// The same with a pause before the answer is read, so that it is there by then. Gives the ticks of the
    /// two calls.
    pub fn calls(&mut self, pause: Nanos) -> Result<Option<[u64; 2]>, Error> {
        let begin = (self.now)();
        self.send()?;
        let sent = (self.now)();
        let mut look = sent;
        while look - sent < self.clock.ns_to_ticks(pause.0) {
            look = (self.now)();
        }
        let end = self.answer(look)?;
        Ok(end.map(|end| [sent - begin, end - look]))
    }

    /// The path, where the transport knows it.
    pub fn path(&self) -> Option<Path> {
        self.connection.path().cloned()
    }

    #[inline]
    fn send(&mut self) -> Result<(), Error> {
        self.sequence += 1;
        self.connection
            .send(self.sequence)
            .map_err(|source| self.gone(source))
    }

    /// When the answer to the last message was there, which is waited for since then.
    #[inline]
    fn answer(&mut self, since: u64) -> Result<Option<u64>, Error> {
        loop {
            let arrived = match self.early.take() {
                Some(number) => Ok(Some(number)),
                None => self.connection.receive(),
            };
            match arrived {
                Ok(Some(number)) if (number ^ self.sequence) & self.carried == 0 => {
                    let end = (self.now)();
                    if end - since > self.limit {
                        self.lose();
                        self.stray(number);
                        return self.was_silent();
                    }
                    self.answered += 1;
                    self.silence.end();
                    let is_sample = !std::mem::take(&mut self.is_out_of_step);
                    return Ok(is_sample.then_some(end));
                }
                Ok(Some(number)) if self.in_step && number > self.sequence => {
                    self.early = Some(number);
                    self.lose();
                    return Ok(None);
                }
                Ok(Some(number)) => {
                    self.stray(number);
                    if (self.now)() - since <= self.limit {
                        continue;
                    }
                }
                Ok(None) if self.options.link.is_reliable() => {
                    self.was_silent()?;
                    continue;
                }
                Ok(None) => {}
                Err(source) => return Err(self.gone(source)),
            }
            self.lose();
            return self.was_silent();
        }
    }

    /// Counts messages from now on, and those before no longer, whatever may come of them.
    fn forget(&mut self) {
        self.counts = Counts::default();
        self.missing.clear();
        self.forgotten = self.sequence;
    }

    /// The last message has no answer.
    #[cold]
    fn lose(&mut self) {
        self.counts.lost += 1;
        self.missing.push(self.sequence);
        self.is_out_of_step = self.in_step;
    }

    fn gone(&self, source: std::io::Error) -> Error {
        Error::PeerGone {
            answered: self.answered,
            source,
        }
    }

    /// An answer to a message that is not waited for any more.
    #[cold]
    fn stray(&mut self, number: u64) {
        if number <= self.forgotten {
            return;
        }
        if let Some(index) = self.missing.iter().position(|&missing| missing == number) {
            self.missing.swap_remove(index);
            self.counts.reordered += 1;
            self.silence.late();
            self.counts.lost = self.counts.lost.saturating_sub(1);
        } else {
            self.counts.duplicates += 1;
        }
    }

    /// No answer in time.
    #[cold]
    fn was_silent(&mut self) -> Result<Option<u64>, Error> {
        self.silence
            .timed_out(self.options.timeout, self.answered)?;
        Ok(None)
    }
}

/// A run in the form that is printed and stored. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`Case::Rtt`].
    pub case: Case,
    /// The transport, the CPUs and the clock of the measurement.
    #[serde(flatten)]
    pub setting: Setting,
    /// The loop in which messages followed each other.
    #[serde(rename = "loop")]
    pub pacing: Loop,
    /// Messages that were discarded as warm-up.
    pub discarded: u64,
    /// The figures that were measured.
    #[serde(flatten)]
    pub point: Point,
}

/// Round trips of messages of one size. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of a message in bytes.
    pub size: u64,
    /// Messages without an answer.
    pub lost: u64,
    /// Answers that came after the timeout.
    pub reordered: u64,
    /// Answers that came twice.
    pub duplicates: u64,
    /// True if it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// Round trips.
    pub rtt_ns: Summary,
    /// Half the median round trip.
    pub one_way_median_ns: f64,
}

impl Point {
    /// The point of a finished run.
    ///
    /// # Errors
    /// There is no sample.
    pub fn of(size: Bytes, outcome: &Outcome) -> Result<Self, Error> {
        let rtt_ns = summary(&outcome.samples)?;
        Ok(Point {
            size: size.0,
            lost: outcome.lost,
            reordered: outcome.reordered,
            duplicates: outcome.duplicates,
            memory_full: outcome.memory_full,
            one_way_median_ns: rtt_ns.median / 2.0,
            rtt_ns,
        })
    }
}

impl Report {
    /// The report of a finished run.
    ///
    /// # Errors
    /// There is no sample.
    pub fn of(options: &Rtt, outcome: &Outcome) -> Result<Self, Error> {
        Ok(Report {
            case: Case::Rtt,
            setting: Setting::now(&options.link, options.wait, outcome.path.clone()),
            pacing: outcome.pacing.clone(),
            discarded: outcome.discarded,
            point: Point::of(options.size, outcome)?,
        })
    }
}

/// A run with how often round trips of each size occurred.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detailed {
    /// The run.
    #[serde(flatten)]
    pub report: Report,
    /// Its round trips, in nanoseconds.
    pub histogram_ns: Compact,
}

impl Text for Detailed {
    fn parts(&self) -> Vec<Part> {
        let histogram = Histogram::from(&self.histogram_ns);
        let row = |(lowest, highest, count): (u64, u64, u64)| {
            [
                show::time(lowest as f64),
                show::time(highest as f64),
                show::count(count),
            ]
        };
        let head = ["from", "to", "round trips"].map(String::from);
        let rows = [head].into_iter().chain(histogram.buckets().map(row));
        let mut parts = self.report.parts();
        parts.push(Part::Table(rows.map(Vec::from).collect()));
        parts
    }
}

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let Report {
            setting,
            point,
            pacing,
            ..
        } = self;
        let rtt = &point.rtt_ns;
        let mut lines = vec![
            format!(
                "ping-pong{}, {} B{}, {} loop: {} round trips, {} lost, {} reordered, {} duplicates",
                setting.over(),
                point.size,
                setting.waiting(),
                pacing.name(),
                rtt.n,
                point.lost,
                point.reordered,
                point.duplicates,
            ),
            format!(
                "RTT: least {}, median {}, mean {}, std {}, 90 % {}, 99 % {}, 99.9 % {}, greatest {}",
                show::time(rtt.min),
                show::time(rtt.median),
                show::time(rtt.mean),
                rtt.std.map_or("-".into(), show::time),
                show::time(rtt.p90),
                show::time(rtt.p99),
                show::time(rtt.p999),
                show::time(rtt.max),
            ),
            format!(
                "one-way (half the RTT), median: {}",
                show::time(point.one_way_median_ns)
            ),
            setting.clock(),
        ];
        if let Loop::Open(open) = pacing {
            lines.insert(1, rates(open));
        }
        if point.memory_full {
            lines.push(MEMORY_FULL.into());
        }
        lines.into_iter().map(Part::Line).collect()
    }
}

/// The figures of an open loop, for people.
fn rates(open: &Open) -> String {
    format!(
        "{} messages a second asked for, {} sent, {} gaps; {} not sent; at most {} of {} under way, and {} late; \
         a round trip counts from when its message was due",
        show::number(open.rate_asked),
        show::number(open.rate_achieved),
        open.gaps,
        open.unsent,
        open.most_under_way,
        open.window,
        show::time(open.latest_ns as f64),
    )
}

/// A summary of samples in nanoseconds.
pub(super) fn summary(samples: &[u64]) -> Result<Summary, Error> {
    let samples: Vec<f64> = samples.iter().map(|&ns| ns as f64).collect();
    Summary::of(&samples).map_err(|_| Error::NoSamples)
}

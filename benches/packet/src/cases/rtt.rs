//! `rtt`: ping-pong. One message is under way at a time; a sample is the time from just before it
//! is sent to just after its answer was received.

use std::net::SocketAddr;

use jitterlab_injector::clock::{Clock, Source};
use jitterlab_injector::units::{Bytes, Nanos};
use jitterlab_stats::summary::Summary;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::Serialize;

use crate::Error;
use crate::transport::{Connection, Link, Path, Transport, Wait};

/// How long something goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// For so many messages.
    Messages(u64),
    /// For so long.
    Time(Nanos),
}

/// What is measured.
#[derive(Debug, Clone)]
pub struct Rtt {
    /// Over what.
    pub link: Link,
    /// Size of the message and of its answer.
    pub size: Bytes,
    /// How answers are waited for.
    pub wait: Wait,
    /// What is discarded at the beginning.
    pub warmup: Length,
    /// What is measured.
    pub length: Length,
    /// A message without an answer after this time is lost; over a reliable link it goes on being
    /// waited for.
    pub timeout: Nanos,
}

/// What was measured. Every sample is there, in the order in which they were taken.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// RTT of each answered message, in nanoseconds.
    pub samples: Vec<u64>,
    /// Messages without an answer.
    pub lost: u64,
    /// Answers that came after the next message had been sent.
    pub reordered: u64,
    /// Answers that came twice.
    pub duplicates: u64,
    /// Messages of the warm-up.
    pub discarded: u64,
    /// Whether it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// The path, where the transport knows it.
    pub path: Option<Path>,
}

/// After as many times the timeout in a row without an answer, nobody is there any more.
const SILENCE: u64 = 20;
/// Memory for samples of a run whose length is a time: one every 2 us, at most a gigabyte.
const MOST_SAMPLES: u64 = 1 << 27;

impl Rtt {
    /// Measures against the server at `address`.
    ///
    /// # Errors
    /// The link cannot carry such messages, nobody answers, or the peer goes away or falls silent.
    pub fn run(&self, address: SocketAddr) -> Result<Outcome, Error> {
        let timeout = self.timeout.as_duration();
        self.run_on(
            self.link
                .connect(address, self.size.0, self.wait, timeout)?,
        )
    }

    /// Measures over a connection that is there already.
    ///
    /// # Errors
    /// The peer goes away or falls silent.
    pub fn run_on(&self, connection: Box<dyn Connection>) -> Result<Outcome, Error> {
        let mut pinger = Pinger::new(connection, self, Clock::global());
        let mut ticks = touched_memory(self.length);
        // No pause after the warm-up: caches and CPUs would cool down in it.
        let discarded = pinger.run(self.warmup, &mut Vec::new())?;
        pinger.counts = Counts::default();
        pinger.run(self.length, &mut ticks)?;
        if ticks.is_empty() {
            return Err(Error::NoSamples);
        }
        let clock = pinger.clock;
        let timed = matches!(self.length, Length::Time(_));
        Ok(Outcome {
            memory_full: timed && ticks.len() == ticks.capacity(),
            samples: ticks.into_iter().map(|t| clock.ticks_to_ns(t)).collect(),
            lost: pinger.counts.lost,
            reordered: pinger.counts.reordered,
            duplicates: pinger.counts.duplicates,
            discarded,
            path: pinger.connection.path().cloned(),
        })
    }
}

/// An empty vector whose memory has been written to, so that no page fault is measured.
fn touched_memory(length: Length) -> Vec<u64> {
    let capacity = match length {
        Length::Messages(count) => count,
        Length::Time(time) => time.0 / 2_000 + 1_000,
    };
    let mut memory = vec![u64::MAX; capacity.min(MOST_SAMPLES) as usize];
    memory.clear();
    memory
}

#[derive(Default)]
struct Counts {
    lost: u64,
    reordered: u64,
    duplicates: u64,
}

struct Pinger<'a> {
    connection: Box<dyn Connection>,
    options: &'a Rtt,
    clock: &'a Clock,
    /// The part of a number that a message carries.
    carried: u64,
    sequence: u64,
    answered: u64,
    silent: u64,
    counts: Counts,
    /// Sequence numbers that have been given up.
    missing: Vec<u64>,
}

impl<'a> Pinger<'a> {
    fn new(connection: Box<dyn Connection>, options: &'a Rtt, clock: &'a Clock) -> Self {
        let bytes = options.size.0.clamp(1, 8) as u32;
        Pinger {
            connection,
            options,
            clock,
            carried: u64::MAX >> (64 - 8 * bytes),
            sequence: 0,
            answered: 0,
            silent: 0,
            counts: Counts::default(),
            missing: Vec::new(),
        }
    }

    /// Pings for `length`, keeps round trips in `ticks` (as many as it has room for, if it has
    /// any), gives the number of messages sent.
    fn run(&mut self, length: Length, ticks: &mut Vec<u64>) -> Result<u64, Error> {
        let (count, time) = match length {
            Length::Messages(count) => (count, u64::MAX),
            Length::Time(Nanos(0)) => (0, 0),
            Length::Time(time) => (u64::MAX, self.clock.ns_to_ticks(time.0)),
        };
        let keep = ticks.capacity() > 0;
        let start = self.clock.now();
        let mut sent = 0;
        while sent < count {
            let round_trip = self.ping()?;
            sent += 1;
            if let Some((begin, end)) = round_trip {
                if keep {
                    ticks.push(end - begin);
                    if ticks.len() == ticks.capacity() {
                        break;
                    }
                }
                if end - start >= time {
                    break;
                }
            } else if self.clock.now() - start >= time {
                break;
            }
        }
        Ok(sent)
    }

    /// One message and its answer: when it was sent and when the answer was there.
    #[inline]
    fn ping(&mut self) -> Result<Option<(u64, u64)>, Error> {
        self.sequence += 1;
        let begin = self.clock.now();
        self.connection
            .send(self.sequence)
            .map_err(|source| self.gone(source))?;
        loop {
            match self.connection.receive() {
                Ok(Some(number)) => {
                    let end = self.clock.now();
                    if (number ^ self.sequence) & self.carried == 0 {
                        self.answered += 1;
                        self.silent = 0;
                        return Ok(Some((begin, end)));
                    }
                    self.stray(number);
                }
                Ok(None) => {
                    self.was_silent()?;
                    if !self.options.link.is_reliable() {
                        self.counts.lost += 1;
                        self.missing.push(self.sequence);
                        return Ok(None);
                    }
                }
                Err(source) => return Err(self.gone(source)),
            }
        }
    }

    fn gone(&self, source: std::io::Error) -> Error {
        Error::PeerGone {
            answered: self.answered,
            source,
        }
    }

    /// An answer to another message than the last.
    #[cold]
    fn stray(&mut self, number: u64) {
        if let Some(index) = self.missing.iter().position(|&missing| missing == number) {
            self.missing.swap_remove(index);
            self.counts.reordered += 1;
            self.counts.lost = self.counts.lost.saturating_sub(1);
        } else {
            self.counts.duplicates += 1;
        }
    }

    /// No answer in time.
    #[cold]
    fn was_silent(&mut self) -> Result<(), Error> {
        self.silent += 1;
        if self.silent < SILENCE {
            return Ok(());
        }
        Err(Error::Silence {
            time: Nanos(self.options.timeout.0.saturating_mul(SILENCE)),
            answered: self.answered,
        })
    }
}

/// A run in the form that is printed and stored. Times in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `rtt`.
    pub case: &'static str,
    /// Over what.
    pub transport: Transport,
    /// The path of this end, where the transport knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Size of a message in bytes.
    pub size: u64,
    /// How answers were waited for.
    pub wait: Wait,
    /// Messages that were discarded as warm-up.
    pub discarded: u64,
    /// Messages without an answer.
    pub lost: u64,
    /// Answers that came after the next message had been sent.
    pub reordered: u64,
    /// Answers that came twice.
    pub duplicates: u64,
    /// Whether it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// Round trips.
    pub rtt_ns: Summary,
    /// Half the median round trip.
    pub one_way_median_ns: f64,
    /// The CPUs that the measuring thread may run on.
    pub cpus: Vec<usize>,
    /// What they were measured with.
    pub clock: Source,
    /// Time that one reading takes.
    pub clock_read_ns: f64,
    /// Smallest step between two readings.
    pub clock_resolution_ns: f64,
}

impl Report {
    /// Of a finished run.
    ///
    /// # Errors
    /// There is no sample.
    pub fn of(options: &Rtt, outcome: &Outcome) -> Result<Self, Error> {
        let samples: Vec<f64> = outcome.samples.iter().map(|&ns| ns as f64).collect();
        let rtt_ns = Summary::of(&samples).map_err(|_| Error::NoSamples)?;
        let clock = Clock::global();
        Ok(Report {
            case: "rtt",
            transport: options.link.transport(),
            path: outcome.path.clone(),
            size: options.size.0,
            wait: options.wait,
            discarded: outcome.discarded,
            lost: outcome.lost,
            reordered: outcome.reordered,
            duplicates: outcome.duplicates,
            memory_full: outcome.memory_full,
            cpus: allowed_cpus(),
            one_way_median_ns: rtt_ns.median / 2.0,
            rtt_ns,
            clock: clock.source(),
            clock_read_ns: clock.read_cost_ns(),
            clock_resolution_ns: clock.resolution_ns(),
        })
    }
}

/// None where the system does not say.
fn allowed_cpus() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect()
}

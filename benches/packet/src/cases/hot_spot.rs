//! `hot-spot`: one node, the master, against 1 to n others, the slaves (interconnect-microbenchmarks,
//! "Hot-spot tests").
//!
//! Send: in an iteration the master sends a message to every slave; one of them, each time the next, answers
//! with a short one, which keeps the master from running ahead. Receive: the master sends a short message to
//! every slave, and waits for a message from each. A sample is the time of an iteration.

use std::net::SocketAddr;

use jitterlab_base::clock::Clock;
use jitterlab_base::show;
use jitterlab_live::Timing;
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::Case;
use super::bidirectional::ahead;
use super::report::{self, Column, Report, Setting};
use super::rtt::{Length, Rtt, summary};
use super::samples::Samples;
use super::silence::Silence;
use crate::Error;
use crate::transport::{Connection, Path, Plan, Role};

/// The most slaves: over datagrams, what a slave may be behind has to fit into its receives.
pub const MOST_SLAVES: usize = 32;
/// Slaves, if nothing is said.
pub const SLAVES: u8 = 4;

/// One master and so many slaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Slaves.
    pub slaves: usize,
    /// An iteration of sending, in nanoseconds.
    pub send_ns: Summary,
    /// An iteration of receiving, in nanoseconds.
    pub receive_ns: Summary,
    /// Messages that were waited for in vain, in both.
    pub lost: u64,
    /// True if one of them ended before its time because there was no memory left for samples.
    pub memory_full: bool,
}

/// The settings that hold for every number of slaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Common {
    /// Size of a message in bytes.
    pub size: u64,
    /// Size of a short one.
    pub short: u64,
}

impl report::Point for Point {
    type Common = Common;

    const COLUMNS: &'static [Column<Self>] = &[
        ("slaves", |point| point.slaves.to_string()),
        ("send", |point| show::time(point.send_ns.median)),
        ("99.9 %", |point| show::time(point.send_ns.p999)),
        ("receive", |point| show::time(point.receive_ns.median)),
        ("99.9 %", |point| show::time(point.receive_ns.p999)),
        ("lost", |point| show::count(point.lost)),
    ];

    fn memory_full(&self) -> bool {
        self.memory_full
    }

    fn head(report: &Report<Self>) -> String {
        let Common { size, short } = report.common;
        format!(", {size} B and {short} B")
    }
}

/// Measures with the first slave, the first two, and so on.
///
/// # Errors
/// As those of [`Rtt::run`].
pub fn by_slaves(options: &Rtt, slaves: &[SocketAddr]) -> Result<Report<Point>, Error> {
    let clock = Clock::global();
    let now = || clock.now();
    let short = *options.link.sizes().start();
    let mut points = Vec::new();
    let mut path: Option<Path> = None;
    for count in 1..=slaves.len() {
        let slaves = &slaves[..count];
        let mut send = Master::new(
            options,
            slaves,
            |rest| Plan {
                role: Role::Answer {
                    every: count as u32,
                    rest,
                },
                answer: short,
                buffers: ahead(&options.link, 2 * count as u32),
                ..Plan::ping_pong(options.size.0, options.wait)
            },
            now,
        )?;
        let sends = send.run(Master::send)?;
        path = path.or_else(|| send.path());
        let (mut lost, mut memory_full) = (send.lost, send.memory_full);
        drop(send);
        let mut receive = Master::new(
            options,
            slaves,
            |_| Plan {
                size: short,
                ..Plan::ping_pong(options.size.0, options.wait)
            },
            now,
        )?;
        let receives = receive.run(Master::receive)?;
        lost += receive.lost;
        memory_full |= receive.memory_full;
        points.push(Point {
            slaves: count,
            send_ns: summary(&sends)?,
            receive_ns: summary(&receives)?,
            lost,
            memory_full,
        });
    }
    Ok(Report {
        case: Case::HotSpot,
        setting: Setting::now(&options.link, options.wait, path),
        common: Common {
            size: options.size.0,
            short,
        },
        points,
    })
}

struct Master<'a, N> {
    options: &'a Rtt,
    /// The present time, in ticks of the clock.
    now: N,
    clock: &'static Clock,
    slaves: Vec<Slave>,
    iteration: u64,
    lost: u64,
    memory_full: bool,
}

struct Slave {
    address: SocketAddr,
    connection: Box<dyn Connection>,
    /// The silence of this slave alone: the answers of others do not make a dead one's silence shorter.
    silence: Silence,
}

impl<'a, N: Fn() -> u64> Master<'a, N> {
    fn new(
        options: &'a Rtt,
        slaves: &[SocketAddr],
        plan: impl Fn(u32) -> Plan,
        now: N,
    ) -> Result<Self, Error> {
        let timeout = options.timeout.as_duration();
        let connect = |(rest, &address)| {
            Ok(Slave {
                address,
                connection: options.link.connect(address, &plan(rest), timeout)?,
                silence: Silence::default(),
            })
        };
        Ok(Master {
            options,
            now,
            clock: Clock::global(),
            slaves: (0..)
                .zip(slaves)
                .map(connect)
                .collect::<Result<_, Error>>()?,
            iteration: 0,
            lost: 0,
            memory_full: false,
        })
    }

    fn path(&self) -> Option<Path> {
        self.slaves.first()?.connection.path().cloned()
    }

    /// The times of iterations, in nanoseconds, after the warm-up.
    fn run(
        &mut self,
        mut iterate: impl FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Result<Vec<u64>, Error> {
        let what = format_args!("{} slaves", self.slaves.len());
        let samples = Samples::room(self.options.length, what);
        let mut samples = samples.timed(Timing::ClosedLoop);
        for (length, kept) in [
            (self.options.warmup, &mut Samples::discarded()),
            (self.options.length, &mut samples),
        ] {
            // The losses of the warm-up are not counted.
            self.lost = 0;
            let (count, time) = match length {
                Length::Messages(count) => (count, u64::MAX),
                Length::Time(time) => (u64::MAX, self.clock.ns_to_ticks(time.0)),
            };
            let start = (self.now)();
            let mut done = 0;
            let mut begin = start;
            let mut is_room = true;
            while done < count && begin - start < time && is_room {
                let is_whole = iterate(self)?;
                let end = (self.now)();
                if is_whole {
                    is_room = kept.push(end - begin);
                }
                done += 1;
                begin = end;
            }
        }
        self.memory_full = samples.is_full(self.options.length);
        Ok(samples.into_ns())
    }

    /// A message to each, and an answer from one; whether it came.
    fn send(&mut self) -> Result<bool, Error> {
        self.iteration += 1;
        for slave in 0..self.slaves.len() {
            self.send_to(slave)?;
        }
        let answers = (self.iteration % self.slaves.len() as u64) as usize;
        self.wait_for(answers)
    }

    /// A message to each, and an answer from each; whether all came.
    fn receive(&mut self) -> Result<bool, Error> {
        self.iteration += 1;
        for slave in 0..self.slaves.len() {
            self.send_to(slave)?;
        }
        let mut is_whole = true;
        for slave in 0..self.slaves.len() {
            is_whole &= self.wait_for(slave)?;
        }
        Ok(is_whole)
    }

    #[inline]
    fn send_to(&mut self, slave: usize) -> Result<(), Error> {
        let slave = &mut self.slaves[slave];
        let sent = slave.connection.send(self.iteration);
        sent.map_err(|source| slave.gone(self.iteration, source))
    }

    /// The answer of a slave to the last message; whether it came.
    fn wait_for(&mut self, slave: usize) -> Result<bool, Error> {
        let is_reliable = self.options.link.is_reliable();
        let slave = &mut self.slaves[slave];
        let mut since = None;
        loop {
            match slave.connection.receive() {
                // The next one is the one if nothing is lost.
                Ok(Some(number)) if is_reliable || number == self.iteration => {
                    slave.silence.end();
                    return Ok(true);
                }
                // A late one, which does not make the wait longer.
                Ok(Some(_)) => {
                    slave.silence.late();
                    let now = (self.now)();
                    let waited = now - *since.get_or_insert(now);
                    if waited <= self.clock.ns_to_ticks(self.options.timeout.0) {
                        continue;
                    }
                }
                Ok(None) => {}
                Err(source) => return Err(slave.gone(self.iteration, source)),
            }
            slave
                .silence
                .timed_out(self.options.timeout, self.iteration - 1)
                .map_err(|source| slave.failed(source))?;
            if !is_reliable {
                self.lost += 1;
                return Ok(false);
            }
        }
    }
}

impl Slave {
    #[cold]
    fn gone(&self, iteration: u64, source: std::io::Error) -> Error {
        self.failed(Error::PeerGone {
            answered: iteration.saturating_sub(1),
            source,
        })
    }

    #[cold]
    fn failed(&self, source: Error) -> Error {
        Error::Slave {
            address: self.address,
            source: Box::new(source),
        }
    }
}

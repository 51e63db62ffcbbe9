//! `rtt`: transactions one after the other. A sample is the time from just before the request is made to just after its reply
//! is seen.

use jitterlab_base::clock::Clock;
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_live::Timing;
use jitterlab_packet::cases::Samples;
use jitterlab_packet::transport::Transport;
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::{Case, Setting};
use crate::handlers::ECHO;
use crate::{Client, Error};

pub use jitterlab_packet::cases::rtt::Length;

/// The size of a message, if nothing is said: a short message of the paper (Kaur, section 3.3).
pub const SIZE: Bytes = Bytes(32);

/// The measurement that is made.
#[derive(Debug, Clone)]
pub struct Rtt {
    /// Size of the request and of its reply.
    pub size: Bytes,
    /// The messages that are discarded at the beginning.
    pub warmup: Length,
    /// The messages that are measured.
    pub length: Length,
}

/// The measurement. It has every sample, in the order in which they were taken.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// RTT of each transaction, in nanoseconds.
    pub samples: Vec<u64>,
    /// Transactions of the warm-up.
    pub discarded: u64,
    /// Requests that were sent again.
    pub retransmissions: u64,
    /// True if it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
}

impl Rtt {
    /// Measures.
    ///
    /// # Errors
    /// The message is too long, a transaction does not end well, or no sample was taken.
    pub fn run(&self, client: &Client) -> Result<Outcome, Error> {
        let clock = Clock::global();
        self.run_by(client, move || clock.now())
    }

    /// The same by another time: `now` says what time it is, in ticks of [`Clock::global`].
    ///
    /// # Errors
    /// As those of [`Rtt::run`].
    pub fn run_by(&self, client: &Client, now: impl Fn() -> u64) -> Result<Outcome, Error> {
        let message = client.message(self.size)?;
        // A round trip over shared memory is shorter than any that a kernel carries.
        let least = match client.options().transport {
            Transport::Shm => Nanos(200),
            _ => Nanos(2_000),
        };
        let samples = Samples::room_for(
            self.length,
            least,
            format_args!("{} {}", client.options().protocol, self.size),
        );
        let mut samples = samples.timed(Timing::ClosedLoop);
        // No pause after the warm-up: caches and CPUs would cool down in it.
        let mut none = Samples::discarded();
        let discarded = transact(client, &message, self.warmup, &mut none, 0, &now)?;
        let before = client.counters()?.retransmissions;
        transact(client, &message, self.length, &mut samples, discarded, &now)?;
        if samples.is_empty() {
            return Err(Error::NoSamples);
        }
        Ok(Outcome {
            memory_full: samples.is_full(self.length),
            samples: samples.into_ns(),
            discarded,
            retransmissions: client.counters()?.retransmissions - before,
        })
    }
}

/// Makes transactions for `length`, after `before`, and keeps round trips in `samples`; gives their number.
fn transact(
    client: &Client,
    message: &[u8],
    length: Length,
    samples: &mut Samples,
    before: u64,
    now: &impl Fn() -> u64,
) -> Result<u64, Error> {
    let (count, time) = match length {
        Length::Messages(count) => (count, u64::MAX),
        Length::Time(Nanos(0)) => (0, 0),
        Length::Time(time) => (u64::MAX, Clock::global().ns_to_ticks(time.0)),
    };
    let start = now();
    let mut done = 0;
    while done < count {
        let begin = now();
        let transaction = client.request(ECHO, message)?;
        client.finish(transaction, before + done)?;
        let end = now();
        client.release(transaction)?;
        done += 1;
        if !samples.push(end - begin) || end - start >= time {
            break;
        }
    }
    Ok(done)
}

/// A run in the form that is printed and stored. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`Case::Rtt`].
    pub case: Case,
    /// The transport, the CPUs and the clock of the measurement.
    #[serde(flatten)]
    pub setting: Setting,
    /// Size of a message in bytes.
    pub size: u64,
    /// Transactions that were discarded as warm-up.
    pub discarded: u64,
    /// Requests that were sent again.
    pub retransmissions: u64,
    /// True if it ended before its time because there was no memory left for samples.
    pub memory_full: bool,
    /// Round trips.
    pub rtt_ns: Summary,
}

impl Report {
    /// The report of a finished run.
    ///
    /// # Errors
    /// There is no sample.
    pub fn of(options: &Rtt, client: &Client, outcome: &Outcome) -> Result<Self, Error> {
        let samples: Vec<f64> = outcome.samples.iter().map(|&ns| ns as f64).collect();
        Ok(Report {
            case: Case::Rtt,
            setting: Setting::now(client),
            size: options.size.0,
            discarded: outcome.discarded,
            retransmissions: outcome.retransmissions,
            memory_full: outcome.memory_full,
            rtt_ns: Summary::of(&samples).map_err(|_| Error::NoSamples)?,
        })
    }
}

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let rtt = &self.rtt_ns;
        let head = format!(
            "rtt of {} over {}, {} B{}: {} transactions, {} requests sent again",
            self.setting.protocol,
            self.setting.over.transport,
            self.size,
            self.setting.with_faults(),
            show::count(rtt.n as u64),
            show::count(self.retransmissions),
        );
        let figures = [
            ("least", rtt.min),
            ("median", rtt.median),
            ("mean", rtt.mean),
            ("90 %", rtt.p90),
            ("99 %", rtt.p99),
            ("99.9 %", rtt.p999),
            ("greatest", rtt.max),
        ];
        let figures = figures.map(|(name, ns)| format!("{name} {}", show::time(ns)));
        let mut lines = vec![head, format!("RTT: {}", figures.join(", "))];
        if self.memory_full {
            lines.push("ended before its time, the memory for samples was full".into());
        }
        lines.into_iter().map(Part::Line).collect()
    }
}

//! `bandwidth`: as many transactions at once as the window holds, by size. Requests carry the bytes; replies are empty.

use std::collections::VecDeque;

use jitterlab_amvia::endpoint::Transaction;
use jitterlab_base::clock::Clock;
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_live::{Count, Publisher};
use serde::{Deserialize, Serialize};

use super::{Case, Setting};
use crate::handlers::TAKE;
use crate::{Client, Error};

/// The sizes of messages, if nothing is said: a short, a medium and bulk ones (Kaur, section 3.3).
pub const SIZES: [Bytes; 5] = [
    Bytes(32),
    Bytes(128),
    Bytes(512),
    Bytes(2_048),
    Bytes(8_192),
];

/// The measurement that is made.
#[derive(Debug, Clone)]
pub struct Bandwidth {
    /// Sizes of requests.
    pub sizes: Vec<Bytes>,
    /// The time that is discarded at the beginning of each.
    pub warmup: Nanos,
    /// The time that each is measured.
    pub duration: Nanos,
}

/// A report of the case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`Case::Bandwidth`].
    pub case: Case,
    /// The transport, the CPUs and the clock of the measurement.
    #[serde(flatten)]
    pub setting: Setting,
    /// A point for each size.
    pub points: Vec<Point>,
}

/// Transactions with requests of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Size of a request in bytes.
    pub size: u64,
    /// Transactions that ended in the time.
    pub transactions: u64,
    /// Requests that were sent again.
    pub retransmissions: u64,
    /// Transactions a second.
    pub transactions_per_second: f64,
    /// Bytes of requests a second.
    pub bytes_per_second: f64,
}

impl Bandwidth {
    /// Measures each size in turn.
    ///
    /// # Errors
    /// A message is too long, or a transaction does not end well.
    pub fn run(&self, client: &Client) -> Result<Report, Error> {
        let clock = Clock::global();
        self.run_by(client, move || clock.now())
    }

    /// The same by another time: `now` says what time it is, in ticks of [`Clock::global`].
    ///
    /// # Errors
    /// As those of [`Bandwidth::run`].
    pub fn run_by(&self, client: &Client, now: impl Fn() -> u64) -> Result<Report, Error> {
        let points = self.sizes.iter();
        let points = points.map(|&size| self.point(client, size, &now));
        Ok(Report {
            case: Case::Bandwidth,
            setting: Setting::now(client),
            points: points.collect::<Result<_, _>>()?,
        })
    }

    fn point(&self, client: &Client, size: Bytes, now: &impl Fn() -> u64) -> Result<Point, Error> {
        let message = client.message(size)?;
        let live = jitterlab_live::publisher();
        live.begin(&format!("{} {size}", client.options().protocol));
        let mut stream = Stream::new(client, &message);
        stream.run(self.warmup, Publisher::NOBODY, now)?;
        let before = client.counters()?.retransmissions;
        let (transactions, ticks) = stream.run(self.duration, live, now)?;
        stream.drain()?;
        let seconds = Clock::global().ticks_to_ns_f64(ticks) / 1e9;
        let per_second = transactions as f64 / seconds;
        Ok(Point {
            size: size.0,
            transactions,
            retransmissions: client.counters()?.retransmissions - before,
            transactions_per_second: per_second,
            bytes_per_second: per_second * size.0 as f64,
        })
    }
}

/// A stream of transactions: as many are under way as the window holds.
struct Stream<'a> {
    client: &'a Client,
    message: &'a [u8],
    window: usize,
    under_way: VecDeque<Transaction>,
    done: u64,
}

impl<'a> Stream<'a> {
    fn new(client: &'a Client, message: &'a [u8]) -> Self {
        let window = client.options().window.into();
        Stream {
            client,
            message,
            window,
            under_way: VecDeque::with_capacity(window),
            done: 0,
        }
    }

    /// Goes on for a time; gives the transactions that ended in it, and how long it was in ticks. Each is counted as it ends.
    fn run(
        &mut self,
        time: Nanos,
        live: Publisher,
        now: &impl Fn() -> u64,
    ) -> Result<(u64, u64), Error> {
        let time = Clock::global().ns_to_ticks(time.0);
        let (start, before) = (now(), self.done);
        loop {
            while self.under_way.len() < self.window {
                let made = self.client.request(TAKE, self.message)?;
                self.under_way.push_back(made);
            }
            self.end_one()?;
            live.count(Count::Messages, 1);
            live.count(Count::Bytes, self.message.len() as u64);
            let elapsed = now() - start;
            if elapsed >= time {
                return Ok((self.done - before, elapsed));
            }
        }
    }

    /// Waits for the oldest transaction: credits come back in order.
    fn end_one(&mut self) -> Result<(), Error> {
        if let Some(oldest) = self.under_way.pop_front() {
            self.client.finish(oldest, self.done)?;
            self.client.release(oldest)?;
            self.done += 1;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Error> {
        while !self.under_way.is_empty() {
            self.end_one()?;
        }
        Ok(())
    }
}

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let head = format!(
            "bandwidth of {} over {}, {} transactions at once{}",
            self.setting.protocol,
            self.setting.over.transport,
            self.setting.window,
            self.setting.with_faults(),
        );
        let names = ["size", "transactions/s", "bandwidth", "sent again"];
        let rows = self.points.iter().map(|point| {
            vec![
                Bytes(point.size).to_string(),
                show::number(point.transactions_per_second),
                show::bandwidth(point.bytes_per_second),
                show::count(point.retransmissions),
            ]
        });
        let names = names.map(String::from).to_vec();
        vec![
            Part::Line(head),
            Part::Table(std::iter::once(names).chain(rows).collect()),
        ]
    }
}

//! When a rank may send: Algorithm 3 of the paper (latency-variation, section 5.1), or as fast as it can.

use std::thread;
use std::time::Duration;

use jitterlab_base::clock::Clock;
use jitterlab_live::{Count, Publisher};
use jitterlab_load::bucket::Bucket;

/// The time of a rank that makes load. Nanoseconds of its clock.
pub struct Pace<'a> {
    clock: &'a Clock,
    /// None for as fast as it can.
    bucket: Option<Bucket>,
    start: u64,
    now: u64,
    last_sent: u64,
    longest_gap: u64,
    live: Publisher,
    message: u64,
}

/// Algorithm 3 holds the CPU between messages. A gap longer than this is slept through instead, but for its end: where
/// there are few CPUs, the level should be felt, not the waiting for it. As `jitterlab load` does it over sockets.
const LONG_GAP_NS: f64 = 20_000.0;
const AWAKE_NS: f64 = 8_000.0;
/// Nobody sleeps longer, so that the end is seen.
const LONGEST_NAP_NS: f64 = 1e6;

impl<'a> Pace<'a> {
    /// Time that begins now.
    pub fn new(clock: &'a Clock, bucket: Option<Bucket>) -> Pace<'a> {
        let now = clock.now();
        Pace {
            clock,
            bucket,
            start: now,
            now,
            last_sent: now,
            longest_gap: 0,
            live: Publisher::NOBODY,
            message: 0,
        }
    }

    /// The same, which publishes every message of so many bytes.
    pub fn publishing(self, live: Publisher, message: u64) -> Self {
        Pace {
            live,
            message,
            ..self
        }
    }

    /// Time goes by.
    pub fn pass(&mut self) {
        let now = self.clock.now();
        if let Some(bucket) = &mut self.bucket {
            bucket.fill((now - self.now) as f64);
        }
        self.now = now;
    }

    /// True if a message may go now. If so, it has gone.
    pub fn take(&mut self) -> bool {
        let may_go = self.bucket.as_mut().is_none_or(Bucket::take);
        if may_go {
            self.longest_gap = self.longest_gap.max(self.now - self.last_sent);
            self.last_sent = self.now;
            self.live.count(Count::Messages, 1);
            self.live.count(Count::Bytes, self.message);
        }
        may_go
    }

    /// There is nothing to send until the next message, but MPI may have something to do.
    pub fn stay(&self) {
        thread::yield_now();
    }

    /// There is nothing to do until the next message.
    pub fn rest(&self) {
        let wait_ns = self.bucket.as_ref().map_or(0.0, Bucket::wait_ns);
        if wait_ns > LONG_GAP_NS {
            let nap = (wait_ns - AWAKE_NS).min(LONGEST_NAP_NS);
            thread::sleep(Duration::from_nanos(nap as u64));
        } else {
            self.stay();
        }
    }

    /// The time that it has been, in nanoseconds.
    pub fn elapsed(&self) -> u64 {
        self.now - self.start
    }

    /// The longest time without a message, up to now.
    pub fn longest_gap(&self) -> u64 {
        self.longest_gap.max(self.now - self.last_sent)
    }
}

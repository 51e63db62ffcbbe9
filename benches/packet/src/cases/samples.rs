//! The memory for samples while they are taken, and their publication to whoever follows.

use jitterlab_base::clock::Clock;
use jitterlab_base::units::Nanos;
use jitterlab_live::{Publisher, Timing};

use super::length::Length;

/// A sample takes at least so long, where nothing else is said: of a run whose length is a time there is memory for so many.
const LEAST: Nanos = Nanos(2_000);
/// Memory for samples: at most a gigabyte.
const MOST_SAMPLES: u64 = 1 << 27;

/// The samples of one point: times in ticks.
#[derive(Debug)]
pub struct Samples {
    ticks: Vec<u64>,
    clock: &'static Clock,
    live: Publisher,
}

impl Samples {
    /// Room for samples of a run of this length; `what` says what is measured, to whoever follows. The memory has been written
    /// to, so that no page fault is measured.
    pub fn room(length: Length, what: impl std::fmt::Display) -> Self {
        Samples::room_for(length, LEAST, what)
    }

    /// The same for samples that each take at least so long.
    pub fn room_for(length: Length, least: Nanos, what: impl std::fmt::Display) -> Self {
        let capacity = match length {
            Length::Messages(count) => count,
            Length::Time(time) => time.0 / least.0.max(1) + 1_000,
        };
        let mut ticks = vec![u64::MAX; capacity.min(MOST_SAMPLES) as usize];
        ticks.clear();
        let live = jitterlab_live::publisher();
        live.begin(&what.to_string());
        Samples {
            ticks,
            clock: Clock::global(),
            live,
        }
    }

    /// The same, and whoever follows is told when messages are sent.
    pub fn timed(self, timing: Timing) -> Self {
        self.live.timed(timing);
        self
    }

    /// No room: what is measured in a warm-up is discarded.
    pub fn discarded() -> Self {
        Samples {
            ticks: Vec::new(),
            clock: Clock::global(),
            live: Publisher::NOBODY,
        }
    }

    /// Keeps a sample if there is room; whether there is room for another. There always is where samples are discarded.
    #[inline(always)]
    pub fn push(&mut self, ticks: u64) -> bool {
        if self.ticks.capacity() == 0 {
            return true;
        }
        // No more is kept than there is room for: nothing is allocated.
        if self.ticks.len() < self.ticks.capacity() {
            self.ticks.push(ticks);
            self.live.sample(|| self.clock.ticks_to_ns(ticks));
        }
        self.ticks.len() < self.ticks.capacity()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.ticks.is_empty()
    }

    /// True if samples for a time have filled their memory.
    pub fn is_full(&self, length: Length) -> bool {
        matches!(length, Length::Time(_)) && self.ticks.len() == self.ticks.capacity()
    }

    /// They in nanoseconds, in the order in which they were taken.
    pub fn into_ns(self) -> Vec<u64> {
        let clock = self.clock;
        self.ticks
            .into_iter()
            .map(|t| clock.ticks_to_ns(t))
            .collect()
    }
}

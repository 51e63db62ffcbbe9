use jitterlab_injector::clock::{Clock, Source};

/// The clock of a rank: the processor's counter where it can be relied on, which is read in a fraction of the time that the
/// system's clock takes, set by the system's `CLOCK_MONOTONIC` when it is made.
#[derive(Debug, Clone)]
pub struct RankClock {
    counter: &'static Clock,
    set_ticks: u64,
    set_ns: u64,
}

impl RankClock {
    /// A clock that is set now.
    pub fn new() -> RankClock {
        let (counter, system) = (Clock::global(), Clock::monotonic());
        // The reading of the system's clock between the two nearest readings of the counter.
        let (width, before, set_ns) = (0..32)
            .map(|_| {
                let (before, ns, after) = (counter.now(), system.now(), counter.now());
                (after.saturating_sub(before), before, ns)
            })
            .min()
            .unwrap_or_default();
        RankClock {
            counter,
            set_ticks: before + width / 2,
            set_ns,
        }
    }

    /// A reading, in ticks.
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        self.counter.now()
    }

    /// A reading in ticks as nanoseconds.
    pub fn ns(&self, ticks: u64) -> u64 {
        self.set_ns
            + self
                .counter
                .ticks_to_ns(ticks.saturating_sub(self.set_ticks))
    }

    /// A reading, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.ns(self.ticks())
    }

    /// What is read.
    pub fn source(&self) -> Source {
        self.counter.source()
    }

    /// The time that a reading takes, in nanoseconds.
    pub fn read_cost_ns(&self) -> f64 {
        self.counter.read_cost_ns()
    }
}

impl Default for RankClock {
    fn default() -> RankClock {
        RankClock::new()
    }
}

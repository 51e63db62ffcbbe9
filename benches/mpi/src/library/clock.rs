use jitterlab_base::clock::{Clock, Source};

/// The clock of a rank: the processor's counter where it can be relied on, which is read in a fraction of the time that the
/// system's clock takes. Its readings are ticks; [`RankClock::scale`] says after a measurement when they were.
#[derive(Debug, Clone)]
pub struct RankClock {
    counter: &'static Clock,
    begin: Moment,
}

/// A moment by both clocks.
#[derive(Debug, Clone, Copy)]
struct Moment {
    ticks: u64,
    /// `CLOCK_MONOTONIC`.
    ns: u64,
}

/// The ticks of a clock as nanoseconds of its system's `CLOCK_MONOTONIC`, by a moment before a measurement and one after it:
/// both are known to some 20 ns, and so is every moment between them, however long it was. (The counter's rate
/// alone, from the few milliseconds in which a process calibrates it, would be wrong by microseconds within a second.)
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    begin: Moment,
    end: Moment,
}

impl RankClock {
    /// A clock that begins now.
    pub fn new() -> RankClock {
        let counter = Clock::global();
        RankClock {
            counter,
            begin: Moment::now(counter),
        }
    }

    /// A reading, in ticks.
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        self.counter.now()
    }

    /// About how many nanoseconds have passed since a reading, in ticks.
    pub fn since(&self, ticks: u64) -> f64 {
        self.counter
            .ticks_to_ns_f64(self.ticks().saturating_sub(ticks))
    }

    /// About how many nanoseconds there are between two readings, in ticks.
    #[inline(always)]
    pub fn between(&self, from: u64, to: u64) -> u64 {
        self.counter.ticks_to_ns(to.saturating_sub(from))
    }

    /// The scale from its readings, from its beginning until now, to nanoseconds.
    pub fn scale(&self) -> Scale {
        Scale {
            begin: self.begin,
            end: Moment::now(self.counter),
        }
    }

    /// The counter that is read.
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

impl Moment {
    /// A reading of the system's clock between the two nearest readings of the counter.
    fn now(counter: &Clock) -> Moment {
        let system = Clock::monotonic();
        (0..32)
            .map(|_| {
                let (before, ns, after) = (counter.now(), system.now(), counter.now());
                (after.saturating_sub(before), before, ns)
            })
            .min()
            .map(|(width, before, ns)| Moment {
                ticks: before + width / 2,
                ns,
            })
            .unwrap_or(Moment { ticks: 0, ns: 0 })
    }
}

impl Scale {
    /// A reading in ticks as nanoseconds.
    pub fn ns(&self, ticks: u64) -> u64 {
        let whole = u128::from(self.end.ticks.saturating_sub(self.begin.ticks)).max(1);
        let whole_ns = u128::from(self.end.ns.saturating_sub(self.begin.ns));
        let since = u128::from(ticks.saturating_sub(self.begin.ticks));
        self.begin.ns + (since * whole_ns / whole) as u64
    }

    /// The scale as numbers that go to another rank.
    pub fn to_words(self) -> [u64; 4] {
        [self.begin.ticks, self.begin.ns, self.end.ticks, self.end.ns]
    }

    /// The scale from which [`Scale::to_words`] made these.
    pub fn from_words([begin_ticks, begin_ns, end_ticks, end_ns]: [u64; 4]) -> Scale {
        let moment = |ticks, ns| Moment { ticks, ns };
        Scale {
            begin: moment(begin_ticks, begin_ns),
            end: moment(end_ticks, end_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_moments_are_met_whatever_the_rate_between_them() {
        // Years of uptime, an hour of a counter of 3 GHz.
        let begin = [3_u64 << 58, 1 << 58];
        let hour = [3 * 3_600_000_000_124, 3_600_000_000_456_u64];
        let scale = Scale::from_words([begin[0], begin[1], begin[0] + hour[0], begin[1] + hour[1]]);
        assert_eq!(scale.ns(begin[0]), begin[1]);
        assert_eq!(scale.ns(begin[0] + hour[0]), begin[1] + hour[1]);
        assert_eq!(scale.ns(begin[0] + hour[0] / 2), begin[1] + hour[1] / 2);
        assert_eq!(
            Scale::from_words(scale.to_words()).to_words(),
            scale.to_words()
        );
    }

    #[test]
    fn a_clock_that_has_not_moved_stands_still() {
        assert_eq!(Scale::from_words([5, 7, 5, 7]).ns(6), 7);
    }
}

//! The record of a probe's gaps: memory that is there before it starts.

use jitterlab_base::clock::Clock;
use jitterlab_live::Publisher;
use jitterlab_stats::histogram::Histogram;

/// The gaps of a CPU that are kept one by one, 16 bytes each. A CPU that nobody has tuned has 250 to 1,000
/// gaps a second, so this is enough for 100 to 400 s. Beyond it, gaps are still counted and summed.
pub const KEPT: usize = 100_000;

/// The time between two readings of the clock, longer than the threshold; in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The last reading before.
    pub start: u64,
    /// The difference to the first reading after.
    pub length: u64,
}

/// The time that was lost in one of the equal intervals of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Gaps that began in it.
    pub gaps: u64,
    /// Ticks of gaps that fell into it.
    pub lost: u64,
}

/// The gaps of one CPU.
#[derive(Debug, Clone)]
pub struct Record {
    clock: Clock,
    live: Publisher,
    begin: u64,
    /// Ticks of an interval.
    width: u64,
    /// The last gap, not counted yet; of length 0 if there is none.
    open: Gap,
    kept: usize,
    gaps: Vec<Gap>,
    count: u64,
    lost: u64,
    longest: u64,
    lengths: Histogram,
    intervals: Vec<Interval>,
}

impl Record {
    /// An empty record with memory for everything that will be written, touched. `width` is the
    /// length of an interval in ticks, above 0; at most `most` gaps are kept.
    pub fn new(clock: &Clock, width: u64, intervals: usize, most: usize) -> Self {
        // It is not zero: zeros are memory that the kernel has only promised.
        const UNUSED: Gap = Gap {
            start: u64::MAX,
            length: u64::MAX,
        };
        const UNTOUCHED: Interval = Interval {
            gaps: u64::MAX,
            lost: u64::MAX,
        };
        let mut intervals = vec![UNTOUCHED; intervals];
        intervals.fill(Interval { gaps: 0, lost: 0 });
        Record {
            clock: clock.clone(),
            live: Publisher::NOBODY,
            begin: 0,
            width: width.max(1),
            open: Gap {
                start: 0,
                length: 0,
            },
            kept: 0,
            gaps: vec![UNUSED; most],
            count: 0,
            lost: 0,
            longest: 0,
            lengths: Histogram::new(),
            intervals,
        }
    }

    /// Says when the first interval begins.
    pub fn begin_at(&mut self, reading: u64) {
        self.begin = reading;
        self.open.start = reading;
    }

    /// Publishes each gap from now on, too.
    pub fn publish(&mut self, live: Publisher) {
        live.begin("gaps");
        self.live = live;
    }

    /// Writes a gap down. Neither allocates nor calls the system. Out of line, so that the loop
    /// that calls it stays short.
    ///
    /// A gap that begins where the last one ended is the same gap: between them the CPU did nothing
    /// but write that one down, with caches that whoever had it before has emptied.
    #[inline(never)]
    pub fn push(&mut self, start: u64, length: u64) {
        if start == self.open.start + self.open.length {
            self.open.length += length;
        } else {
            self.close();
            self.open = Gap { start, length };
        }
    }

    /// Counts the last gap, which is open until the next one shows that it has ended.
    pub fn close(&mut self) {
        let gap = self.open;
        if gap.length == 0 {
            return;
        }
        self.count += 1;
        self.lost += gap.length;
        self.longest = self.longest.max(gap.length);
        let ns = self.clock.ticks_to_ns(gap.length);
        self.lengths.record(ns);
        self.live.sample(|| ns);
        if let Some(place) = self.gaps.get_mut(self.kept) {
            *place = gap;
            self.kept += 1;
        }
        self.divide(gap);
        self.open.length = 0;
    }

    /// A gap counts where it begins; its time is divided among the intervals that it touches.
    fn divide(&mut self, gap: Gap) {
        let mut from = gap.start - self.begin;
        let end = from + gap.length;
        let mut index = (from / self.width) as usize;
        if let Some(interval) = self.intervals.get_mut(index) {
            interval.gaps += 1;
        }
        while from < end {
            let Some(interval) = self.intervals.get_mut(index) else {
                return;
            };
            index += 1;
            let until = end.min(index as u64 * self.width);
            interval.lost += until - from;
            from = until;
        }
    }

    /// The first gaps that were closed, at most as many as there was memory for.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps[..self.kept]
    }

    /// The number of gaps.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time of all gaps, in ticks.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The longest, in ticks; 0 if there was none.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The lengths of all gaps, in nanoseconds.
    pub fn lengths(&self) -> &Histogram {
        &self.lengths
    }

    /// The run in equal intervals.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Ticks of an interval.
    pub fn width(&self) -> u64 {
        self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_fit_is_counted_all_the_same() {
        let clock = Clock::monotonic();
        let mut record = Record::new(&clock, 1_000, 4, 2);
        record.begin_at(100);
        for start in [150, 1_000, 3_700] {
            record.push(start, 300);
        }
        record.close();
        assert_eq!((record.gaps().len(), record.count()), (2, 3));
        assert_eq!((record.lost(), record.longest()), (900, 300));
        assert_eq!(record.lengths(), &Histogram::of(&[300.0; 3]));
        let lost: Vec<u64> = record.intervals().iter().map(|i| i.lost).collect();
        // The second gap lies across the first boundary, at 1,100.
        assert_eq!(lost, [400, 200, 0, 300]);
        let gaps: Vec<u64> = record.intervals().iter().map(|i| i.gaps).collect();
        assert_eq!(gaps, [2, 0, 0, 1]);
    }

    #[test]
    fn gaps_without_an_iteration_between_them_are_one() {
        let mut record = Record::new(&Clock::monotonic(), 1_000, 4, 8);
        record.begin_at(100);
        for (start, length) in [(100, 50), (150, 250), (420, 300), (720, 10)] {
            record.push(start, length);
        }
        record.close();
        record.close();
        let found: Vec<(u64, u64)> = record.gaps().iter().map(|g| (g.start, g.length)).collect();
        assert_eq!(found, [(100, 300), (420, 310)]);
        assert_eq!((record.count(), record.lost()), (2, 610));
    }

    proptest! {
        #[test]
        fn intervals_hold_all_that_was_lost(
            gaps in proptest::collection::vec((0u64..500, 1u64..5_000), 0..50)
        ) {
            let clock = Clock::monotonic();
            let mut record = Record::new(&clock, 700, 1_000, 10);
            let mut now = 40;
            record.begin_at(now);
            for (pause, length) in gaps {
                record.push(now + pause, length);
                now += pause + length;
            }
            record.close();
            let lost: u64 = record.intervals().iter().map(|i| i.lost).sum();
            prop_assert_eq!(lost, record.lost());
            prop_assert!(record.intervals().iter().all(|i| i.lost <= 700));
            let counted: u64 = record.intervals().iter().map(|i| i.gaps).sum();
            prop_assert_eq!(counted, record.count());
            prop_assert_eq!(record.lengths().count(), record.count());
        }
    }
}

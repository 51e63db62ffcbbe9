//! The next step of a sender: Algorithm 3, with time passed in.

use std::time::Duration;

use jitterlab_base::units::Nanos;
use jitterlab_stats::gaps::Gaps;

use crate::bucket::Bucket;

/// The time over which the bytes sent are added up.
const INTERVAL: Nanos = Nanos(100_000_000);
/// Algorithm 3 holds the CPU between messages. A gap longer than this is slept through instead, but
/// for its end: where there are few CPUs, the level should be felt, not the waiting for it.
const LONG_GAP_NS: f64 = 20_000.0;
const AWAKE_NS: f64 = 8_000.0;
/// Whoever stops the load does not wait for a gap that takes seconds.
const LONGEST_NAP_NS: f64 = 50e6;

/// The next step of a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Next {
    /// It sends a message, and tells [`Pace::sent`].
    Send,
    /// It asks again at once.
    Look,
    /// It sleeps, and asks again.
    Sleep(Duration),
    /// The time of the load is over.
    End,
}

/// A load that is under way. Times are in nanoseconds since it began.
pub(crate) struct Pace {
    /// None of a level of 0, at which nothing is sent.
    bucket: Option<Bucket>,
    duration: u64,
    now: u64,
    last_sent: u64,
    sent: Sent,
}

/// The messages that were sent.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sent {
    pub(crate) messages: u64,
    /// Messages that the sender's system refused.
    pub(crate) refused: u64,
    /// The longest time without a message, to the end of the load; 0 of a level of 0.
    pub(crate) longest_gap: u64,
    /// The time that the load has lasted.
    pub(crate) time: u64,
    /// Messages in each tenth of a second.
    pub(crate) intervals: Vec<u64>,
}

impl Pace {
    /// A load that begins now, with these gaps between messages, or without any.
    pub(crate) fn new(gaps: Option<Gaps>, duration: Nanos) -> Self {
        Pace {
            bucket: gaps.map(Bucket::new),
            duration: duration.0,
            now: 0,
            last_sent: 0,
            sent: Sent::default(),
        }
    }

    /// The step that is to be done now.
    pub(crate) fn next(&mut self, now: u64) -> Next {
        let passed = now - self.now;
        self.now = now;
        if now >= self.duration {
            return Next::End;
        }
        let wait_ns = match &mut self.bucket {
            None => f64::INFINITY,
            Some(bucket) => {
                bucket.fill(passed as f64);
                if bucket.take() {
                    return Next::Send;
                }
                bucket.wait_ns()
            }
        };
        if wait_ns <= LONG_GAP_NS {
            return Next::Look;
        }
        let left = (self.duration - now) as f64;
        let nap = (wait_ns - AWAKE_NS).min(left).min(LONGEST_NAP_NS);
        Next::Sleep(Duration::from_nanos(nap as u64))
    }

    /// The message that was due has gone out, or was refused.
    pub(crate) fn sent(&mut self, has_gone: bool) {
        if has_gone {
            let interval = (self.now / INTERVAL.0) as usize;
            let intervals = &mut self.sent.intervals;
            intervals.resize(intervals.len().max(interval + 1), 0);
            intervals[interval] += 1;
            self.sent.messages += 1;
        } else {
            self.sent.refused += 1;
        }
        self.sent.longest_gap = self.sent.longest_gap.max(self.now - self.last_sent);
        self.last_sent = self.now;
    }

    /// The messages that were sent until now.
    pub(crate) fn end(self) -> Sent {
        let last_gap = match self.bucket {
            Some(_) => self.now - self.last_sent,
            None => 0,
        };
        Sent {
            longest_gap: self.sent.longest_gap.max(last_gap),
            time: self.now,
            ..self.sent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Runs a load whose looks take `look` ns, whose sends take `send` ns, and whose naps end `late` ns too late.
    fn run(mut pace: Pace, [look, send, late]: [u64; 3]) -> (Sent, Vec<u64>) {
        let (mut now, mut times) = (0, Vec::new());
        loop {
            match pace.next(now) {
                Next::Send => {
                    times.push(now);
                    pace.sent(true);
                    now += send;
                }
                Next::Look => now += look,
                Next::Sleep(nap) => now += nap.as_nanos() as u64 + late,
                Next::End => return (pace.end(), times),
            }
        }
    }

    #[test]
    fn messages_go_when_their_gaps_are_over_and_naps_end_before() {
        let (seed, mean) = (7, 100_000.0);
        let pace = Pace::new(Some(Gaps::new(seed, mean)), Nanos(500 * MS));
        let (sent, times) = run(pace, [100, 1_000, 2_000]);
        let mut gaps = Gaps::new(seed, mean);
        let mut due = 0.0;
        for &time in &times {
            due += gaps.draw();
            // A look late, and as many sends as stood before it.
            let late = time as f64 - due;
            assert!((0.0..10_000.0).contains(&late), "{late} at {time}");
        }
        assert_eq!(sent.messages, times.len() as u64);
        assert_eq!(sent.intervals.len(), 5);
        assert_eq!(sent.intervals.iter().sum::<u64>(), sent.messages);
        let ends = times.iter().skip(1).chain([&sent.time]);
        let gaps = times.iter().zip(ends).map(|(a, b)| b - a).max();
        assert_eq!(sent.longest_gap, gaps.unwrap().max(times[0]));
    }

    #[test]
    fn who_was_held_up_catches_up() {
        // A nap that takes 20 ms too long, every time.
        let gaps = |seed| Some(Gaps::new(seed, 1e6));
        let (late, _) = run(Pace::new(gaps(3), Nanos(900 * MS)), [100, 1_000, 20 * MS]);
        let (sent, _) = run(Pace::new(gaps(3), Nanos(900 * MS)), [100, 1_000, 0]);
        assert!(
            late.messages.abs_diff(sent.messages) <= 40,
            "{late:?} {sent:?}"
        );
    }

    #[test]
    fn no_level_sends_nothing_and_sleeps_to_the_end() {
        let mut pace = Pace::new(None, Nanos(120 * MS));
        assert_eq!(pace.next(0), Next::Sleep(Duration::from_millis(50)));
        assert_eq!(pace.next(100 * MS), Next::Sleep(Duration::from_millis(20)));
        assert_eq!(pace.next(120 * MS), Next::End);
        let time = 120 * MS;
        assert_eq!(
            pace.end(),
            Sent {
                time,
                ..Sent::default()
            }
        );
    }

    #[test]
    fn what_is_refused_is_counted_and_not_sent() {
        let mut pace = Pace::new(Some(Gaps::new(1, 1.0)), Nanos(MS));
        assert_eq!(pace.next(1_000), Next::Send);
        pace.sent(false);
        let sent = pace.end();
        assert_eq!((sent.messages, sent.refused), (0, 1));
        assert!(sent.intervals.is_empty());
    }
}

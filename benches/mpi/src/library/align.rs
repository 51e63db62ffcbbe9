//! The clocks of the ranks against rank 0's.
//!
//! Rank 0 asks another rank for its time, many times. The answer was read somewhere between the question and its arrival.
//! The middle of the shortest round trip is taken, and the error is at most half of that round trip (Cristian 1989,
//! "Probabilistic clock synchronization", Distributed Computing 3, section 3). This is done before the run and after it. In
//! between, the distance is taken to change evenly: counters of one kind drift apart by a constant rate over the time of a
//! run. Questions and answers are kept in ticks until the run is over: only then is it known how many nanoseconds each
//! clock's ticks are ([`Scale`]).

use jitterlab_mpi_results::library;
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::topology::Communicator as _;

use super::{RankClock, Scale};
use crate::comm::Comm;

/// The offset of a clock from rank 0's at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The moment, in nanoseconds of the clock itself.
    pub at_ns: u64,
    /// The offset, in nanoseconds; positive if it was ahead.
    pub offset_ns: f64,
    /// The greatest error of the offset, in nanoseconds.
    pub error_ns: f64,
}

/// The offset of a clock from rank 0's during a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alignment {
    before: Reading,
    after: Reading,
}

const TAG: mpi::Tag = 2;
/// Questions to each rank.
const ROUND_TRIPS: usize = 100;

/// A question and its answer, in ticks of the two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// The time from the question to the answer's arrival. It is the first field, so answers are ordered by it.
    round_trip: u64,
    asked: u64,
    theirs: u64,
}

/// The best answer of every other rank, at rank 0; elsewhere none. All ranks call it at the same time.
pub fn ask(comm: &Comm, clock: &RankClock) -> Vec<Answer> {
    if comm.rank() != 0 {
        answer(comm, || [clock.ticks()], ROUND_TRIPS);
        return Vec::new();
    }
    let best = |rank| {
        (0..ROUND_TRIPS)
            .map(|_| {
                let asked = clock.ticks();
                let [theirs] = question(comm, rank);
                Answer {
                    round_trip: clock.ticks().saturating_sub(asked),
                    asked,
                    theirs,
                }
            })
            .min()
    };
    (1..comm.size()).filter_map(best).collect()
}

/// The scale of every other rank's clock, at rank 0; elsewhere none. All ranks call it at the same time.
pub fn scales(comm: &Comm, own: &Scale) -> Vec<Scale> {
    if comm.rank() != 0 {
        answer(comm, || own.to_words(), 1);
        return Vec::new();
    }
    (1..comm.size())
        .map(|rank| Scale::from_words(question(comm, rank)))
        .collect()
}

/// Asks a rank for what it answers. Each way goes a message of one size: see docs/mpi.md about what a message more in one direction does.
fn question<const WORDS: usize>(comm: &Comm, rank: usize) -> [u64; WORDS] {
    let peer = comm.bare().process_at_rank(rank as i32);
    let mut words = [0_u64; WORDS];
    peer.send_with_tag(&words[..], TAG);
    peer.receive_into_with_tag(&mut words[..], TAG);
    words
}

/// Answers so many questions of rank 0.
fn answer<const WORDS: usize>(comm: &Comm, with: impl Fn() -> [u64; WORDS], questions: usize) {
    let peer = comm.bare().process_at_rank(0);
    let mut words = [0_u64; WORDS];
    for _ in 0..questions {
        peer.receive_into_with_tag(&mut words[..], TAG);
        words = with();
        peer.send_with_tag(&words[..], TAG);
    }
}

impl Reading {
    /// Rank 0's of its own clock.
    const OWN: Reading = Reading {
        at_ns: 0,
        offset_ns: 0.0,
        error_ns: 0.0,
    };

    /// The reading from an answer, by the scales of rank 0's clock and of the other.
    fn of(answer: &Answer, own: &Scale, other: &Scale) -> Reading {
        let asked = own.ns(answer.asked);
        let half = (own.ns(answer.asked + answer.round_trip) - asked) as f64 / 2.0;
        let theirs = other.ns(answer.theirs);
        Reading {
            at_ns: theirs,
            // The two clocks may have begun years apart: their difference is taken in whole nanoseconds.
            offset_ns: theirs.wrapping_sub(asked).cast_signed() as f64 - half,
            error_ns: half,
        }
    }
}

impl Alignment {
    /// The alignment from readings of one clock before and after a run.
    pub fn between(before: Reading, after: Reading) -> Alignment {
        Alignment { before, after }
    }

    /// Those of all ranks, of what the others answered before and after a run, by the scales of rank 0's clock and of theirs.
    pub(super) fn of_all(
        own: &Scale,
        others: &[Scale],
        before: &[Answer],
        after: &[Answer],
    ) -> Vec<Alignment> {
        let others = others.iter().zip(before).zip(after);
        let others = others.map(|((other, before), after)| {
            let reading = |answer| Reading::of(answer, own, other);
            Alignment::between(reading(before), reading(after))
        });
        std::iter::once(Alignment::between(Reading::OWN, Reading::OWN))
            .chain(others)
            .collect()
    }

    /// A time of this clock, in nanoseconds, on rank 0's.
    pub fn on_rank_0(&self, ns: u64) -> i64 {
        let since = |begin: u64| ns.wrapping_sub(begin).cast_signed() as f64;
        let whole = self.after.at_ns.wrapping_sub(self.before.at_ns) as f64;
        let share = if whole > 0.0 {
            since(self.before.at_ns) / whole
        } else {
            0.0
        };
        let offset = self.before.offset_ns + share * (self.after.offset_ns - self.before.offset_ns);
        ns.cast_signed().wrapping_sub(offset.round() as i64)
    }

    /// The greatest error of a time on rank 0's clock, in nanoseconds, if the clocks drift evenly: a mean of two
    /// offsets is not more wrong than either.
    pub fn error_ns(&self) -> f64 {
        self.before.error_ns.max(self.after.error_ns)
    }

    /// The alignment as it is printed.
    pub fn line(&self) -> library::Alignment {
        library::Alignment {
            offset_before_ns: self.before.offset_ns,
            offset_after_ns: self.after.offset_ns,
            error_ns: self.error_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_drifts_is_followed() {
        // It is 1 us ahead at 10 us, and 2 us ahead at 110 us of rank 0's time; questions take 400 ns and 600 ns.
        // Ticks are half a nanosecond here, and a third there.
        let own = Scale::from_words([0, 0, 400_000, 200_000]);
        let other = Scale::from_words([0, 0, 600_000, 200_000]);
        let answer = |asked: u64, round_trip: u64, theirs: u64| Answer {
            round_trip: 2 * round_trip,
            asked: 2 * asked,
            theirs: 3 * theirs,
        };
        let before = answer(10_000 - 200, 400, 11_000);
        let after = answer(110_000 - 300, 600, 112_000);
        let both = Alignment::of_all(&own, &[other], &[before], &[after]);
        assert_eq!((both.len(), both[0].on_rank_0(61_500)), (2, 61_500));
        let alignment = both[1];
        assert_eq!(alignment.on_rank_0(11_000), 10_000);
        assert_eq!(alignment.on_rank_0(112_000), 110_000);
        assert_eq!(alignment.on_rank_0(61_500), 60_000);
        assert_eq!(alignment.error_ns(), 300.0);
    }

    #[test]
    fn a_clock_that_began_later_is_behind() {
        let reading = Reading {
            at_ns: 50,
            offset_ns: -(2_f64.powi(60)),
            error_ns: 50.0,
        };
        let alignment = Alignment::between(reading, reading);
        assert!((alignment.on_rank_0(50) - (1 << 60)).abs() <= 1 << 8);
    }
}

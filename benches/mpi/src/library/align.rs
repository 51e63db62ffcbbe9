//! The clocks of the ranks against rank 0's.
//!
//! Rank 0 asks another rank for its time, many times. The answer was read somewhere between the question and its
//! arrival: of the round trip that took least, the middle is taken, and the error is at most half of that round trip
//! (Cristian 1989, "Probabilistic clock synchronization", Distributed Computing 3, section 3). This is done before
//! the run and after it. In between the distance is taken to change evenly: counters of one kind drift apart by a
//! constant rate over the time of a run, and on one machine by as much as each process is wrong about their rate.

use mpi::point_to_point::{Destination as _, Source as _};
use mpi::topology::Communicator as _;
use serde::Serialize;

use super::RankClock;
use crate::comm::Comm;

/// How far a clock was ahead of rank 0's at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The moment, in nanoseconds of the clock itself.
    pub at_ns: u64,
    /// How far it was ahead, in nanoseconds.
    pub offset_ns: f64,
    /// By how much that is wrong at most, in nanoseconds.
    pub error_ns: f64,
}

/// How far a clock is ahead of rank 0's during a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alignment {
    before: Reading,
    after: Reading,
}

/// An alignment, as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AlignmentLine {
    offset_before_ns: f64,
    offset_after_ns: f64,
    error_ns: f64,
}

const TAG: mpi::Tag = 2;
/// Questions to each rank.
const ROUND_TRIPS: usize = 100;

/// A reading of every rank's clock, at rank 0; elsewhere none. All ranks call it at the same time.
pub fn read(comm: &Comm, clock: &RankClock) -> Vec<Reading> {
    if comm.rank() != 0 {
        answer(comm, clock);
        return Vec::new();
    }
    let own = Reading {
        at_ns: clock.now_ns(),
        offset_ns: 0.0,
        error_ns: 0.0,
    };
    let others = (1..comm.size()).map(|rank| ask(comm, clock, rank));
    std::iter::once(own).chain(others).collect()
}

fn ask(comm: &Comm, clock: &RankClock, rank: usize) -> Reading {
    let peer = comm.bare().process_at_rank(rank as i32);
    let mut theirs = [0_u64];
    (0..ROUND_TRIPS)
        .map(|_| {
            let asked = clock.now_ns();
            peer.send_with_tag(&theirs[..], TAG);
            peer.receive_into_with_tag(&mut theirs[..], TAG);
            (clock.now_ns() - asked, asked, theirs[0])
        })
        .min()
        .map_or(Reading::NONE, |(round_trip, asked, theirs)| {
            Reading::of(asked, round_trip, theirs)
        })
}

fn answer(comm: &Comm, clock: &RankClock) {
    let peer = comm.bare().process_at_rank(0);
    let mut time = [0_u64];
    for _ in 0..ROUND_TRIPS {
        peer.receive_into_with_tag(&mut time[..], TAG);
        time = [clock.now_ns()];
        peer.send_with_tag(&time[..], TAG);
    }
}

impl Reading {
    /// What is known without a question.
    const NONE: Reading = Reading {
        at_ns: 0,
        offset_ns: 0.0,
        error_ns: f64::INFINITY,
    };

    /// Of a question that was asked, of its round trip, and of the answer, in nanoseconds.
    fn of(asked: u64, round_trip: u64, theirs: u64) -> Reading {
        let half = round_trip as f64 / 2.0;
        Reading {
            at_ns: theirs,
            // The two clocks may have begun years apart: their difference is taken in whole nanoseconds.
            offset_ns: theirs.wrapping_sub(asked).cast_signed() as f64 - half,
            error_ns: half,
        }
    }
}

impl Alignment {
    /// The alignments of clocks that were read before and after a run.
    pub fn between(before: Vec<Reading>, after: Vec<Reading>) -> Vec<Alignment> {
        before
            .into_iter()
            .zip(after)
            .map(|(before, after)| Alignment { before, after })
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

    /// By how much a time on rank 0's clock is wrong at most, in nanoseconds, if the clocks drift evenly: a mean of
    /// two offsets is not more wrong than either.
    pub fn error_ns(&self) -> f64 {
        self.before.error_ns.max(self.after.error_ns)
    }

    /// As it is printed.
    pub fn line(&self) -> AlignmentLine {
        AlignmentLine {
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
        let before = Reading::of(10_000 - 200, 400, 11_000);
        let after = Reading::of(110_000 - 300, 600, 112_000);
        let alignment = Alignment { before, after };
        assert_eq!(alignment.on_rank_0(11_000), 10_000);
        assert_eq!(alignment.on_rank_0(112_000), 110_000);
        assert_eq!(alignment.on_rank_0(61_500), 60_000);
        assert_eq!(alignment.error_ns(), 300.0);
    }

    #[test]
    fn a_clock_that_began_later_is_behind() {
        let reading = Reading::of(1 << 60, 100, 50);
        let alignment = Alignment {
            before: reading,
            after: reading,
        };
        assert!((alignment.on_rank_0(50) - (1 << 60)).abs() <= 1 << 8);
    }
}

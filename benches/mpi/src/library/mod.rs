//! The library suite: what an MPI's own operations take. Every sample of every rank is kept, and on clocks that are
//! aligned ([`Alignment`]), so that the time until the last rank has arrived can be told from the operation itself.

mod align;
mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod bench;
mod clock;
mod halo_exchange;
mod ping_pong;
mod point;
mod reduce_scatter;
mod timeline;

use jitterlab_base::units::Nanos;

use crate::comm::Comm;

pub use align::{Alignment, Reading};
pub use bench::Bench;
pub use clock::{RankClock, Scale};
pub use jitterlab_mpi_results::library::{Figures, Sample};
pub use point::point;
pub use timeline::{Lane, Timeline};

/// An operation that is measured.
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// A line about what it does, and whose size is the size.
    pub title: &'static str,
    /// Sizes are multiples of so many bytes; 0 of an operation that has no size.
    pub unit: usize,
    /// The least size. A message may be empty; of a collective of nothing some MPIs make nothing, and some an error.
    pub least: usize,
    /// True if a rank has a buffer with a part of the size for every rank.
    pub parts: bool,
    /// The meaning of a sample.
    pub sample: Sample,
    /// The options that it has a use for.
    pub options: &'static [Choice],
    /// Measures it; called on every rank.
    pub run: fn(&mut Bench<'_>),
}

/// An option that not every case has a use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// [`Plan::non_blocking`].
    NonBlocking,
    /// [`Plan::dimensions`].
    Dimensions,
}

/// The plan of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Bytes, as the case counts them.
    pub size: usize,
    /// True if messages go by non-blocking calls.
    pub non_blocking: bool,
    /// Dimensions that the ranks are laid out in: 2 or 3.
    pub dimensions: usize,
    /// The number of operations that are measured, or their time.
    pub length: Length,
    /// The time of the warm-up, at least.
    pub warmup: Nanos,
}

/// The length of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many operations.
    Operations(usize),
    /// The number of operations that take about this time after the warm-up.
    Time(Nanos),
}

/// Times of all ranks together, at most. Rank 0 has all of them, and what they are made into: about 64 bytes for each, 4 GiB.
const MOST_TIMES: usize = 1 << 26;

/// Operations of a run on so many ranks, at most.
pub fn most_operations(ranks: usize) -> usize {
    (MOST_TIMES / ranks).max(1)
}

/// All there are.
pub static CASES: [Case; 8] = [
    ping_pong::CASE,
    barrier::CASE,
    allreduce::CASE,
    bcast::CASE,
    alltoall::CASE,
    allgather::CASE,
    reduce_scatter::CASE,
    halo_exchange::CASE,
];

/// The case of a name.
pub fn case(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

impl Case {
    /// Whether it can be measured on so many ranks with this size.
    ///
    /// # Errors
    /// What it cannot be measured on, for people.
    pub fn check(&self, ranks: usize, size: usize) -> Result<(), String> {
        let name = self.name;
        if self.sample == Sample::RoundTrip && !ranks.is_multiple_of(2) {
            return Err(format!(
                "{name} runs on pairs of ranks, and these are {ranks}"
            ));
        }
        if self.unit > 0 && !size.is_multiple_of(self.unit) {
            let unit = self.unit;
            return Err(format!(
                "{name} adds numbers of {unit} bytes, and {size} is no multiple"
            ));
        }
        if size < self.least {
            let least = self.least;
            return Err(format!(
                "{name} takes {least} bytes or more, and not {size}"
            ));
        }
        // MPI counts the elements of a buffer in 31 bits.
        let parts = if self.parts { ranks } else { 1 };
        if (size / self.unit.max(1)).saturating_mul(parts) > i32::MAX as usize {
            return Err(format!(
                "a buffer of {name} with {size} bytes on {ranks} ranks is more than MPI counts"
            ));
        }
        Ok(())
    }

    /// Measures it. Everybody's times come to rank 0; elsewhere there are none.
    pub fn measure(&self, comm: &Comm, plan: &Plan) -> Option<Timeline> {
        let clock = RankClock::new();
        let before = align::ask(comm, &clock);
        let mut bench = Bench::new(comm, plan, &clock);
        (self.run)(&mut bench);
        let after = align::ask(comm, &clock);
        let scale = clock.scale();
        let others = align::scales(comm, &scale);
        let (entered, left) = bench.into_times(&scale);
        let alignments = Alignment::of_all(&scale, &others, &before, &after);
        Timeline::gather(comm, entered, left, alignments)
    }

    /// The number of those among so many ranks whose samples count. A rank that answers in a ping-pong has the
    /// halves of two round trips in each of its own, and would count them twice.
    pub fn counted(&self, ranks: usize) -> usize {
        match self.sample {
            Sample::RoundTrip => ranks / 2,
            Sample::Call => ranks,
        }
    }

    /// The figures of the samples that count.
    pub fn figures(&self, timeline: &Timeline) -> Figures {
        let lanes = timeline.lanes();
        let counted = &lanes[..self.counted(lanes.len())];
        let samples = counted.iter().flat_map(Lane::samples);
        Figures::of(samples.map(|ns| ns as f64).collect())
    }
}

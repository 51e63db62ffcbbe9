//! The loops in which operations are timed.

use jitterlab_base::units::Bytes;
use jitterlab_live::{Publisher, Timing};
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives as _;

use super::{Length, Plan, RankClock, Scale, most_operations};
use crate::comm::Comm;

/// Times operations on one rank, as many as on every other.
pub struct Bench<'a> {
    comm: &'a Comm,
    plan: &'a Plan,
    clock: &'a RankClock,
    /// The times of entry, in ticks.
    entered: Vec<u64>,
    left: Vec<u64>,
    /// True if this rank's times are samples.
    publishes: bool,
}

/// Batches of the warm-up grow up to this time: the ranks agree between two of them whether it has been enough. Where a
/// time is to be measured, one of them is as long as this, whatever the warm-up: it says how long an operation takes.
const BATCH_NS: f64 = 1e7;

impl<'a> Bench<'a> {
    pub(super) fn new(comm: &'a Comm, plan: &'a Plan, clock: &'a RankClock) -> Bench<'a> {
        Bench {
            comm,
            plan,
            clock,
            entered: Vec::new(),
            left: Vec::new(),
            publishes: true,
        }
    }

    /// Publishes nothing: the times of this rank, which answers others, are no samples.
    pub fn publish_nothing(&mut self) {
        self.publishes = false;
    }

    /// The communicator of operations: no account is kept, because it takes time.
    pub fn world(&self) -> &'a SimpleCommunicator {
        self.comm.bare()
    }

    /// This process, from 0.
    pub fn rank(&self) -> usize {
        self.comm.rank()
    }

    /// The number of processes.
    pub fn ranks(&self) -> usize {
        self.comm.size()
    }

    /// The plan of the measurement.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Times operations that follow each other at once, by one reading of the clock for each.
    pub fn back_to_back(&mut self, mut operation: impl FnMut()) {
        let (clock, live) = (self.clock, self.publisher());
        let mut edges = self.warm_up(|operations| operations + 1, &mut operation);
        self.world().barrier();
        let mut last = clock.ticks();
        edges[0] = last;
        for edge in &mut edges[1..] {
            operation();
            *edge = clock.ticks();
            live.sample(|| clock.between(last, *edge));
            last = *edge;
        }
        self.left = edges[1..].to_vec();
        edges.pop();
        self.entered = edges;
    }

    /// Times operations. The ranks meet at a barrier before each.
    pub fn apart(&mut self, mut operation: impl FnMut()) {
        let (clock, world, live) = (self.clock, self.world(), self.publisher());
        let mut together = || {
            world.barrier();
            let entered = clock.ticks();
            operation();
            [entered, clock.ticks()]
        };
        let mut times = self.warm_up(|operations| 2 * operations, &mut || {
            together();
        });
        let (pairs, _) = times.as_chunks_mut::<2>();
        pairs.fill_with(|| {
            let [entered, left] = together();
            live.sample(|| clock.between(entered, left));
            [entered, left]
        });
        (self.entered, self.left) = pairs.iter().map(|&[entered, left]| (entered, left)).unzip();
    }

    /// The way to this rank's page, where the operations of a size are a part.
    fn publisher(&self) -> Publisher {
        if !self.publishes {
            return Publisher::NOBODY;
        }
        let live = jitterlab_live::publisher();
        live.begin(&Bytes(self.plan.size as u64).to_string());
        live.timed(Timing::ClosedLoop);
        live.ranked(self.rank());
        live
    }

    /// When each operation was entered and left, in nanoseconds of this rank's clock by its scale.
    pub(super) fn into_times(self, scale: &Scale) -> (Vec<u64>, Vec<u64>) {
        let ns = |mut times: Vec<u64>| {
            times.iter_mut().for_each(|time| *time = scale.ns(*time));
            times
        };
        (ns(self.entered), ns(self.left))
    }

    /// Repeats the operation until that has been long enough. Gives memory that has been written to, for as many
    /// `readings` of the clock as the operations to come need, and these are as many on every rank.
    fn warm_up(&self, readings: impl Fn(usize) -> usize, operation: &mut impl FnMut()) -> Vec<u64> {
        let start = self.clock.ticks();
        // The first operation may take a thousand times as long as others: connections are made in it.
        let (mut batch, mut is_first) = (1, true);
        loop {
            let begin = self.clock.ticks();
            (0..batch).for_each(|_| operation());
            let mut times = [start, begin].map(|from| self.clock.since(from));
            self.comm
                .all_reduce_in_place(&mut times, SystemOperation::max());
            let [whole, last] = times;
            if self.plan.is_warm(whole, (!is_first).then_some(last)) {
                let memory = vec![u64::MAX; readings(self.operations(last / batch as f64))];
                // Caches were filled with the memory just now.
                (0..batch).for_each(|_| operation());
                return memory;
            }
            if last < BATCH_NS {
                batch *= 2;
            }
            is_first = false;
        }
    }

    /// The number of operations that are measured when one takes so long.
    fn operations(&self, each_ns: f64) -> usize {
        match self.plan.length {
            Length::Operations(count) => count,
            // A clock may not have moved in a single operation.
            Length::Time(time) => (time.0 as f64 / each_ns.max(1.0)) as usize,
        }
        .clamp(1, most_operations(self.ranks()))
    }
}

impl Plan {
    /// True if the warm-up has been enough: how long all of it was, and its last batch, which is not its first.
    fn is_warm(&self, whole_ns: f64, last_ns: Option<f64>) -> bool {
        let is_known = match self.length {
            Length::Operations(_) => true,
            Length::Time(_) => last_ns.is_some_and(|ns| ns >= BATCH_NS),
        };
        is_known && whole_ns >= self.warmup.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_base::units::Nanos;

    #[test]
    fn a_time_is_not_measured_by_a_cold_operation() {
        let plan = |length, warmup| Plan {
            size: 8,
            non_blocking: false,
            dimensions: 2,
            length,
            warmup: Nanos(warmup),
        };
        let time = plan(Length::Time(Nanos(1_000_000_000)), 0);
        assert!(!time.is_warm(3e7, None));
        assert!(!time.is_warm(3e7, Some(1e6)));
        assert!(time.is_warm(3e7, Some(1e7)));
        let count = plan(Length::Operations(5), 0);
        assert!(count.is_warm(1.0, None));
        let longer = plan(Length::Time(Nanos(1)), 100_000_000);
        assert!(!longer.is_warm(3e7, Some(1e7)));
        assert!(longer.is_warm(1e8, Some(1e7)));
    }
}

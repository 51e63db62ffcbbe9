//! When every rank entered and left every operation, at rank 0.

use std::fmt::Write as _;

use mpi::point_to_point::{Destination as _, Source as _};
use mpi::topology::Communicator as _;

use super::Alignment;
use crate::comm::Comm;

/// The times of all ranks, in the order of ranks. Every rank has as many, and there is at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    lanes: Vec<Lane>,
}

/// The times of a rank, in the order of operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    entered: Vec<u64>,
    left: Vec<u64>,
    alignment: Alignment,
}

const TAG: mpi::Tag = 3;

impl Timeline {
    /// The timeline from the times of ranks, in nanoseconds of their clocks.
    ///
    /// # Panics
    /// There is no rank, no time, or the ranks have not equally many.
    pub fn new(lanes: Vec<Lane>) -> Timeline {
        let operations = lanes[0].left.len();
        assert!(operations > 0);
        for lane in &lanes {
            assert_eq!(
                (lane.entered.len(), lane.left.len()),
                (operations, operations)
            );
        }
        Timeline { lanes }
    }

    /// Brings everybody's times to rank 0; elsewhere there is nothing. `alignments` are there, too.
    pub(super) fn gather(
        comm: &Comm,
        entered: Vec<u64>,
        left: Vec<u64>,
        alignments: Vec<Alignment>,
    ) -> Option<Timeline> {
        let world = comm.bare();
        if comm.rank() != 0 {
            world.process_at_rank(0).send_with_tag(&entered[..], TAG);
            world.process_at_rank(0).send_with_tag(&left[..], TAG);
            return None;
        }
        let operations = left.len();
        let mut own = Some((entered, left));
        let lanes = (0..).zip(alignments).map(|(rank, alignment)| {
            let (entered, left) = own.take().unwrap_or_else(|| {
                let mut times = [vec![0; operations], vec![0; operations]];
                for times in &mut times {
                    let peer = world.process_at_rank(rank);
                    peer.receive_into_with_tag(&mut times[..], TAG);
                }
                let [entered, left] = times;
                (entered, left)
            });
            Lane::new(entered, left, alignment)
        });
        Some(Timeline::new(lanes.collect()))
    }

    /// The ranks' times.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The number of operations.
    pub fn operations(&self) -> usize {
        self.lanes[0].left.len()
    }

    /// The samples of the first ranks as text: a number of nanoseconds a line, rank after rank, after comments.
    pub fn samples_text(&self, ranks: usize, what: &str) -> String {
        let mut text = format!("# {what}\n");
        for (rank, lane) in self.lanes[..ranks].iter().enumerate() {
            // Nothing can go wrong when a string is written to.
            let _ = writeln!(text, "# rank {rank}");
            for sample in lane.samples() {
                let _ = writeln!(text, "{sample}");
            }
        }
        text
    }

    /// When each rank entered and left each operation as CSV: nanoseconds of rank 0's clock since it entered the
    /// first.
    pub fn arrivals_text(&self) -> String {
        let mut text = "operation,rank,entered_ns,left_ns\n".to_owned();
        let origin = self.origin();
        for operation in 0..self.operations() {
            for (rank, lane) in self.lanes.iter().enumerate() {
                let (entered, left) = (lane.entered(operation), lane.left(operation));
                let (entered, left) = (entered - origin, left - origin);
                let _ = writeln!(text, "{operation},{rank},{entered},{left}");
            }
        }
        text
    }

    /// When rank 0 entered the first operation.
    pub(super) fn origin(&self) -> i64 {
        self.lanes[0].entered(0)
    }
}

impl Lane {
    /// The lane from times in nanoseconds of a clock.
    pub fn new(entered: Vec<u64>, left: Vec<u64>, alignment: Alignment) -> Lane {
        Lane {
            entered,
            left,
            alignment,
        }
    }

    /// The time of each operation, in nanoseconds of the rank's own clock.
    pub fn samples(&self) -> impl Iterator<Item = u64> {
        self.entered
            .iter()
            .zip(&self.left)
            .map(|(entered, left)| left.saturating_sub(*entered))
    }

    /// When an operation was entered, in nanoseconds of rank 0's clock.
    pub fn entered(&self, operation: usize) -> i64 {
        self.alignment.on_rank_0(self.entered[operation])
    }

    /// When it was left, likewise.
    pub fn left(&self, operation: usize) -> i64 {
        self.alignment.on_rank_0(self.left[operation])
    }

    /// The alignment of the rank's clock to rank 0's.
    pub fn alignment(&self) -> &Alignment {
        &self.alignment
    }
}

//! Load by one-sided communication with rank 0: all put (incast), or all get (broadcast).
//!
//! After each half window a rank waits until it is done at rank 0, so that at most half a window is under way.

use mpi::collective::SystemOperation;

use super::pace::Pace;
use super::traffic::{HALF_WINDOW, Moved, Traffic};
use crate::comm::Comm;
use crate::window::{Slots, Window};

/// The puts or gets of a rank.
pub struct OneSided<'a> {
    comm: &'a Comm,
    window: Window<'a>,
    begin: fn(&mut Window<'a>, usize),
    direction: Direction,
}

/// The way that the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The others write into rank 0's memory.
    Put,
    /// The others read from rank 0's memory.
    Get,
}

impl Direction {
    /// The memory of rank 0 that so many ranks take with messages of this size, in bytes.
    pub fn exposed(self, ranks: usize, message: usize) -> usize {
        (self.slots().shares(ranks) * HALF_WINDOW).saturating_mul(message)
    }

    fn slots(self) -> Slots {
        match self {
            Direction::Put => Slots::OfEach,
            Direction::Get => Slots::OfAll,
        }
    }
}

impl<'a> OneSided<'a> {
    /// Messages of this size. Every rank comes here.
    pub fn new(comm: &'a Comm, direction: Direction, message: usize) -> OneSided<'a> {
        OneSided {
            comm,
            window: Window::allocate(comm.bare(), direction.slots(), HALF_WINDOW, message),
            begin: match direction {
                Direction::Put => Window::put,
                Direction::Get => Window::get,
            },
            direction,
        }
    }
}

impl Traffic for OneSided<'_> {
    fn moves(&self) -> bool {
        self.comm.rank() != 0
    }

    fn run(&mut self, mut pace: Pace<'_>, over: &mut dyn FnMut() -> bool) -> Moved {
        let mut caused = 0;
        let is_root = self.comm.rank() == 0;
        while !is_root && !over() {
            pace.pass();
            if !pace.take() {
                pace.rest();
                continue;
            }
            (self.begin)(&mut self.window, caused % HALF_WINDOW);
            caused += 1;
            if caused.is_multiple_of(HALF_WINDOW) {
                self.window.flush();
            }
        }
        self.window.flush();
        pace.pass();
        // Rank 0 takes no part, but where MPI does this in software it has to be in MPI: it is, in here.
        self.comm.meet().wait();
        if is_root {
            // The work of the others lasts until now.
            pace.pass();
        }
        let mut all = [caused as u64];
        self.comm
            .all_reduce_in_place(&mut all, SystemOperation::sum());
        let here = if is_root { all[0] } else { caused as u64 };
        let (sent, received) = match (self.direction, is_root) {
            (Direction::Put, false) | (Direction::Get, true) => (here, 0),
            (Direction::Put, true) | (Direction::Get, false) => (0, here),
        };
        Moved {
            caused: caused as u64,
            sent,
            received,
            elapsed_ns: pace.elapsed(),
            longest_gap_ns: pace.longest_gap(),
        }
    }
}

//! A barrier that is entered without waiting in it.

use std::thread;
use std::time::Duration;

use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives as _;

/// A barrier that this rank has entered: see [`super::Comm::meet`]. It has to be seen to be over.
#[must_use = "a barrier that was entered has to be left"]
pub struct Meeting {
    under_way: Option<Request<'static, (), StaticScope>>,
}

/// The time between two looks of somebody who waits quietly: long enough to leave the CPU to those who measure.
const LOOK: Duration = Duration::from_millis(1);

impl Meeting {
    pub(super) fn new(comm: &SimpleCommunicator) -> Meeting {
        Meeting {
            under_way: Some(comm.immediate_barrier()),
        }
    }

    /// True if all have entered.
    pub fn is_over(&mut self) -> bool {
        self.under_way = self
            .under_way
            .take()
            .and_then(|request| request.test().err());
        self.under_way.is_none()
    }

    /// Waits for all, asleep most of the time: MPI's own barrier would hold the CPU.
    pub fn wait_quietly(mut self) {
        while !self.is_over() {
            thread::sleep(LOOK);
        }
    }

    /// Waits for all, and lets MPI go on with what others want of this rank.
    pub fn wait(mut self) {
        while !self.is_over() {
            thread::yield_now();
        }
    }
}

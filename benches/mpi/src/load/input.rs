//! The end of rank 0's standard input, as all ranks learn of it.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use jitterlab_base::clock::Clock;
use jitterlab_base::units::Nanos;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::comm::{Comm, Meeting};

/// Rank 0 looks this often: a look is a system call.
const APART: Nanos = Nanos(1_000_000);

/// A barrier that rank 0 enters when its standard input has ended, and the others at once.
pub struct InputEnd<'a> {
    comm: &'a Comm,
    clock: &'a Clock,
    looks_at: u64,
    meeting: Option<Meeting>,
}

impl<'a> InputEnd<'a> {
    /// Every rank comes here.
    pub fn new(comm: &'a Comm, clock: &'a Clock) -> Self {
        InputEnd {
            comm,
            clock,
            looks_at: clock.now() + clock.ns_to_ticks(APART.0),
            meeting: (comm.rank() > 0).then(|| comm.meet()),
        }
    }

    /// True if it has ended, as far as this rank knows.
    pub fn is_over(&mut self) -> bool {
        match &mut self.meeting {
            Some(meeting) => meeting.is_over(),
            None if self.clock.now() < self.looks_at => false,
            None => {
                self.looks_at = self.clock.now() + self.clock.ns_to_ticks(APART.0);
                let is_over = has_ended();
                // The others end when this rank has entered, and it waits for what they send.
                self.meeting = is_over.then(|| self.comm.meet());
                is_over
            }
        }
    }

    /// Waits until all know.
    pub fn wait(self) {
        if let Some(meeting) = self.meeting {
            meeting.wait_quietly();
        }
    }
}

/// True if nothing will be read any more. Data that is there is read, and thrown away.
fn has_ended() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PollTimeout::ZERO) {
        Ok(0) => false,
        Ok(_) => {
            let read = stdin.lock().read(&mut [0; 512]);
            !matches!(read, Ok(length) if length > 0)
        }
        Err(_) => false,
    }
}

//! The patience with an end that does not answer in time.

use jitterlab_base::units::Nanos;

use crate::Error;

/// After as many times the timeout in a row without an answer in time, the run ends.
pub const TIMES: u64 = 20;

/// Timeouts since the last answer in time.
#[derive(Debug, Default)]
pub struct Silence {
    timeouts: u64,
    /// Answers that came, but late.
    late: u64,
}

impl Silence {
    /// An answer came in time.
    #[inline]
    pub fn end(&mut self) {
        *self = Silence::default();
    }

    /// An answer came late.
    pub fn late(&mut self) {
        self.late += 1;
    }

    /// Another timeout is over; so many messages had been answered before.
    #[cold]
    pub fn timed_out(&mut self, timeout: Nanos, answered: u64) -> Result<(), Error> {
        self.timeouts += 1;
        if self.timeouts < TIMES {
            return Ok(());
        }
        Err(Error::Silence {
            time: Nanos(timeout.0.saturating_mul(TIMES)),
            answered,
            late: self.late,
        })
    }
}

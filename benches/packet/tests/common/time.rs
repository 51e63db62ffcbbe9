//! A time that exists only in a test.

use std::cell::Cell;
use std::rc::Rc;

use jitterlab_base::clock::Clock;

/// A reading of the clock takes so long, in nanoseconds.
pub const READING: u64 = 10;

/// Simulated time in nanoseconds; whoever reads it, or looks at the network, lets some pass.
#[derive(Clone, Default)]
pub struct Time(Rc<Cell<u64>>);

impl Time {
    /// Lets some time pass: what time it is then.
    pub fn pass(&self, ns: u64) -> u64 {
        self.0.set(self.0.get() + ns);
        self.0.get()
    }

    /// A reading, in ticks of the clock.
    pub fn ticks(&self) -> u64 {
        Clock::global().ns_to_ticks(self.pass(READING))
    }
}

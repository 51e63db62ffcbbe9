//! The switch of the hooks, in the mark that settings are published with: one load, and a hook knows.

use std::sync::atomic::AtomicU64;

use jitterlab_base::page::published::{Generation, Mark, Seen};

/// The switch that settings set for hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch(Mark);

impl Switch {
    /// Nothing.
    pub const OFF: Switch = Switch(Mark::NONE);
    /// Injection is on, with a table of zeros, and there is nothing to wait for.
    pub const ZEROS: Switch = Switch(Mark::FIRST);
    /// It is on, with delays.
    pub const DELAYS: Switch = Switch(Mark::BOTH);

    pub(super) fn mark(self) -> Mark {
        self.0
    }

    /// The switch of settings that there are not.
    pub(super) const fn alone(self) -> Generation {
        Generation(AtomicU64::new(self.0.alone()))
    }
}

/// The question of a hook to a generation that it has seen.
pub trait Asked: Copy {
    /// True if there is nothing to do.
    fn is_off(self) -> bool;

    /// True if there are delays, where something is injected.
    fn has_delays(self) -> bool;

    /// The switch that was published with it.
    fn switch(self) -> Switch;
}

impl Asked for Seen {
    #[inline(always)]
    fn is_off(self) -> bool {
        !self.has_first()
    }

    #[inline(always)]
    fn has_delays(self) -> bool {
        self.has_second()
    }

    fn switch(self) -> Switch {
        Switch(self.mark())
    }
}

//! The face of a pattern to the rank that runs it.

use super::pace::Pace;

/// After so many messages it is seen that they have arrived.
pub const HALF_WINDOW: usize = 32;

/// The traffic of a rank in a pattern.
pub trait Traffic {
    /// True if it moves messages on its own account.
    fn moves(&self) -> bool;

    /// Goes on until it is `over`, at the `pace`, and ends when all that was sent has arrived.
    fn run(&mut self, pace: Pace<'_>, over: &mut dyn FnMut() -> bool) -> Moved;
}

/// Messages that one rank moved.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moved {
    /// Those that it sent, put or got on its own account.
    pub caused: u64,
    /// Those that it sent to others.
    pub sent: u64,
    /// Those that it received from others.
    pub received: u64,
    /// The time in which they moved.
    pub elapsed_ns: u64,
    /// The longest time between two that it sent.
    pub longest_gap_ns: u64,
}

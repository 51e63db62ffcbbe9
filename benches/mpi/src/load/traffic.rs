//! The face of a pattern to the rank that runs it.

use super::pace::Pace;

/// After so many messages it is seen that they have arrived.
pub const HALF_WINDOW: usize = 32;

/// What a rank does in a pattern.
pub trait Traffic {
    /// Whether it moves messages on its own account.
    fn moves(&self) -> bool;

    /// Goes on until it is `over`, at the `pace`, and ends when all that was sent has arrived.
    fn run(&mut self, pace: Pace<'_>, over: &mut dyn FnMut() -> bool) -> Moved;
}

/// Messages that one rank moved.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moved {
    /// On its own account: those that it sent, put or got.
    pub caused: u64,
    /// To others.
    pub sent: u64,
    /// From others.
    pub received: u64,
    /// In this time.
    pub elapsed_ns: u64,
    /// The longest time between two that it sent.
    pub longest_gap_ns: u64,
}

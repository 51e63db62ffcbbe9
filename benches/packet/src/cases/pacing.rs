//! The pace of messages: in a closed loop or in an open one.

use jitterlab_base::named;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The distance between the messages of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spacing {
    /// All alike.
    #[default]
    Fixed,
    /// The distance between events that are independent of each other.
    Exponential,
}

named!(Spacing, serde, "a kind of gaps", Fixed => "fixed", Exponential => "exponential");

/// The loop of messages. Measurements in the one loop are not to be compared with those in the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// Each was sent when the answer to the one before it had come: a sample counts from when it was sent.
    Closed,
    /// Each was sent when it was due, and a sample counts from then.
    Open(Open),
}

impl Loop {
    /// The loop in a word: `closed` or `open`.
    pub fn name(&self) -> &'static str {
        match self {
            Loop::Closed => "closed",
            Loop::Open(_) => "open",
        }
    }
}

/// Samples of both loops, which are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{a} was measured in the {loop_of_a} loop and {b} in the {loop_of_b} loop, and the two cannot be compared: the open loop counts a \
     round trip from when its message was due, the closed loop from when it was sent; measure both in the same loop"
)]
pub struct TwoLoops {
    /// The one's way of measuring.
    pub a: String,
    /// The loop of a: `closed` or `open`.
    pub loop_of_a: String,
    /// The other's.
    pub b: String,
    /// The loop of b.
    pub loop_of_b: String,
}

/// The figures of an open loop. Rates in messages a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// The rate that was asked for.
    pub rate_asked: f64,
    /// The rate at which messages were sent.
    pub rate_achieved: f64,
    /// The gaps between messages.
    pub gaps: Spacing,
    /// The seed of gaps that were drawn.
    pub seed: u64,
    /// Messages that might be under way.
    pub window: u32,
    /// The most that were.
    pub most_under_way: u32,
    /// Messages that could not be sent before the end.
    pub unsent: u64,
    /// The longest time that a message was sent too late, in nanoseconds.
    pub latest_ns: u64,
}

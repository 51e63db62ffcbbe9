//! The configuration of a connection.

use jitterlab_base::units;

use super::Nanos;
use crate::wire::{HEAD, MAX_WINDOW, MIN_MTU, Protocol};

/// Segments at most that go out before the receiver says what it has.
pub const MAX_BURST: u8 = 64;

/// The configuration of a connection. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Config {
    /// The protocol; both ends must have the same.
    pub protocol: Protocol,
    /// Maximum number of transactions under way, in each direction: the credits. Both ends must have the same.
    pub window: u8,
    /// Bytes of a frame at most; the lesser of both ends counts.
    pub mtu: u32,
    /// Bytes of a message at most.
    pub message: u32,
    /// Segments of a message that go out before the receiver says what it has.
    pub burst: u8,
    /// Retransmissions without an acknowledgement before the request is abandoned (k).
    pub request_retransmissions: u16,
    /// Retransmissions without a word after the acknowledgement before the reply is abandoned (N).
    pub reply_retransmissions: u16,
    /// The floor of the timeout.
    pub min_rto: Nanos,
    /// The ceiling of the timeout.
    pub max_rto: Nanos,
    /// The timeout before the first round trip is known.
    pub initial_rto: Nanos,
    /// The interval at which the endpoint polls.
    pub granularity: Nanos,
    /// The time that the acknowledgement waits for the reply, to ride on it; 0: it goes at once. AMVIA alone.
    pub ack_delay: Nanos,
    /// The time that a handler is given, from the request on, before a missing reply is taken for abandoned. AMUDP and
    /// two-way alone: their initiator cannot tell a slow handler from a dead target.
    pub reply_wait: Nanos,
    /// The time that the target waits for a handler that has started; none: for ever.
    pub handler_time: Option<Nanos>,
    /// The time that the target keeps the records of a client without a word from it.
    pub lease: Nanos,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            protocol: Protocol::Amvia,
            window: 16,
            mtu: 1472,
            message: 8_192,
            burst: 32,
            request_retransmissions: 6,
            reply_retransmissions: 6,
            min_rto: 1_000_000,
            max_rto: 1_000_000_000,
            initial_rto: 100_000_000,
            granularity: 1_000,
            ack_delay: 0,
            reply_wait: 1_000_000_000,
            handler_time: None,
            lease: 600_000_000_000,
        }
    }
}

/// A configuration that no connection can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Out of range.
    #[error("the window is {0}; it must be from 1 to {MAX_WINDOW}")]
    Window(u8),
    /// Out of range.
    #[error("the burst is {0} segments; it must be from 1 to {MAX_BURST}")]
    Burst(u8),
    /// Too small for a frame.
    #[error("frames of {0} bytes are too short; they must have {MIN_MTU} at least")]
    Mtu(u32),
    /// The floor of the timeout is above its ceiling.
    #[error(
        "the shortest wait before a message is sent again, {}, is above the longest, {}",
        units::Nanos(*floor), units::Nanos(*ceiling)
    )]
    Timeouts {
        /// The floor.
        floor: Nanos,
        /// The ceiling.
        ceiling: Nanos,
    },
}

impl Config {
    /// # Errors
    /// The first value that no connection can have.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(1..=MAX_WINDOW).contains(&self.window) {
            return Err(ConfigError::Window(self.window));
        }
        if !(1..=MAX_BURST).contains(&self.burst) {
            return Err(ConfigError::Burst(self.burst));
        }
        if self.mtu < MIN_MTU {
            return Err(ConfigError::Mtu(self.mtu));
        }
        if self.min_rto > self.max_rto {
            return Err(ConfigError::Timeouts {
                floor: self.min_rto,
                ceiling: self.max_rto,
            });
        }
        Ok(())
    }

    /// Bytes of a message in one frame, where frames have `mtu` bytes.
    pub(super) fn chunk(mtu: u32) -> u32 {
        mtu - HEAD as u32
    }
}

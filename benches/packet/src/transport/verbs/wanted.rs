//! The demands on an end, and their limits.

use std::time::Duration;

use jitterlab_verbs::Service;

use crate::transport::kind::Wait;
use crate::transport::ledger::NOTE;
use crate::transport::path::Verbs;
use crate::transport::plan::{Buffers, Plan};

/// One in so many sends asks for its completion in a ping-pong. The queue takes twice as many, so that a
/// completion was there long before it is needed.
pub const SIGNALLED: u64 = 32;
/// The time that a connection may take to come up, and a send to be completed.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The parameters that an end is made with.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The way that messages go.
    pub how: Verbs,
    /// The length of one that goes out, and of one that comes, in bytes.
    pub out: usize,
    pub incoming: usize,
    /// The buffers that they lie in.
    pub buffers: Buffers,
    /// Messages that may be under way, of a stream.
    pub window: Option<u32>,
    /// The way that they are waited for.
    pub wait: Wait,
    /// The time that an answer may take.
    pub timeout: Duration,
}

impl Wanted {
    pub fn new(how: Verbs, plan: &Plan, [out, incoming]: [u64; 2], timeout: Duration) -> Self {
        Wanted {
            how,
            out: out as usize,
            incoming: incoming as usize,
            buffers: plan.buffers,
            window: plan.window(),
            wait: plan.wait,
            timeout,
        }
    }

    /// Sends that are not known to be completed, at most.
    pub fn sends(&self) -> u32 {
        self.window
            .map_or(2 * SIGNALLED as u32, |window| 2 * window.max(1))
    }

    /// The length of the longest thing that goes out.
    pub fn longest(&self) -> usize {
        match (self.window, self.how.service) {
            (Some(_), Service::Ud) => self.out.max(NOTE),
            _ => self.out,
        }
    }
}

//! What all reports of the suite begin with.

use jitterlab_packet::cases;
use jitterlab_packet::transport::{Link, Wait};
use serde::{Deserialize, Serialize};

use crate::Client;
use crate::protocol::Protocol;

/// What a case was measured over, and with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The transport, and the clock of this end.
    #[serde(flatten)]
    pub over: cases::Setting,
    /// The protocol.
    pub protocol: Protocol,
    /// Transactions under way at most.
    pub window: u8,
}

impl Setting {
    /// That of the calling thread.
    pub fn now(client: &Client) -> Self {
        let options = client.options();
        Setting {
            over: cases::Setting::now(&Link::of(options.transport), Wait::Poll, None),
            protocol: options.protocol,
            window: options.window,
        }
    }
}

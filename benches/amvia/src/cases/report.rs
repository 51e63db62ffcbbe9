//! The common head of all reports of the suite.

use jitterlab_packet::cases;
use jitterlab_packet::transport::{Link, Wait};
use serde::{Deserialize, Serialize};

use crate::Client;
use crate::protocol::Protocol;

/// The setting in which a case was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The transport, and the clock of this end.
    #[serde(flatten)]
    pub over: cases::Setting,
    /// The protocol.
    pub protocol: Protocol,
    /// Maximum number of transactions under way.
    pub window: u8,
    /// The faults that this end makes of what it sends, as they are told; none: it makes none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub faults: Option<String>,
}

impl Setting {
    /// The faults for people, to follow something else.
    pub(crate) fn with_faults(&self) -> String {
        let faults = self.faults.as_ref();
        faults.map_or(String::new(), |faults| format!(", faults {faults}"))
    }

    /// The setting of the calling thread.
    pub fn now(client: &Client) -> Self {
        let options = client.options();
        Setting {
            over: cases::Setting::now(&Link::of(options.transport), Wait::Poll, None),
            protocol: options.protocol,
            window: options.window,
            faults: options.faults.map(|faults| faults.to_string()),
        }
    }
}

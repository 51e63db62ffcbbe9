//! The options of messages over verbs, and the path that they took.

use std::fmt;

use jitterlab_base::named;
use jitterlab_verbs::Service;
use serde::{Deserialize, Serialize};

/// The options of messages over verbs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Verbs {
    /// The operation that carries a message.
    pub operation: Operation,
    /// The promise of the network.
    pub service: Service,
    /// The memory that the device takes a message from.
    pub inline: Inline,
}

/// The operation that carries a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// RDMA write: it appears in the other end's memory, which polls it.
    #[default]
    Write,
    /// RDMA write with immediate data: it appears there, and completes a receive.
    WriteImm,
    /// Send: it goes to where a receive says.
    Send,
}

/// Whether a message is put into the work request itself, so that the device need not fetch it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Inline {
    /// The message is inline if it is short, and the device can.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The path that was measured, of this end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// The device.
    pub device: String,
    /// Its port.
    pub port: u8,
    /// The entry of the GID table that it sends from; none where LIDs address.
    #[serde(deserialize_with = "Option::deserialize")]
    pub gid_index: Option<u8>,
    /// The operation that carried a message.
    pub operation: Operation,
    /// The promise of the network.
    pub service: Service,
    /// True if messages were in the work requests themselves.
    pub inline: bool,
    /// The longest packet, in bytes.
    pub mtu: u16,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inline = if self.inline { "inline" } else { "not inline" };
        let Path {
            operation, service, ..
        } = self;
        write!(f, "{operation}, {service}, {inline}, {}", self.device)
    }
}

named!(
    Operation, serde, "an operation",
    Write => "write", WriteImm => "write-imm", Send => "send"
);
named!(Inline, serde, "a choice", Auto => "auto", On => "on", Off => "off");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for operation in Operation::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
        for inline in Inline::ALL {
            assert_eq!(inline.name().parse(), Ok(inline));
        }
        for wrong in ["", "WRITE", "write_imm"] {
            assert!(wrong.parse::<Operation>().is_err());
        }
    }
}

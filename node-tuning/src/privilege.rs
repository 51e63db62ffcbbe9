//! Capabilities: held back, and taken only for the moment of a write that needs them.

use caps::{CapSet, Capability};

use crate::system::Place;

/// Gives up the effective capabilities of this thread until they are [`Raised`]. What is permitted
/// stays permitted.
pub fn lower() {
    // There is nothing to be lowered where even this is not allowed.
    let _ = caps::clear(None, CapSet::Effective);
}

/// Capabilities that are in force as long as this value lives.
pub struct Raised {
    raised: Vec<Capability>,
    missing: Vec<Capability>,
}

impl Raised {
    /// Takes those that a write to a place may need.
    pub fn for_place(place: &Place) -> Self {
        Raised::new(needed(place))
    }

    /// Takes these, as far as they are permitted.
    pub fn new(wanted: &[Capability]) -> Self {
        let mut raised = Raised {
            raised: Vec::new(),
            missing: Vec::new(),
        };
        for &capability in wanted {
            let has = caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false);
            if has {
                continue;
            }
            match caps::raise(None, CapSet::Effective, capability) {
                Ok(()) => raised.raised.push(capability),
                Err(_) => raised.missing.push(capability),
            }
        }
        raised
    }

    /// Those that this process is not permitted.
    pub fn missing(&self) -> &[Capability] {
        &self.missing
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        for &capability in &self.raised {
            let _ = caps::drop(None, CapSet::Effective, capability);
        }
    }
}

/// The rights that a write to a place may need, if the file is not root's own.
fn needed(place: &Place) -> &'static [Capability] {
    use Capability::*;
    match place {
        Place::Kernel { path, .. } if path.starts_with("/sys/class/net") => {
            &[CAP_DAC_OVERRIDE, CAP_NET_ADMIN]
        }
        Place::Kernel { .. } | Place::Directory { .. } => &[CAP_DAC_OVERRIDE, CAP_SYS_ADMIN],
        Place::File { .. } | Place::BootFile { .. } => &[CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER],
        Place::Affinity { .. } => &[CAP_SYS_NICE],
        Place::Ethtool { .. } => &[CAP_NET_ADMIN],
        Place::Swap { .. } => &[CAP_SYS_ADMIN],
        Place::Service { .. } => &[],
        Place::WakeupLatency => &[CAP_DAC_OVERRIDE, CAP_KILL],
    }
}

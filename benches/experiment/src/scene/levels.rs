//! The levels of an experiment, as its file lists them.

use jitterlab_injector::control::Mode;
use jitterlab_packet::transport::Transport;
use serde::Deserialize;

use crate::level::{Level, LevelKind, Member};

/// The levels beside none, which is always there.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// Background loads in percent of the bandwidth.
    #[serde(default)]
    pub load: Vec<u8>,
    /// Injected distributions.
    pub injected: Option<InjectedLevels>,
}

/// Injected distributions: each shape for each load.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InjectedLevels {
    /// The loads that are imitated, out of those of `load`.
    pub percent: Vec<u8>,
    /// The transport whose RTT under load is imitated.
    pub transport: Transport,
    /// The distributions.
    pub shapes: Vec<Member>,
    /// How delays are injected [default: spin].
    #[serde(default)]
    pub mode: Mode,
    /// Whether tables are injected, too, that claim to imitate a load and are not close to it [default: no].
    #[serde(default)]
    pub accept_poor_fit: bool,
}

impl Levels {
    /// Every level of some kinds, in the order of the file.
    pub fn of(&self, kinds: &[LevelKind]) -> Vec<Level> {
        let load = self.load.iter().map(|&percent| Level::Load { percent });
        let injected = self.injected.iter().flat_map(|injected| {
            injected.percent.iter().flat_map(|&percent| {
                let shapes = injected.shapes.iter();
                shapes.map(move |&shape| Level::Injected { percent, shape })
            })
        });
        std::iter::once(Level::None)
            .chain(load)
            .chain(injected)
            .filter(|level| kinds.contains(&level.kind()))
            .collect()
    }
}

//! The level of a run, the condition that it is measured under, and the phase that it belongs to.

use std::fmt;

use jitterlab_base::named;
pub use jitterlab_injector::family::Member;
use serde::{Deserialize, Serialize};

/// The condition of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Level {
    /// Nothing is added.
    None,
    /// Background load shares the network.
    Load {
        /// Share of the measured one-way bandwidth, 0 to 100 %.
        percent: u8,
    },
    /// Delays are injected that imitate a background load.
    Injected {
        /// The load whose excess round-trip time is imitated, in percent.
        percent: u8,
        /// Which of the paper's five distributions is injected.
        shape: Member,
    },
}

impl Level {
    /// The kind of this level.
    pub fn kind(self) -> LevelKind {
        match self {
            Level::None => LevelKind::None,
            Level::Load { .. } => LevelKind::Load,
            Level::Injected { .. } => LevelKind::Injected,
        }
    }

    /// The name in run ids and file names: `none`, `load-60`, `injected-60-lognormal`.
    pub fn id(self) -> String {
        match self {
            Level::None => "none".into(),
            Level::Load { percent } => format!("load-{percent}"),
            Level::Injected { percent, shape } => format!("injected-{percent}-{}", shape.name()),
        }
    }
}

impl fmt::Display for Level {
    /// For people: `no load`, `load 60 %`, `injected lognormal of load 60 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::None => f.write_str("no load"),
            Level::Load { percent } => write!(f, "load {percent} %"),
            Level::Injected { percent, shape } => {
                write!(f, "injected {} of load {percent} %", shape.name())
            }
        }
    }
}

/// The kinds of level, as a suite lists those that it is measured at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LevelKind {
    /// [`Level::None`].
    None,
    /// [`Level::Load`].
    Load,
    /// [`Level::Injected`].
    Injected,
}

impl LevelKind {
    /// All of them.
    pub(crate) fn every() -> Vec<LevelKind> {
        LevelKind::ALL.to_vec()
    }
}

/// The part of an experiment that a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// What the network does, with and without load. Distributions are fitted from it.
    Characterise,
    /// What programs do when those distributions are injected.
    Inject,
}

named!(Phase, serde, Characterise => "characterise", Inject => "inject");

named!(LevelKind, serde, None => "none", Load => "load", Injected => "injected");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_stored_as_the_contract_says_and_read_back() {
        for (level, json) in [
            (Level::None, r#"{"kind":"none"}"#),
            (
                Level::Load { percent: 60 },
                r#"{"kind":"load","percent":60}"#,
            ),
            (
                Level::Injected {
                    percent: 60,
                    shape: Member::Scale25,
                },
                r#"{"kind":"injected","percent":60,"shape":"scale25"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&level).unwrap(), json);
            assert_eq!(serde_json::from_str::<Level>(json).unwrap(), level);
        }
    }
}

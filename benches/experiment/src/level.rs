//! The level of a run, the condition that it is measured under, and the phase that it belongs to.

use std::fmt;

use jitterlab_base::named;
use jitterlab_base::units::Nanos;
pub use jitterlab_injector::family::Member;
pub use jitterlab_injector::shape::Shape;
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
        /// The distribution, of those that are made from it, that is injected.
        shape: Member,
    },
    /// Delays are injected that have the mean of a load's excess, and another variation.
    Scaled {
        /// The load, in percent.
        percent: u8,
        /// The standard deviation in multiples of the excess's.
        multiple: Multiple,
    },
    /// One delay is injected.
    Delay {
        /// Its length, in nanoseconds.
        ns: u64,
    },
    /// Delays of a shape are injected.
    Shape {
        /// The shape.
        shape: Shape,
        /// Their mean, in nanoseconds.
        mean_ns: u64,
        /// Their standard deviation, in nanoseconds.
        std_ns: u64,
    },
    /// The delays of a table are injected that the experiment brings.
    Table,
}

/// A multiple, exact to a thousandth [default: 0].
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "f64", into = "f64")]
pub struct Multiple(u32);

impl Multiple {
    /// The number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1e3
    }
}

impl TryFrom<f64> for Multiple {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let thousandths = (value * 1e3).round();
        if !(0.0..=1e9).contains(&thousandths) || (value * 1e3 - thousandths).abs() > 1e-6 {
            return Err(format!(
                "{value} is not a multiple: 0 or more, with at most three decimals"
            ));
        }
        Ok(Multiple(thousandths as u32))
    }
}

impl From<Multiple> for f64 {
    fn from(multiple: Multiple) -> f64 {
        multiple.value()
    }
}

impl fmt::Display for Multiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl Level {
    /// The kind of this level.
    pub fn kind(self) -> LevelKind {
        match self {
            Level::None => LevelKind::None,
            Level::Load { .. } => LevelKind::Load,
            Level::Injected { .. }
            | Level::Scaled { .. }
            | Level::Delay { .. }
            | Level::Shape { .. }
            | Level::Table => LevelKind::Injected,
        }
    }

    /// The load that it is, or whose excess is injected, in percent.
    pub fn percent(self) -> Option<u8> {
        match self {
            Level::Load { percent }
            | Level::Injected { percent, .. }
            | Level::Scaled { percent, .. } => Some(percent),
            Level::None | Level::Delay { .. } | Level::Shape { .. } | Level::Table => None,
        }
    }

    /// True if all the delays that it injects are the same.
    pub fn is_constant(self) -> bool {
        match self {
            Level::Injected { shape, .. } => shape == Member::Uniform,
            Level::Scaled { multiple, .. } => multiple == Multiple::default(),
            Level::Delay { .. } => true,
            Level::Shape { std_ns, .. } => std_ns == 0,
            Level::None | Level::Load { .. } | Level::Table => false,
        }
    }

    /// The levels of constant delays with the mean of this level, whose delays vary: their difference shows what variation costs. There is
    /// none where its delays do not vary, or nothing is known of their mean. The mean of a replay depends on the stretch, and on when a
    /// program sends.
    pub fn constants(self) -> Vec<Level> {
        match self {
            _ if self.is_constant() => Vec::new(),
            Level::Injected {
                shape: Member::Replay,
                ..
            } => Vec::new(),
            Level::Injected { percent, .. } | Level::Scaled { percent, .. } => vec![
                Level::Injected {
                    percent,
                    shape: Member::Uniform,
                },
                Level::Scaled {
                    percent,
                    multiple: Multiple::default(),
                },
            ],
            Level::Shape { shape, mean_ns, .. } => vec![
                Level::Delay { ns: mean_ns },
                Level::Shape {
                    shape,
                    mean_ns,
                    std_ns: 0,
                },
                Level::Shape {
                    shape: Shape::Constant,
                    mean_ns,
                    std_ns: 0,
                },
            ],
            Level::None | Level::Load { .. } | Level::Delay { .. } | Level::Table => Vec::new(),
        }
    }

    /// The name in run ids and file names: `none`, `load-60`, `injected-60-lognormal`.
    pub fn id(self) -> String {
        match self {
            Level::None => "none".into(),
            Level::Load { percent } => format!("load-{percent}"),
            Level::Injected { percent, shape } => format!("injected-{percent}-{}", shape.name()),
            Level::Scaled { percent, multiple } => format!("scaled-{percent}-{multiple}"),
            Level::Delay { ns } => format!("delay-{}", Nanos(ns)),
            Level::Shape {
                shape,
                mean_ns,
                std_ns,
            } => format!("{shape}-{}-{}", Nanos(mean_ns), Nanos(std_ns)),
            Level::Table => "table".into(),
        }
    }
}

impl fmt::Display for Level {
    /// The level for people: `no load`, `load 60 %`, `injected lognormal of load 60 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::None => f.write_str("no load"),
            Level::Load { percent } => write!(f, "load {percent} %"),
            Level::Injected { percent, shape } => {
                write!(f, "injected {} of load {percent} %", shape.name())
            }
            Level::Scaled { percent, multiple } => {
                write!(
                    f,
                    "injected load {percent} % of {multiple} times its variation"
                )
            }
            Level::Delay { ns } => write!(f, "injected delay {}", Nanos(*ns)),
            Level::Shape {
                shape,
                mean_ns,
                std_ns,
            } => write!(
                f,
                "injected {shape} of mean {} and standard deviation {}",
                Nanos(*mean_ns),
                Nanos(*std_ns)
            ),
            Level::Table => f.write_str("injected table"),
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
    /// All at which delays are injected.
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
    /// The network with and without load. Distributions are fitted from it.
    Characterise,
    /// The programs with those distributions injected.
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
            (
                Level::Scaled {
                    percent: 60,
                    multiple: Multiple::try_from(0.5).unwrap(),
                },
                r#"{"kind":"scaled","percent":60,"multiple":0.5}"#,
            ),
            (Level::Delay { ns: 1_000 }, r#"{"kind":"delay","ns":1000}"#),
            (
                Level::Shape {
                    shape: Shape::LogNormal,
                    mean_ns: 10_000,
                    std_ns: 20_000,
                },
                r#"{"kind":"shape","shape":"lognormal","mean_ns":10000,"std_ns":20000}"#,
            ),
            (Level::Table, r#"{"kind":"table"}"#),
        ] {
            assert_eq!(serde_json::to_string(&level).unwrap(), json);
            assert_eq!(serde_json::from_str::<Level>(json).unwrap(), level);
        }
    }

    #[test]
    fn delays_that_vary_have_constant_ones_of_their_mean() {
        let shape = |std_ns| Level::Shape {
            shape: Shape::LogNormal,
            mean_ns: 1_000,
            std_ns,
        };
        let scaled = |multiple: f64| Level::Scaled {
            percent: 60,
            multiple: Multiple::try_from(multiple).unwrap(),
        };
        let of_load = |shape| Level::Injected { percent: 60, shape };
        for (varied, constant) in [
            (shape(500), Level::Delay { ns: 1_000 }),
            (shape(500), shape(0)),
            (scaled(0.5), scaled(0.0)),
            (scaled(0.5), of_load(Member::Uniform)),
            (of_load(Member::Empirical), of_load(Member::Uniform)),
            (of_load(Member::Empirical), scaled(0.0)),
        ] {
            assert!(varied.constants().contains(&constant), "{varied}");
            assert!(!varied.is_constant(), "{varied}");
            assert!(constant.is_constant(), "{constant}");
            assert!(constant.constants().is_empty(), "{constant}");
        }
        for neither in [
            Level::None,
            Level::Load { percent: 60 },
            Level::Table,
            of_load(Member::Replay),
        ] {
            assert!(!neither.is_constant() && neither.constants().is_empty());
        }
    }

    #[test]
    fn a_level_has_a_name_for_files_and_one_for_people() {
        let shape = Level::Shape {
            shape: Shape::LogNormal,
            mean_ns: 10_000,
            std_ns: 2_500,
        };
        let scaled = Level::Scaled {
            percent: 60,
            multiple: Multiple::try_from(0.5).unwrap(),
        };
        for (level, id, people) in [
            (
                shape,
                "lognormal-10us-2.5us",
                "injected lognormal of mean 10us and standard deviation 2.5us",
            ),
            (
                scaled,
                "scaled-60-0.5",
                "injected load 60 % of 0.5 times its variation",
            ),
            (
                Level::Delay { ns: 1_000 },
                "delay-1us",
                "injected delay 1us",
            ),
        ] {
            assert_eq!(level.id(), id);
            assert_eq!(level.to_string(), people);
        }
        for wrong in [-1.0, 0.0001, f64::NAN, 1e9] {
            assert!(Multiple::try_from(wrong).is_err(), "{wrong}");
        }
    }
}

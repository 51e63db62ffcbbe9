//! The levels of an experiment, as its file lists them.

use std::path::PathBuf;

use jitterlab_base::units::Nanos;
use jitterlab_injector::control::Mode;
use jitterlab_injector::replay::{Order, Stretch};
use jitterlab_packet::transport::Transport;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelKind, Member, Multiple, Shape};

/// The levels beside none, which is always there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// Background loads in percent of the bandwidth.
    #[serde(default)]
    pub load: Vec<u8>,
    /// Injected delays.
    pub injected: Option<InjectedLevels>,
}

/// Injected delays: for each load what is made of its excess, and those that need no measured load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InjectedLevels {
    /// The loads whose excess is injected, out of those of `load`.
    #[serde(default)]
    pub percent: Vec<u8>,
    /// The transport whose RTT under load is imitated [default: UDP].
    #[serde(default = "transport")]
    pub transport: Transport,
    /// The distributions that are made from it.
    #[serde(default)]
    pub shapes: Vec<Member>,
    /// Its mean with these multiples of its standard deviation.
    #[serde(default)]
    pub scaled: Vec<Multiple>,
    /// The replay, if `shapes` has it.
    #[serde(default)]
    pub replay: Replay,
    /// One delay each.
    #[serde(default)]
    pub delays: Vec<Nanos>,
    /// Delays of this shape, for each of `mean` and each of `std`.
    pub shape: Option<Shape>,
    /// The means of that shape.
    #[serde(default)]
    pub mean: Vec<Nanos>,
    /// The standard deviations of that shape [default: 0ns alone].
    #[serde(default)]
    pub std: Vec<Nanos>,
    /// The file of a table.
    pub table: Option<PathBuf>,
    /// The way that delays are injected [default: spin].
    #[serde(default)]
    pub mode: Mode,
    /// Injects tables, too, that claim to imitate a load and are not close to it [default: no].
    #[serde(default)]
    pub accept_poor_fit: bool,
}

fn transport() -> Transport {
    Transport::Udp
}

/// The replay of the excess of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The order of the delays: by time, or by message [default: by-time].
    #[serde(default = "by_time")]
    pub order: Order,
    /// One stretch for all ranks, or one for each [default: all].
    #[serde(default)]
    pub stretch: Stretch,
}

fn by_time() -> Order {
    Order::ByTime
}

impl Default for Replay {
    fn default() -> Self {
        Replay {
            order: by_time(),
            stretch: Stretch::All,
        }
    }
}

impl InjectedLevels {
    /// True if the excess of a load is injected: then loads have to be measured before.
    pub fn imitates(&self) -> bool {
        !self.percent.is_empty()
    }

    /// The levels that need no measured load.
    pub fn given(&self) -> Vec<Level> {
        let delays = self.delays.iter().map(|&Nanos(ns)| Level::Delay { ns });
        let stds = match self.std.as_slice() {
            [] => &[Nanos(0)],
            stds => stds,
        };
        let shapes = self.shape.iter().flat_map(|&shape| {
            self.mean.iter().flat_map(move |&Nanos(mean_ns)| {
                stds.iter().map(move |&Nanos(std_ns)| Level::Shape {
                    shape,
                    mean_ns,
                    std_ns,
                })
            })
        });
        let table = self.table.iter().map(|_| Level::Table);
        delays.chain(shapes).chain(table).collect()
    }

    fn levels(&self) -> impl Iterator<Item = Level> {
        let of_loads = self.percent.iter().flat_map(|&percent| {
            let shapes = self.shapes.iter();
            let shapes = shapes.map(move |&shape| Level::Injected { percent, shape });
            let scaled = self.scaled.iter();
            shapes.chain(scaled.map(move |&multiple| Level::Scaled { percent, multiple }))
        });
        of_loads.chain(self.given())
    }
}

impl Levels {
    /// Every level of some kinds, in the order of the file.
    pub fn of(&self, kinds: &[LevelKind]) -> Vec<Level> {
        let load = self.load.iter().map(|&percent| Level::Load { percent });
        let injected = self.injected.iter().flat_map(InjectedLevels::levels);
        std::iter::once(Level::None)
            .chain(load)
            .chain(injected)
            .filter(|level| kinds.contains(&level.kind()))
            .collect()
    }

    /// True if loads have to be measured before anything is injected.
    pub fn imitate(&self) -> bool {
        self.injected.as_ref().is_some_and(InjectedLevels::imitates)
    }
}

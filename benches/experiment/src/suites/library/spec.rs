//! The section on the library suite in an experiment file.

use std::collections::BTreeMap;

use jitterlab_base::named;
use jitterlab_base::units::{Bytes, Count, Nanos};
use jitterlab_base::yaml::Step::{self, Key};
use jitterlab_base::yaml::{self, Checked, wrong};
use jitterlab_cluster::Host;
use jitterlab_mpi_results::library::{DIMENSIONS, SIZE};
use serde::{Deserialize, Serialize};
use serde_yaml::Value;

use crate::level::LevelKind;
use crate::scene::rules::{NAME, check_time, check_timeout, default_timeout, is_name};
use crate::scene::{Scene, slots};
use crate::suites::Case;

/// A case of the library suite: an operation of MPI, timed on every rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryCase {
    /// The kind of measurement.
    pub case: LibraryCaseKind,
    /// Its name in results [default: as the case]: two of a kind need two names.
    pub name: Option<String>,
    /// Number of ranks [default: the slots of the hosts].
    #[serde(default)]
    pub ranks: u32,
    /// Size of a message, or of what a rank gives to a collective [default: 8B].
    pub size: Option<Bytes>,
    /// Ping-pong with the calls that do not block.
    #[serde(default)]
    pub non_blocking: bool,
    /// Dimensions of a halo exchange: 2 or 3 [default: as `jitterlab-mpi library` has it].
    pub dimensions: Option<u8>,
    /// The time to measure; this or `iterations`.
    pub duration: Option<Nanos>,
    /// The number of operations to measure.
    pub iterations: Option<Count>,
    /// The time to warm up; what is measured in it is discarded.
    #[serde(default = "default_warmup")]
    pub warmup: Nanos,
    /// A run that takes longer has failed.
    #[serde(default = "default_timeout")]
    pub timeout: Nanos,
    /// The kinds of level that it is measured at.
    #[serde(default = "LevelKind::every")]
    pub levels: Vec<LevelKind>,
}

fn default_warmup() -> Nanos {
    Nanos(100_000_000)
}

/// The cases of the library suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryCaseKind {
    /// A message there and back between two ranks.
    PingPong,
    /// Every rank waits for every other.
    Barrier,
    /// Everybody has the sum of what everybody gives.
    Allreduce,
    /// Everybody has what one gives.
    Bcast,
    /// Everybody gives everybody something else.
    Alltoall,
    /// Everybody has what everybody gives.
    Allgather,
    /// Everybody has a part of the sum of what everybody gives.
    ReduceScatter,
    /// Neighbours in a grid exchange what lies at their borders.
    HaloExchange,
}

named!(
    LibraryCaseKind, serde,
    PingPong => "ping-pong",
    Barrier => "barrier",
    Allreduce => "allreduce",
    Bcast => "bcast",
    Alltoall => "alltoall",
    Allgather => "allgather",
    ReduceScatter => "reduce-scatter",
    HaloExchange => "halo-exchange",
);

impl Case for LibraryCase {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.case.name())
    }

    fn fill(&mut self, hosts: &BTreeMap<String, Host>) {
        if self.ranks == 0 {
            self.ranks = slots(hosts);
        }
        match self.case {
            LibraryCaseKind::Barrier => {}
            LibraryCaseKind::HaloExchange => {
                self.size.get_or_insert(SIZE);
                self.dimensions.get_or_insert(DIMENSIONS);
            }
            _ => {
                self.size.get_or_insert(SIZE);
            }
        }
    }

    fn ranks(&self) -> Option<u32> {
        Some(self.ranks)
    }

    fn taken(&self) -> Value {
        yaml::value(self)
    }

    fn check<'a>(&'a self, scene: Scene<'a>, at: &[Step<'a>; 3]) -> Checked<'a> {
        use LibraryCaseKind::{Barrier, HaloExchange, PingPong};
        let inside = |key| [at[0], at[1], at[2], Key(key)];
        if !is_name(self.name()) {
            return wrong(&inside("name"), NAME);
        }
        scene.check_ranks(self.ranks, &inside("ranks"))?;
        let pairs = self.case == PingPong;
        if self.ranks < 2 || pairs && !self.ranks.is_multiple_of(2) {
            return wrong(
                &inside("ranks"),
                if pairs {
                    "ping-pong is between pairs of ranks: an even number"
                } else {
                    "there are at least two ranks"
                },
            );
        }
        if self.size.is_some() && self.case == Barrier {
            return wrong(&inside("size"), "a barrier carries nothing");
        }
        if self.non_blocking && !pairs {
            return wrong(&inside("non_blocking"), "only ping-pong has this choice");
        }
        match self.dimensions {
            Some(_) if self.case != HaloExchange => {
                return wrong(&inside("dimensions"), "only a halo exchange has dimensions");
            }
            Some(n) if !(2..=3).contains(&n) => {
                return wrong(&inside("dimensions"), "there are 2 or 3 dimensions");
            }
            _ => {}
        }
        match (self.duration, self.iterations) {
            (Some(_), Some(_)) => {
                return wrong(
                    &inside("iterations"),
                    "`duration` and `iterations` exclude each other",
                );
            }
            (None, None) => return wrong(at, "it needs a `duration` or a number of `iterations`"),
            (_, Some(Count(0))) => return wrong(&inside("iterations"), "there is at least one"),
            (Some(time), _) if time.0 < 1_000_000 => {
                return wrong(&inside("duration"), "a run must last at least 1ms");
            }
            (time, _) => check_time(time.unwrap_or(Nanos(0)), &inside("duration"))?,
        }
        check_time(self.warmup, &inside("warmup"))?;
        check_timeout(self.timeout, &inside("timeout"))?;
        scene.check_kinds(&self.levels, at)
    }
}

//! What is started over MPI: how ranks are placed, the cases of the library suite, and the NAS
//! Parallel Benchmarks as applications.

use std::collections::BTreeMap;

use jitterlab_base::named;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_base::yaml::Step::{self, Key};
use jitterlab_base::yaml::{Checked, wrong};
use jitterlab_cluster::Place;
use jitterlab_injector::control::Mode;
use serde::Deserialize;

use super::check::{NAME, check_kinds, check_time, check_timeout, is_name, named};
use super::{Experiment, every_level};
use crate::level::LevelKind;

/// How programs are started over MPI.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mpi {
    /// The host that the launcher is started on, and rank 0 runs on.
    pub on: String,
    /// What starts the ranks [default: mpirun].
    #[serde(default)]
    pub launcher: Launcher,
    /// The hosts that ranks run on, and how many each takes [default: all run on `on`].
    #[serde(default)]
    pub hosts: BTreeMap<String, u32>,
    /// More arguments for the launcher.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Where delays are injected into ranks [default: mpi].
    #[serde(default)]
    pub hook: Hook,
}

/// What starts the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Launcher {
    /// The MPI's own.
    #[default]
    Mpirun,
    /// Slurm's, inside an allocation, which says where ranks run.
    Srun,
}

/// Where delays are injected into a rank: one layer, or a message is delayed at each that it passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// In the calls of MPI: each send, one-sided call and collective, once.
    #[default]
    Mpi,
    /// In the sockets that the MPI sends over: also the messages that a collective is made of.
    Socket,
    /// In the verbs that the MPI sends over, likewise.
    Verbs,
    /// In the transports of UCX that the MPI sends over, likewise.
    Uct,
}

impl Hook {
    /// What `jitterlab inject run --hook` takes.
    pub fn families(self) -> &'static str {
        match self {
            Hook::Mpi => "mpi,mpi-collectives",
            Hook::Socket => "socket",
            Hook::Verbs => "verbs",
            Hook::Uct => "uct",
        }
    }
}

/// A case of the library suite: an operation of MPI, timed on every rank.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryCase {
    /// What is measured.
    pub case: LibraryCaseKind,
    /// What it is called in results [default: as the case]: two of a kind need two names.
    pub name: Option<String>,
    /// Number of ranks.
    pub ranks: u32,
    /// Size of a message, or of what a rank gives to a collective [default: 8B].
    pub size: Option<Bytes>,
    /// Ping-pong with the calls that do not block.
    #[serde(default)]
    pub non_blocking: bool,
    /// Dimensions of a halo exchange: 2 or 3 [default: as `jitterlab-mpi library` has it].
    pub dimensions: Option<u8>,
    /// How long to measure; this or `iterations`.
    pub duration: Option<Nanos>,
    /// How many operations to measure.
    pub iterations: Option<u64>,
    /// How long to warm up; what is measured in it is discarded.
    #[serde(default = "default_warmup")]
    pub warmup: Nanos,
    /// A run that takes longer has failed.
    #[serde(default = "super::default_timeout")]
    pub timeout: Nanos,
    /// The kinds of level that it is measured at.
    #[serde(default = "every_level")]
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

/// A run of the NAS Parallel Benchmarks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Npb {
    /// Which.
    pub kernel: Kernel,
    /// The problem size.
    pub class: Class,
    /// Number of ranks.
    pub ranks: u32,
}

/// The NAS Parallel Benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Block tri-diagonal solver.
    Bt,
    /// Conjugate gradient.
    Cg,
    /// Embarrassingly parallel.
    Ep,
    /// Fourier transform in three dimensions.
    Ft,
    /// Integer sort.
    Is,
    /// Lower-upper Gauss-Seidel solver.
    Lu,
    /// Multigrid.
    Mg,
    /// Scalar penta-diagonal solver.
    Sp,
}

/// The problem sizes, smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// For a first try.
    S,
    /// A workstation of 1994.
    W,
    /// The standard size.
    A,
    /// Four times A, about.
    B,
    /// Four times B, about.
    C,
}

named!(Launcher, serde, Mpirun => "mpirun", Srun => "srun");
named!(
    Kernel, serde,
    Bt => "bt", Cg => "cg", Ep => "ep", Ft => "ft", Is => "is", Lu => "lu", Mg => "mg", Sp => "sp",
);
named!(Class, serde, S => "S", W => "W", A => "A", B => "B", C => "C");
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

impl LibraryCase {
    /// What it is called in results.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.case.name())
    }
}

/// Checks the section `mpi`.
pub fn check_mpi<'a>(experiment: &'a Experiment, mpi: &'a Mpi) -> Checked<'a> {
    let at = |key| [Key("mpi"), Key(key)];
    let on = named(experiment, &mpi.on, &at("on"))?;
    let mode = experiment
        .levels
        .injected
        .as_ref()
        .map(|injected| injected.mode);
    if mode == Some(Mode::Defer) && matches!(mpi.hook, Hook::Mpi | Hook::Uct) {
        return wrong(
            &[Key("levels"), Key("injected"), Key("mode")],
            "what is sent through MPI or UCX cannot be deferred: `mode: spin`, or another `hook` in `mpi`",
        );
    }
    if mpi.hosts.is_empty() {
        return Ok(());
    }
    if mpi.launcher == Launcher::Srun {
        return wrong(
            &at("hosts"),
            "with srun the allocation says where ranks run",
        );
    }
    if !mpi.hosts.contains_key(&mpi.on) {
        return wrong(
            &at("hosts"),
            format!(
                "`hosts` must contain `{}`: mpirun starts there, and so does rank 0",
                mpi.on
            ),
        );
    }
    let mut addresses = BTreeMap::new();
    for (name, &slots) in &mpi.hosts {
        let place = [Key("mpi"), Key("hosts"), Key(name)];
        let host = named(experiment, name, &place)?;
        if slots == 0 {
            return wrong(&place, "a host takes at least one rank");
        }
        let Some(address) = host
            .address()
            .filter(|_| host.address.is_some() || on.at == host.at)
        else {
            return wrong(
                &[Key("hosts"), Key(name)],
                format!("host `{name}` takes ranks and needs an `address`"),
            );
        };
        if let Some(other) = addresses.insert(address, name) {
            return wrong(
                &place,
                format!("`{other}` and `{name}` have one address, {address}: name one of them"),
            );
        }
        let enters = match (&on.at, &host.at) {
            (_, Place::Local) => *name == mpi.on,
            (Place::Ssh(_), Place::Netns(_)) => false,
            _ => true,
        };
        if !enters {
            return wrong(
                &place,
                format!(
                    "mpirun on `{}` ({}) cannot enter `{name}` ({})",
                    mpi.on, on.at, host.at
                ),
            );
        }
    }
    Ok(())
}

/// Checks a number of ranks.
fn check_ranks<'a>(experiment: &'a Experiment, ranks: u32, at: &[Step<'a>]) -> Checked<'a> {
    let Some(mpi) = &experiment.mpi else {
        return wrong(
            at,
            "ranks need a section `mpi` that says where they are started: `mpi: { on: HOST }`",
        );
    };
    let slots: u64 = mpi.hosts.values().map(|&slots| u64::from(slots)).sum();
    match ranks {
        0 => wrong(at, "there is at least one rank"),
        _ if slots > 0 && u64::from(ranks) > slots => wrong(
            at,
            format!("the section `mpi` has slots for {slots} ranks, and these are {ranks}"),
        ),
        _ => Ok(()),
    }
}

/// Checks a case of the library suite.
pub fn check_library<'a>(
    experiment: &'a Experiment,
    case: &'a LibraryCase,
    at: &[Step<'a>; 3],
) -> Checked<'a> {
    use LibraryCaseKind::{Barrier, HaloExchange, PingPong};
    let inside = |key| [at[0], at[1], at[2], Key(key)];
    if !is_name(case.name()) {
        return wrong(&inside("name"), NAME);
    }
    check_ranks(experiment, case.ranks, &inside("ranks"))?;
    let pairs = case.case == PingPong;
    if case.ranks < 2 || pairs && !case.ranks.is_multiple_of(2) {
        return wrong(
            &inside("ranks"),
            if pairs {
                "ping-pong is between pairs of ranks: an even number"
            } else {
                "there are at least two ranks"
            },
        );
    }
    if case.size.is_some() && case.case == Barrier {
        return wrong(&inside("size"), "a barrier carries nothing");
    }
    if case.non_blocking && !pairs {
        return wrong(&inside("non_blocking"), "only ping-pong has this choice");
    }
    match case.dimensions {
        Some(_) if case.case != HaloExchange => {
            return wrong(&inside("dimensions"), "only a halo exchange has dimensions");
        }
        Some(n) if !(2..=3).contains(&n) => {
            return wrong(&inside("dimensions"), "there are 2 or 3 dimensions");
        }
        _ => {}
    }
    match (case.duration, case.iterations) {
        (Some(_), Some(_)) => {
            return wrong(
                &inside("iterations"),
                "`duration` and `iterations` exclude each other",
            );
        }
        (None, None) => return wrong(at, "it needs a `duration` or a number of `iterations`"),
        (_, Some(0)) => return wrong(&inside("iterations"), "there is at least one"),
        (Some(time), _) if time.0 < 1_000_000 => {
            return wrong(&inside("duration"), "a run takes at least 1ms");
        }
        (time, _) => check_time(time.unwrap_or(Nanos(0)), &inside("duration"))?,
    }
    check_time(case.warmup, &inside("warmup"))?;
    check_timeout(case.timeout, &inside("timeout"))?;
    check_kinds(experiment, &case.levels, at)
}

/// Checks a run of the NAS Parallel Benchmarks.
pub fn check_npb<'a>(experiment: &'a Experiment, npb: &'a Npb, at: &[Step<'a>; 3]) -> Checked<'a> {
    let at = [at[0], at[1], at[2], Key("npb"), Key("ranks")];
    check_ranks(experiment, npb.ranks, &at)
}

//! The NAS Parallel Benchmarks.

use jitterlab_base::named;
use serde::{Deserialize, Deserializer, Serialize};

/// The benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
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

named!(
    Name, serde, "a benchmark",
    Bt => "bt", Cg => "cg", Ep => "ep", Ft => "ft", Is => "is", Lu => "lu", Mg => "mg", Sp => "sp",
);

/// A problem size, smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// For a first try.
    S,
    /// A workstation of 1994.
    W,
    /// The standard size.
    A,
    /// About four times class A.
    B,
    /// About four times class B.
    C,
}

named!(Class, serde, "a problem size", S => "S", W => "W", A => "A", B => "B", C => "C");

impl Class {
    /// The one of five values that is this class's, given from [`Class::S`] to [`Class::C`].
    pub fn of<T>(self, values: [T; 5]) -> T {
        let [s, w, a, b, c] = values;
        match self {
            Class::S => s,
            Class::W => w,
            Class::A => a,
            Class::B => b,
            Class::C => c,
        }
    }
}

/// A run of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The benchmark.
    pub kernel: Name,
    /// The problem size.
    pub class: Class,
    /// Number of ranks.
    pub ranks: usize,
    /// Time of the part that is measured, of the slowest rank, in seconds.
    pub time_s: f64,
    /// Millions of operations a second, of all ranks together.
    #[serde(deserialize_with = "number")]
    pub mops: f64,
    /// Whether every check was passed.
    pub verified: bool,
    /// What the result was verified against.
    pub checks: Vec<Check>,
    /// Messages from one rank to another, of all ranks, from the start of the program to its end.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Collective calls, likewise.
    pub collectives: u64,
    /// Bytes given to them.
    pub collective_bytes: u64,
    /// The part of the measured phases that ranks spent in MPI.
    #[serde(deserialize_with = "number")]
    pub mpi_share: f64,
    /// For each rank, what the run took of memory at most, beyond what MPI had taken before; null where that is not
    /// known.
    pub memory_bytes: Vec<Option<u64>>,
    /// A list of phases for each rank.
    pub phases: Vec<Vec<Phase>>,
}

/// A number of the result beside the one that is published for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What it is.
    pub what: String,
    /// What was computed.
    #[serde(deserialize_with = "number")]
    pub value: f64,
    /// What is published.
    pub expected: f64,
    /// Their distance, as a part of the published number; as it is, if that is zero.
    #[serde(deserialize_with = "number")]
    pub error: f64,
    /// The greatest error of a right result.
    pub tolerance: f64,
    /// Whether it is right.
    pub passed: bool,
}

/// What one rank did in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// What the program calls it.
    pub name: String,
    /// From its entries to its exits, in seconds.
    pub wall_s: f64,
    /// Of these, the time inside MPI.
    pub mpi_s: f64,
    /// Messages sent from one rank to another.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Collective calls.
    pub collectives: u64,
    /// Bytes that this rank gave to them.
    pub collective_bytes: u64,
}

/// Reads a number. One that is none (a wrong result may be NaN) is null in JSON.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

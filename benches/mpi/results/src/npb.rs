//! The NAS Parallel Benchmarks.

use jitterlab_base::named;
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
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
    /// True if every check was passed.
    pub verified: bool,
    /// The checks of the result.
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
    /// The most memory that the run took on each rank, beyond what MPI had taken before; null where that is not
    /// known.
    pub memory_bytes: Vec<Option<u64>>,
    /// A list of phases for each rank.
    pub phases: Vec<Vec<Phase>>,
}

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let verified = match self.verified {
            true => "verified",
            false => "NOT VERIFIED",
        };
        let head = format!(
            "{} class {} on {}: {}, {} Mop/s, {verified}",
            self.kernel,
            self.class,
            show::counted(self.ranks, "rank"),
            show::time(self.time_s * 1e9),
            show::number(self.mops)
        );
        let check = |check: &Check| {
            let passed = if check.passed { "" } else { "WRONG" };
            [
                check.what.clone(),
                format!("{:.13e}", check.value),
                format!("{:.1e}", check.error),
                format!("{:.0e}", check.tolerance),
                passed.into(),
            ]
        };
        let sent = format!(
            "{}, {}; {}, {}; {} of the time in MPI",
            show::counted(self.messages as usize, "message"),
            show::size(self.bytes as f64),
            show::counted(self.collectives as usize, "collective call"),
            show::size(self.collective_bytes as f64),
            show::percent(self.mpi_share)
        );
        let most = self.memory_bytes.iter().max().copied().flatten();
        let memory = most.map(|most| {
            let most = show::size(most as f64);
            Part::Line(format!("{most} of memory in a rank, at most"))
        });
        let of_rank = |(rank, phases): (usize, &Vec<Phase>)| {
            let row = move |phase: &Phase| phase.row(rank);
            phases.iter().map(row).collect::<Vec<_>>()
        };
        let mut parts = vec![
            Part::Line(head),
            Part::table(
                ["verified", "computed", "error", "allowed", ""],
                self.checks.iter().map(check),
            ),
            Part::Line(sent),
        ];
        parts.extend(memory);
        parts.push(Part::table(
            [
                "phase",
                "rank",
                "time",
                "in MPI",
                "messages",
                "of",
                "collectives",
            ],
            self.phases.iter().enumerate().flat_map(of_rank),
        ));
        parts
    }
}

/// A number of the result beside the one that is published for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The name of it.
    pub what: String,
    /// The computed value.
    #[serde(deserialize_with = "number")]
    pub value: f64,
    /// The published value.
    pub expected: f64,
    /// Their distance, as a part of the published number; as it is, if that is zero.
    #[serde(deserialize_with = "number")]
    pub error: f64,
    /// The greatest error of a right result.
    pub tolerance: f64,
    /// True if it is right.
    pub passed: bool,
}

/// The work of one rank in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name in the program.
    pub name: String,
    /// The time from its entries to its exits, in seconds.
    pub wall_s: f64,
    /// The part of that time inside MPI.
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

impl Phase {
    fn row(&self, rank: usize) -> [String; 7] {
        [
            self.name.clone(),
            rank.to_string(),
            show::time(self.wall_s * 1e9),
            show::time(self.mpi_s * 1e9),
            show::count(self.messages),
            show::size(self.bytes as f64),
            show::count(self.collectives),
        ]
    }
}

/// Reads a number. One that is none (a wrong result may be NaN) is null in JSON.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_shown_what_is_wrong_and_where_the_time_went() {
        let phase = Phase {
            name: "conjugate gradient".into(),
            wall_s: 0.5,
            mpi_s: 0.125,
            messages: 1_500,
            bytes: 2_048,
            collectives: 3,
            collective_bytes: 24,
        };
        let report = Report {
            kernel: Name::Cg,
            class: Class::S,
            ranks: 1,
            time_s: 0.5,
            mops: 1234.5,
            verified: false,
            checks: vec![Check {
                what: "zeta".into(),
                value: 8.5,
                expected: 8.0,
                error: 0.0625,
                tolerance: 1e-10,
                passed: false,
            }],
            messages: 1_500,
            bytes: 2_048,
            collectives: 3,
            collective_bytes: 24,
            mpi_share: 0.25,
            memory_bytes: vec![Some(3 << 20)],
            phases: vec![vec![phase]],
        };
        assert_eq!(
            report.text(),
            "cg class S on 1 rank: 500 ms, 1,234 Mop/s, NOT VERIFIED\n\
             verified  computed           error   allowed\n\
             zeta      8.5000000000000e0  6.2e-2  1e-10    WRONG\n\
             1,500 messages, 2 KiB; 3 collective calls, 24 B; 25 % of the time in MPI\n\
             3 MiB of memory in a rank, at most\n\
             phase               rank  time    in MPI  messages  of     collectives\n\
             conjugate gradient  0     500 ms  125 ms  1,500     2 KiB  3\n"
        );
    }
}

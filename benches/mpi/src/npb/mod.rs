//! The NAS Parallel Benchmarks, from their published algorithms: NASA's report RNR-94-007 ("The NAS Parallel
//! Benchmarks", Bailey et al., 1994). Problem sizes, the generator of pseudo-random numbers and the values that a
//! result is verified against are those of NPB 3.4.

// Published values stand here with all the digits that were published.
#![allow(clippy::excessive_precision)]

mod adi;
mod bt;
mod cg;
mod ep;
mod flow;
mod ft;
mod is;
mod lu;
pub mod memory;
mod mg;
mod outcome;
mod random;
mod sp;
mod vector;

use crate::comm::Comm;

pub use jitterlab_mpi_results::npb::{Class, Name};
pub use outcome::{Check, Outcome};

/// A benchmark.
pub struct Kernel {
    /// Its name on the command line.
    pub name: Name,
    /// A line about what it does.
    pub title: &'static str,
    /// The numbers of ranks that it runs on.
    pub ranks: Ranks,
    /// Runs it; called on every rank.
    pub run: fn(&Comm, Class) -> Outcome,
}

/// The numbers of ranks that a benchmark runs on.
pub struct Ranks {
    /// The rule in words, to follow "runs on".
    pub rule: &'static str,
    /// True if a number is one of them, for a class.
    pub allows: fn(usize, Class) -> bool,
}

impl Ranks {
    /// Any number.
    pub const ANY: Ranks = Ranks {
        rule: "any number of ranks",
        allows: |_, _| true,
    };

    /// 1, 2, 4, ...
    pub const POWERS_OF_TWO: Ranks = Ranks {
        rule: "a power of two ranks",
        allows: |ranks, _| ranks.is_power_of_two(),
    };
}

/// All there are.
pub static KERNELS: [Kernel; 8] = [
    bt::KERNEL,
    cg::KERNEL,
    ep::KERNEL,
    ft::KERNEL,
    is::KERNEL,
    lu::KERNEL,
    mg::KERNEL,
    sp::KERNEL,
];

/// The kernel of a name.
pub fn kernel(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name.name() == name)
}

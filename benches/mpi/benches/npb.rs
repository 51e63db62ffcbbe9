//! Every kernel in class A on one and two ranks, on four where those are not allowed, beside the reference
//! implementation's figures:
//!
//!     RUSTFLAGS='-C target-cpu=native' cargo bench -p jitterlab-mpi --bench npb [-- KERNEL…]
//!
//! The reference is no part of a run: its figures are those of NPB 3.4 in Fortran and C, measured once on a virtual
//! machine with two cores (x86-64) with Open MPI 4.1.4, gfortran and gcc 12.2, -O3 -march=native, the best of several. A
//! ratio to them says something on such a machine, and only there.

#[path = "../tests/common/mod.rs"]
mod common;

use jitterlab_mpi::npb::{Class, KERNELS, Kernel};

const REPEATS: usize = 5;

/// Kernel, ranks, Mop/s of the reference in class A.
const REFERENCE: [(&str, usize, f64); 16] = [
    ("bt", 1, 3758.0),
    ("bt", 4, 9241.0),
    ("cg", 1, 2483.0),
    ("cg", 2, 4969.0),
    ("ep", 1, 187.0),
    ("ep", 2, 337.0),
    ("ft", 1, 3732.0),
    ("ft", 2, 6277.0),
    ("is", 1, 156.0),
    ("is", 2, 352.0),
    ("lu", 1, 7099.0),
    ("lu", 2, 15226.0),
    ("mg", 1, 4804.0),
    ("mg", 2, 9684.0),
    ("sp", 1, 5531.0),
    ("sp", 4, 10200.0),
];

fn main() {
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    println!("class A, best of {REPEATS}; ratio: Mop/s of ours / of the reference\n");
    println!("kernel  ranks      Mop/s    time, s  in MPI  MiB a rank  reference  ratio");
    for kernel in &KERNELS {
        if named.is_empty() || named.iter().any(|name| name == kernel.name.name()) {
            let allowed = |ranks: &usize| (kernel.ranks.allows)(*ranks, Class::A);
            for ranks in [1, 2, 4].into_iter().filter(allowed).take(2) {
                compare(kernel, ranks);
            }
        }
    }
}

fn compare(kernel: &Kernel, ranks: usize) {
    let best = (0..REPEATS)
        .map(|_| run(kernel, ranks))
        .max_by(|a, b| a.mops.total_cmp(&b.mops));
    let Run {
        mops,
        time,
        share,
        mib,
    } = best.unwrap();
    print!(
        "{:<7} {ranks:>5} {mops:>10.0} {time:>10.3} {:>5.1} % {mib:>11.1}",
        kernel.name.name(),
        100.0 * share
    );
    let reference = REFERENCE
        .iter()
        .find(|(name, of, _)| *name == kernel.name.name() && *of == ranks);
    match reference {
        Some((_, _, reference)) => println!(" {reference:>10.0} {:>6.2}", mops / reference),
        None => println!(),
    }
}

struct Run {
    mops: f64,
    time: f64,
    /// The part of it in MPI.
    share: f64,
    /// Memory of the rank that took most.
    mib: f64,
}

fn run(kernel: &Kernel, ranks: usize) -> Run {
    let program = env!("CARGO_BIN_EXE_jitterlab-mpi");
    let arguments = ["npb", kernel.name.name(), "--class=A", "--format=json"];
    let ran = common::mpirun(&["mpirun", "--oversubscribe"], ranks, program, &arguments);
    let report = ran.report();
    assert_eq!(report["verified"], true, "{}: {ran}", kernel.name.name());
    let number = |name: &str| report[name].as_f64().unwrap();
    let memory = report["memory_bytes"].as_array().unwrap().iter();
    let most = memory
        .map(|bytes| bytes.as_f64().unwrap())
        .fold(0.0, f64::max);
    Run {
        mops: number("mops"),
        time: number("time_s"),
        share: number("mpi_share"),
        mib: most / f64::from(1 << 20),
    }
}

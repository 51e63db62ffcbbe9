//! Sums of vectors of `f64`, everywhere.

use mpi::collective::SystemOperation;
use mpi::traits::CommunicatorCollectives as _;

use super::{Bench, Case, Sample};

pub const CASE: Case = Case {
    name: "allreduce",
    title: "all ranks get the sum of their vectors; --size is the size of a vector",
    unit: size_of::<f64>(),
    least: size_of::<f64>(),
    parts: false,
    sample: Sample::Call,
    options: &[],
    run,
};

fn run(bench: &mut Bench<'_>) {
    let world = bench.world();
    let data = vec![1.0_f64; bench.plan().size / size_of::<f64>()];
    let mut sums = data.clone();
    bench.apart(|| world.all_reduce_into(&data[..], &mut sums[..], SystemOperation::sum()));
}

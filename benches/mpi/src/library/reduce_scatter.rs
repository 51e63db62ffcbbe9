//! Sums of vectors of `f64`. Each rank gets its part of a sum (`MPI_Reduce_scatter_block`).

use mpi::collective::SystemOperation;
use mpi::traits::CommunicatorCollectives as _;

use super::{Bench, Case, Sample};

pub const CASE: Case = Case {
    name: "reduce-scatter",
    title: "each rank gets a part of the sum of all vectors; --size is the size of a part",
    unit: size_of::<f64>(),
    least: size_of::<f64>(),
    parts: true,
    sample: Sample::Call,
    options: &[],
    run,
};

fn run(bench: &mut Bench<'_>) {
    let world = bench.world();
    let mut part = vec![0.0_f64; bench.plan().size / size_of::<f64>()];
    let data = vec![1.0_f64; part.len() * bench.ranks()];
    bench.apart(|| {
        world.reduce_scatter_block_into(&data[..], &mut part[..], SystemOperation::sum());
    });
}

//! Everybody has a part for everybody.

use mpi::traits::CommunicatorCollectives as _;

use super::{Bench, Case, Sample};

pub const CASE: Case = Case {
    name: "alltoall",
    title: "each rank sends a part to each other rank; --size is the size of a part",
    unit: 1,
    least: 1,
    parts: true,
    sample: Sample::Call,
    options: &[],
    run,
};

fn run(bench: &mut Bench<'_>) {
    let world = bench.world();
    let data = vec![0x5a_u8; bench.plan().size * bench.ranks()];
    let mut result = data.clone();
    bench.apart(|| world.all_to_all_into(&data[..], &mut result[..]));
}

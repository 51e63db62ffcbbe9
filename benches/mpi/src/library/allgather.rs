//! Everybody gets the data of everybody.

use mpi::traits::CommunicatorCollectives as _;

use super::{Bench, Case, Sample};

pub const CASE: Case = Case {
    name: "allgather",
    title: "all ranks get the data of all ranks; --size is the size of one rank's data",
    unit: 1,
    least: 1,
    parts: true,
    sample: Sample::Call,
    options: &[],
    run,
};

fn run(bench: &mut Bench<'_>) {
    let world = bench.world();
    let data = vec![0x5a_u8; bench.plan().size];
    let mut result = vec![0_u8; bench.plan().size * bench.ranks()];
    bench.apart(|| world.all_gather_into(&data[..], &mut result[..]));
}

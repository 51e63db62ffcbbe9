//! Barriers, one after the other: where one is left, the next is entered.

use mpi::traits::CommunicatorCollectives as _;

use super::{Bench, Case, Sample};

pub const CASE: Case = Case {
    name: "barrier",
    title: "one barrier after the other, without --size",
    unit: 0,
    least: 0,
    parts: false,
    sample: Sample::Call,
    options: &[],
    run,
};

fn run(bench: &mut Bench<'_>) {
    let world = bench.world();
    bench.back_to_back(|| world.barrier());
}

//! Broadcasts from rank 0.

use mpi::collective::Root as _;
use mpi::topology::Communicator as _;

use super::{Bench, Case, Sample};

pub const CASE: Case = Case {
    name: "bcast",
    title: "rank 0 sends its data to all ranks; --size is the size of the data",
    unit: 1,
    least: 1,
    parts: false,
    sample: Sample::Call,
    options: &[],
    run,
};

fn run(bench: &mut Bench<'_>) {
    let root = bench.world().process_at_rank(0);
    let mut data = vec![0x5a_u8; bench.plan().size];
    bench.apart(|| root.broadcast_into(&mut data[..]));
}

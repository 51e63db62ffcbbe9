//! A rank that goes wrong ends all others, who would wait for its messages for ever.

mod common;

use jitterlab_mpi::comm::{Comm, end_all_with_a_panic};
use mpi::Threading;

#[test]
fn a_rank_that_panics_ends_the_others() {
    let ran = common::two_ranks();
    assert_eq!(ran.status, Some(3), "{ran}");
    assert!(ran.stderr.contains("rank 1 goes wrong"), "{ran}");
}

#[test]
#[ignore = "the test above starts it, as a rank"]
fn a_rank() {
    let (universe, _) = mpi::initialize_with_threading(Threading::Single).unwrap();
    end_all_with_a_panic();
    let comm = Comm::new(universe.world());
    if comm.rank() == 1 {
        panic!("rank 1 goes wrong");
    }
    comm.barrier();
}

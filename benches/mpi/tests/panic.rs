//! A rank that goes wrong ends all others, who would wait for its messages for ever.

mod common;

use std::env;

use jitterlab_mpi::comm::{Comm, end_all_with_a_panic};
use mpi::Threading;

#[test]
fn a_rank_that_panics_ends_the_others() {
    let launcher = ["mpirun", "--oversubscribe", "--timeout", "300"];
    let this = env::current_exe().unwrap();
    let as_rank = ["--exact", "a_rank", "--ignored", "--nocapture"];
    let ran = common::mpirun(&launcher, 2, this.to_str().unwrap(), &as_rank);
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

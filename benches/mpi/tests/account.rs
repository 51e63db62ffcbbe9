//! What a communicator keeps account of.

mod common;

use jitterlab_mpi::comm::Comm;
use mpi::Threading;

#[test]
fn what_is_sent_is_counted() {
    let ran = common::two_ranks();
    assert_eq!(ran.status, Some(0), "{ran}");
}

/// Memory may be longer than the parts that are sent from it.
#[test]
#[ignore = "the test above starts it, as a rank"]
fn a_rank() {
    let (universe, _) = mpi::initialize_with_threading(Threading::Single).unwrap();
    let comm = Comm::new(universe.world());
    // One number to rank 0, and two to rank 1.
    let each = 1 + comm.rank();
    let mut received = vec![0; 2 * each];
    comm.all_to_all_parts(&[7_u32; 100], &[1, 2], &mut received, &[each as i32; 2]);
    assert!(received.iter().all(|&number| number == 7));
    let [setup] = &comm.phases()[..] else {
        panic!("one phase");
    };
    assert_eq!((setup.collectives, setup.collective_bytes), (1, 12));
}

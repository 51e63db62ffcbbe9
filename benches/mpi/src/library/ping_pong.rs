//! Ping-pong: rank k sends to rank k + N/2, which sends back. All pairs do it at the same time.

use mpi::point_to_point::{Destination as _, Source as _};
use mpi::topology::Communicator as _;

use super::{Bench, Case, Choice, Sample};

pub const CASE: Case = Case {
    name: "ping-pong",
    title: "rank k sends a message to rank k + N/2 and gets one back; all pairs at once",
    unit: 1,
    least: 0,
    parts: false,
    sample: Sample::RoundTrip,
    options: &[Choice::NonBlocking],
    run,
};

const TAG: mpi::Tag = 1;

fn run(bench: &mut Bench<'_>) {
    let (rank, half) = (bench.rank(), bench.ranks() / 2);
    let begins = rank < half;
    if !begins {
        bench.publish_nothing();
    }
    let peer = if begins { rank + half } else { rank - half };
    let peer = bench.world().process_at_rank(peer as i32);
    let data = vec![0x5a_u8; bench.plan().size];
    let mut into = vec![0_u8; bench.plan().size];
    match (begins, bench.plan().non_blocking) {
        (true, false) => bench.back_to_back(|| {
            peer.send_with_tag(&data[..], TAG);
            peer.receive_into_with_tag(&mut into[..], TAG);
        }),
        (false, false) => bench.back_to_back(|| {
            peer.receive_into_with_tag(&mut into[..], TAG);
            peer.send_with_tag(&data[..], TAG);
        }),
        (true, true) => bench.back_to_back(|| {
            mpi::request::scope(|scope| {
                let answer = peer.immediate_receive_into_with_tag(scope, &mut into[..], TAG);
                let message = peer.immediate_send_with_tag(scope, &data[..], TAG);
                message.wait_without_status();
                answer.wait_without_status();
            });
        }),
        (false, true) => bench.back_to_back(|| {
            mpi::request::scope(|scope| {
                peer.immediate_receive_into_with_tag(scope, &mut into[..], TAG)
                    .wait_without_status();
                peer.immediate_send_with_tag(scope, &data[..], TAG)
                    .wait_without_status();
            });
        }),
    }
}

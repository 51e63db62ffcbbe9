//! What the timeout is made from.

use super::pair::Pair;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transaction::InitiatorState;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// A request, its handler, and the reply take so long in a [`Pair`].
const ROUND_TRIP: u64 = 2_000;

/// Both ends wait alike, so that the target repeats its reply when the initiator repeats its request.
fn config(protocol: Protocol) -> Config {
    Config {
        protocol,
        window: 4,
        message: 64,
        min_rto: MS,
        initial_rto: MS,
        ..Config::default()
    }
}

#[test]
fn a_reply_that_the_target_repeats_by_itself_is_no_sample() {
    let mut pair = Pair::connected(config(Protocol::Amudp));
    let slot = pair.request(b"abc");
    pair.settle_once();
    assert_eq!(pair.to_a.len(), 1);
    pair.to_a.clear();
    // The request goes out again, and is lost, until the target repeats its reply.
    while pair.to_a.is_empty() {
        assert!(pair.pass());
        pair.to_b.clear();
    }
    pair.settle();
    assert_eq!(
        pair.a.connection.state(slot),
        Some(InitiatorState::Processed)
    );
    let smoothed = pair.a.connection.timeout().smoothed();
    assert!(smoothed.unwrap() <= ROUND_TRIP, "{smoothed:?}");
    assert_eq!(pair.a.connection.timeout().after(0), MS);
}

/// Delivers and runs, but loses the frames that `lost` says, until nothing is left to do but wait.
fn settle(pair: &mut Pair, lost: &mut impl Iterator<Item = bool>) {
    loop {
        pair.to_a.retain(|_| !lost.next().unwrap_or(false));
        pair.to_b.retain(|_| !lost.next().unwrap_or(false));
        if pair.to_a.is_empty() && pair.to_b.is_empty() {
            return;
        }
        pair.settle_once();
    }
}

fn any_protocol() -> impl Strategy<Value = Protocol> {
    proptest::sample::select(Protocol::ALL.to_vec())
}

proptest! {
    /// Karn's rule: whatever is lost and repeated, by either end, each sample is a round trip.
    #[test]
    fn no_sample_is_longer_than_a_round_trip(
        protocol in any_protocol(),
        lost in proptest::collection::vec(any::<bool>(), 0..100),
    ) {
        let mut pair = Pair::connected(config(protocol));
        let mut lost = lost.into_iter();
        for _ in 0..10 {
            let slot = pair.request(b"abc");
            loop {
                settle(&mut pair, &mut lost);
                let state = pair.a.connection.state(slot).unwrap();
                if state.is_final() || state.is_unknown() {
                    break;
                }
                prop_assert!(pair.pass());
            }
            let smoothed = pair.a.connection.timeout().smoothed();
            prop_assert!(smoothed.is_none_or(|smoothed| smoothed <= ROUND_TRIP), "{smoothed:?}");
            pair.a.connection.release(slot).unwrap();
            pair.a.act(&mut pair.to_b);
        }
    }
}

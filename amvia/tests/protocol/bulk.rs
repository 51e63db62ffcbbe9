//! Messages above the frame size, in both directions.

use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::wire::Body;

use super::pair::{Pair, body};

fn config(protocol: Protocol) -> Config {
    Config {
        protocol,
        window: 2,
        message: 300_000,
        burst: 16,
        ..Config::default()
    }
}

fn message(length: usize) -> Vec<u8> {
    (0..length)
        .map(|index| (index * 7 + index / 251) as u8)
        .collect()
}

/// Exchanges a message, with `lost` saying of each frame, counted from 0, whether it is lost. Gives the segments of the
/// request that were sent.
fn exchange(
    protocol: Protocol,
    length: usize,
    reorder: bool,
    lost: impl Fn(usize) -> bool,
) -> usize {
    let mut pair = Pair::connected(config(protocol));
    let request = message(length);
    let slot = pair.request(&request);
    let mut seen = 0;
    let mut parts = 0;
    while pair.a.connection.state(slot) != Some(InitiatorState::Processed) {
        parts += pair
            .to_b
            .iter()
            .filter(|frame| matches!(body(frame), Body::Request(_)))
            .count();
        for frames in [&mut pair.to_a, &mut pair.to_b] {
            frames.retain(|_| {
                seen += 1;
                !lost(seen - 1)
            });
            if reorder {
                frames.reverse();
            }
        }
        pair.settle_once();
        if pair.to_a.is_empty() && pair.to_b.is_empty() {
            let state = pair.a.connection.state(slot).unwrap();
            assert!(
                state == InitiatorState::Processed || pair.pass(),
                "{state}: nothing is waited for"
            );
            assert!(!state.is_unknown(), "{protocol}, {length} bytes: {state}");
        }
    }
    let mut answer = request;
    answer.reverse();
    assert_eq!(pair.a.reply(slot), answer);
    assert_eq!(pair.b.runs(), 1);
    parts
}

#[test]
fn a_message_of_any_size_arrives_whole() {
    for protocol in Protocol::ALL {
        for length in [0, 1, 1400, 1401, 2800, 2801, 100_000, 300_000] {
            assert_eq!(
                exchange(protocol, length, false, |_| false),
                length.div_ceil(1400).max(1)
            );
            exchange(protocol, length, true, |_| false);
        }
    }
}

#[test]
fn what_is_lost_is_sent_again_and_nothing_else() {
    for protocol in Protocol::ALL {
        // Each tenth frame is lost, be it a segment or an answer; without the losses there are 72 segments.
        let parts = exchange(protocol, 100_000, false, |frame| frame % 10 == 3);
        assert!(
            (72 + 7..=72 + 20).contains(&parts),
            "{protocol}: {parts} segments"
        );
        exchange(protocol, 100_000, true, |frame| frame % 3 == 1);
        for lost in 0..40 {
            exchange(protocol, 20_000, false, |frame| frame == lost);
        }
    }
}

//! A peer that lies: frames with the right tag, and anything else in them.

use jitterlab_amvia::protocol::{Action, Config, Protocol};
use jitterlab_amvia::transaction::{EndpointId, Incarnation};
use jitterlab_amvia::wire::{Body, Have, Head, Hello, Number, Part, Reason, Refusal, Tag};
use proptest::prelude::*;

use super::pair::{ECHO, Pair, local};

/// Numbers that may fit, or not.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..12_u64, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn body() -> impl Strategy<Value = Body> {
    let id = (number(), prop_oneof![3 => 0..4_u32, 1 => any::<u32>()]).prop_map(
        |(sequence, incarnation)| Number {
            sequence: sequence.max(1),
            incarnation: Incarnation(incarnation),
        },
    );
    let have = (prop_oneof![3 => 0..5_u32, 1 => any::<u32>()], any::<u64>())
        .prop_map(|(first, beyond)| Have { first, beyond });
    let sizes = (
        prop_oneof![0..20_u32, any::<u32>()],
        prop_oneof![0..2_000_u32, any::<u32>()],
    );
    (
        id,
        number(),
        0..5_u16,
        have,
        sizes,
        0..14_usize,
        any::<bool>(),
        number(),
    )
        .prop_map(
            |(number, first_incomplete, attempt, have, (segment, length), kind, flag, other)| {
                let offset = segment.wrapping_mul(56).min(length);
                let part = Part {
                    number,
                    first_incomplete,
                    attempt,
                    handler: if flag { ECHO } else { 9 },
                    offset,
                    size: (length - offset).min(56),
                    length,
                    push: flag,
                };
                let hello = Hello {
                    to: EndpointId(2),
                    tag: Tag(other.max(1)),
                    incarnation: number.incarnation,
                    since: Incarnation(other as u32),
                    first_incomplete: first_incomplete.max(1),
                    mtu: length.max(128),
                    message: length,
                    window: 4,
                    protocol: Protocol::ALL[segment as usize % 3],
                    attempt,
                };
                match kind {
                    0..4 => Body::Request(part),
                    4 | 5 => Body::Reply(part),
                    6 => Body::Pull {
                        number,
                        first_incomplete,
                        attempt,
                        have,
                    },
                    7 => Body::Query {
                        number,
                        first_incomplete,
                        attempt,
                    },
                    8 => Body::Ack { number, attempt },
                    9 => Body::Missing {
                        number,
                        attempt,
                        have,
                    },
                    10 => Body::Nack {
                        number,
                        attempt,
                        reason: Reason::ALL[segment as usize % 6],
                    },
                    11 => Body::ReplyAck {
                        number,
                        first_incomplete,
                        attempt,
                    },
                    12 if flag => Body::Refuse {
                        reason: Refusal::Full,
                    },
                    12 => Body::Accept(hello),
                    _ => Body::Connect(hello),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_liar_breaks_nothing_but_its_own_transactions(
        bodies in proptest::collection::vec((body(), 0..4_u8), 1..40),
        protocol in 0..3_usize,
    ) {
        let config = Config { protocol: Protocol::ALL[protocol], window: 4, message: 1_000, mtu: 128, ..Config::default() };
        let mut pair = Pair::connected(config);
        let Pair { b, to_a, now, .. } = &mut pair;
        for (body, then) in bodies {
            *now += 300_000;
            let head = Head { tag: local(2, 1, 1).tag, from: EndpointId(1), body };
            b.connection.frame(*now, &head, matches!(body, Body::Request(part) if part.handler == ECHO), &mut b.shared);
            let mut waiting = Vec::new();
            while let Some(action) = b.connection.next() {
                if let Action::Run { slot, id, .. } = action {
                    waiting.push((slot, id));
                }
                if let Action::Send { head, .. } = action {
                    to_a.push(head.encode(&[]).to_vec());
                }
            }
            match then {
                0 => {
                    b.connection.request(*now, 1, 5).ok();
                }
                1 => b.connection.expire(*now, &mut b.shared),
                _ => {
                    for (slot, id) in waiting {
                        if b.connection.start(*now, slot, id, &mut b.shared) {
                            prop_assert!(b.connection.handled(*now, slot, 1, 3, &mut b.shared).is_ok());
                        }
                    }
                }
            }
            while b.connection.next().is_some() {}
            prop_assert!(b.connection.credits() <= 4);
            prop_assert!(b.shared.used() <= b.shared.slots());
        }
    }
}

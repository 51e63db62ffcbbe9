//! Frames: what is written is read, and nothing else is.

use jitterlab_amvia::transaction::{EndpointId, Incarnation};
use jitterlab_amvia::wire::{
    Body, Field, HEAD, Have, Head, Hello, Number, Part, Protocol, Reason, Refusal, Room,
    SEALED_HEAD, SHORT_HEAD, Tag, VERSION, WireError, decode, decode_bare, decode_sealed,
    decode_short,
};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = Number> {
    (1..=u64::MAX, any::<u32>()).prop_map(|(sequence, incarnation)| Number {
        sequence,
        incarnation: Incarnation(incarnation),
    })
}

fn hello() -> impl Strategy<Value = Hello> {
    let numbers = (
        any::<u64>(),
        1..=u64::MAX,
        any::<u32>(),
        any::<u32>(),
        1..=u64::MAX,
    );
    let sizes = (
        any::<u32>(),
        any::<u32>(),
        1..=64_u8,
        0..3_usize,
        any::<u16>(),
    );
    (numbers, sizes).prop_map(
        |(
            (to, tag, incarnation, since, first_incomplete),
            (mtu, message, window, protocol, attempt),
        )| Hello {
            to: EndpointId(to),
            tag: Tag(tag),
            incarnation: Incarnation(incarnation),
            since: Incarnation(since),
            first_incomplete,
            mtu,
            message,
            window,
            protocol: Protocol::ALL[protocol],
            attempt,
        },
    )
}

/// A part that has this payload.
fn part(payload: usize) -> impl Strategy<Value = Part> {
    let size = payload as u32;
    (
        number(),
        any::<u64>(),
        any::<u16>(),
        any::<u16>(),
        0..1_000_000_u32,
        0..1_000_u32,
        any::<bool>(),
    )
        .prop_map(
            move |(number, first_incomplete, attempt, handler, offset, rest, push)| {
                let (offset, rest) = if size == 0 { (0, 0) } else { (offset, rest) };
                Part {
                    number,
                    first_incomplete,
                    attempt,
                    handler,
                    offset,
                    size,
                    length: offset + size + rest,
                    push,
                }
            },
        )
}

fn body() -> impl Strategy<Value = (Body, Vec<u8>)> {
    let have = (any::<u32>(), any::<u64>()).prop_map(|(first, beyond)| Have { first, beyond });
    let bare = (
        number(),
        any::<u64>(),
        any::<u16>(),
        have,
        0..6_usize,
        0..5_usize,
        0..7_usize,
    )
        .prop_map(
            |(number, first_incomplete, attempt, have, reason, refusal, kind)| match kind {
                0 => Body::Pull {
                    number,
                    first_incomplete,
                    attempt,
                    have,
                },
                1 => Body::Query {
                    number,
                    first_incomplete,
                    attempt,
                },
                2 => Body::Ack { number, attempt },
                3 => Body::Missing {
                    number,
                    attempt,
                    have,
                },
                4 => Body::Nack {
                    number,
                    attempt,
                    reason: Reason::ALL[reason],
                },
                5 => Body::ReplyAck {
                    number,
                    first_incomplete,
                    attempt,
                },
                _ => Body::Refuse {
                    reason: Refusal::ALL[refusal],
                },
            },
        );
    let with_part = proptest::collection::vec(any::<u8>(), 0..200).prop_flat_map(|payload| {
        (part(payload.len()), any::<bool>()).prop_map(move |(part, reply)| {
            (
                if reply {
                    Body::Reply(part)
                } else {
                    Body::Request(part)
                },
                payload.clone(),
            )
        })
    });
    prop_oneof![
        bare.prop_map(|body| (body, Vec::new())),
        with_part,
        hello().prop_map(|hello| (Body::Connect(hello), Vec::new())),
        hello().prop_map(|hello| (Body::Accept(hello), Vec::new())),
    ]
}

fn frame() -> impl Strategy<Value = (Head, Vec<u8>, Vec<u8>)> {
    (any::<u64>(), any::<u64>(), body()).prop_map(|(tag, from, (body, payload))| {
        let head = Head {
            tag: Tag(tag),
            from: EndpointId(from),
            body,
        };
        let mut bytes = head.encode(&payload).to_vec();
        bytes.extend(&payload);
        (head, payload, bytes)
    })
}

/// The bytes with the checksum that they should have.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[4..8].fill(0);
    // That before a short head is of what follows.
    let from = if bytes[3] == 12 { 8 } else { 0 };
    let checksum = crc32c::crc32c(&bytes[from..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read((head, payload, bytes) in frame()) {
        prop_assert_eq!(decode(&bytes), Ok((head, &payload[..])));
    }

    #[test]
    fn a_frame_may_go_without_a_checksum((head, payload, bytes) in frame()) {
        let bare = [&head.encode_bare()[..], &payload].concat();
        prop_assert_eq!(decode_bare(&bare), Ok((head, &payload[..])));
        prop_assert_eq!(decode_bare(&bytes), Ok((head, &payload[..])));
        prop_assert!(bare[4..8] == bytes[4..8] || decode(&bare) == Err(WireError::Checksum));
    }

    #[test]
    fn a_head_that_can_be_short_says_the_same((head, payload, bytes) in frame()) {
        let Some(short) = head.encode_short() else {
            return Ok(());
        };
        let short = [&short[..], &payload].concat();
        prop_assert_eq!(decode_short(&short), Some(Ok((head.tag, head.body, &payload[..]))));
        prop_assert_eq!(decode_short(&bytes), None);
        prop_assert!(decode_bare(&short).is_err());

        let sealed = head.encode_sealed(&payload, &mut Room::default()).unwrap().concat();
        prop_assert_eq!(decode_sealed(&sealed), Some(Ok((head.tag, head.body, &payload[..]))));
        for other in [&bytes, &short] {
            prop_assert_eq!(decode_sealed(other), None);
        }
        prop_assert_eq!(decode_short(&sealed), None);
        prop_assert!(decode(&sealed).is_err());
    }

    #[test]
    fn one_changed_bit_of_a_short_head_is_noticed((head, payload, _) in frame(), at in any::<prop::sample::Index>()) {
        let mut room = Room::default();
        let Some(sealed) = head.encode_sealed(&payload, &mut room) else {
            return Ok(());
        };
        let mut bytes = sealed.concat();
        let bit = at.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(!matches!(decode_sealed(&bytes), Some(Ok(_))));
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn what_is_read_of_a_short_head_can_have_been_written(mut bytes in proptest::collection::vec(any::<u8>(), SHORT_HEAD..SHORT_HEAD + 20), kind in 0..14_u8) {
        bytes[0] = 0x80 | kind;
        if let Some(Ok((tag, body, payload))) = decode_short(&bytes) {
            let from = EndpointId(1);
            let head = Head { tag, from, body };
            prop_assert_eq!(&head.encode_short().unwrap()[..], &bytes[..SHORT_HEAD]);
            prop_assert_eq!(payload, &bytes[SHORT_HEAD..]);
        }
    }

    #[test]
    fn what_is_read_of_a_short_head_with_a_checksum_can_have_been_written(bytes in proptest::collection::vec(any::<u8>(), SEALED_HEAD..SEALED_HEAD + 20), kind in 0..14_u8, is_short in any::<bool>()) {
        let mut bytes = bytes;
        bytes[..4].copy_from_slice(&[b'A', b'M', VERSION, 12]);
        bytes[8] = kind | if is_short { 0x80 } else { 0 };
        let bytes = sealed(bytes);
        if let Some(Ok((tag, body, payload))) = decode_sealed(&bytes) {
            let from = EndpointId(1);
            let head = Head { tag, from, body };
            prop_assert_eq!(head.encode_sealed(payload, &mut Room::default()).unwrap().concat(), bytes.clone());
            prop_assert_eq!(payload, &bytes[SEALED_HEAD..]);
        }
    }

    #[test]
    fn one_changed_bit_is_noticed((_, _, mut bytes) in frame(), at in any::<prop::sample::Index>()) {
        let bit = at.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn a_cut_frame_is_noticed((_, _, bytes) in frame(), at in any::<prop::sample::Index>()) {
        prop_assert!(decode(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn what_is_read_can_have_been_written(bytes in proptest::collection::vec(any::<u8>(), HEAD..HEAD + 20), kind in 0..14_u8) {
        let mut bytes = bytes;
        bytes[..4].copy_from_slice(&[b'A', b'M', VERSION, kind]);
        let bytes = sealed(bytes);
        if let Ok((head, payload)) = decode(&bytes) {
            prop_assert_eq!(&head.encode(payload)[..], &bytes[..HEAD]);
        }
    }
}

fn ack() -> Vec<u8> {
    let number = Number {
        sequence: 7,
        incarnation: Incarnation(1),
    };
    Head {
        tag: Tag(1),
        from: EndpointId(2),
        body: Body::Ack { number, attempt: 3 },
    }
    .encode(&[])
    .to_vec()
}

#[test]
fn each_fault_has_its_error() {
    let with = |at: usize, byte: u8| {
        let mut bytes = ack();
        bytes[at] = byte;
        sealed(bytes)
    };
    assert_eq!(decode(&[]), Err(WireError::Short(0)));
    assert_eq!(decode(&ack()[..HEAD - 1]), Err(WireError::Short(HEAD - 1)));
    assert_eq!(decode(&with(0, b'X')), Err(WireError::Magic));
    assert_eq!(decode(&with(2, 9)), Err(WireError::Version(9)));
    assert_eq!(decode(&with(3, 0)), Err(WireError::Kind(0)));
    assert_eq!(decode(&with(3, 77)), Err(WireError::Kind(77)));
    assert_eq!(decode(&with(24, 0)), Err(WireError::Field(Field::Sequence)));
    assert_eq!(
        decode(&with(HEAD - 1, 1)),
        Err(WireError::Field(Field::Unused))
    );
    let mut bytes = ack();
    bytes.push(0);
    assert_eq!(decode(&sealed(bytes)), Err(WireError::Field(Field::Size)));
    let mut bytes = ack();
    bytes[30] ^= 1;
    assert_eq!(decode(&bytes), Err(WireError::Checksum));
    assert_eq!(decode_bare(&bytes), Err(WireError::Checksum));
}

fn request(payload: u32) -> Part {
    Part {
        number: Number {
            sequence: 7,
            incarnation: Incarnation(1),
        },
        first_incomplete: 5,
        attempt: 3,
        handler: 9,
        offset: 0,
        size: payload,
        length: payload,
        push: true,
    }
}

#[test]
fn messages_in_one_piece_and_acknowledgements_have_a_short_head() {
    let short = |body| {
        let (tag, from) = (Tag(1), EndpointId(2));
        Head { tag, from, body }.encode_short().is_some()
    };
    let number = request(0).number;
    assert!(short(Body::Request(request(32))));
    assert!(short(Body::Reply(Part {
        first_incomplete: 0,
        ..request(0)
    })));
    assert!(short(Body::Ack { number, attempt: 3 }));
    assert!(short(Body::ReplyAck {
        number,
        first_incomplete: 7,
        attempt: 0
    }));
    for part in [
        Part {
            length: 33,
            ..request(32)
        },
        Part {
            push: false,
            ..request(32)
        },
        Part {
            first_incomplete: 8,
            ..request(32)
        },
        Part {
            number: Number {
                sequence: 1 << 48,
                ..number
            },
            first_incomplete: 1 << 48,
            ..request(32)
        },
    ] {
        assert!(!short(Body::Request(part)), "{part:?}");
    }
    assert!(!short(Body::Nack {
        number,
        attempt: 3,
        reason: Reason::NotRun
    }));
}

#[test]
fn each_fault_of_a_short_head_has_its_error() {
    let head = Head {
        tag: Tag(1),
        from: EndpointId(2),
        body: Body::Request(request(0)),
    };
    let good = head.encode_short().unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good;
        bytes[at] = byte;
        decode_short(&bytes).map(|read| read.map(|_| ()))
    };
    assert_eq!(decode_short(&[]), None);
    assert_eq!(decode_short(&good[..1]), Some(Err(WireError::Short(1))));
    assert_eq!(with(0, b'A'), None);
    assert_eq!(with(0, 0x80 | 77), Some(Err(WireError::Kind(77))));
    // More before it than there were.
    let sequence = Some(Err(WireError::Field(Field::Sequence)));
    assert_eq!(with(1, 7), sequence);
    // A reply, which has none before it.
    assert_eq!(
        with(0, 0x80 | 5),
        Some(Err(WireError::Field(Field::Unused)))
    );
    let ack = |payload: &[u8]| {
        let number = request(0).number;
        let body = Body::Ack { number, attempt: 3 };
        let head = Head { body, ..head }.encode_short().unwrap();
        decode_short(&[&head[..], payload].concat()).map(|read| read.map(|_| ()))
    };
    assert_eq!(ack(&[]), Some(Ok(())));
    assert_eq!(ack(&[0]), Some(Err(WireError::Field(Field::Size))));
}

#[test]
fn a_tag_depends_on_secret_and_peer() {
    let tag = |secret: u8, peer| Tag::of(&[secret; 32], EndpointId(peer));
    assert_eq!(tag(1, 1), tag(1, 1));
    assert_ne!(tag(1, 1), tag(1, 2));
    assert_ne!(tag(1, 1), tag(2, 1));
}

//! The short head: of a message in one frame, or of an acknowledgement, between two ends that know each other. It fills one
//! cache line of a ring together with a short message. It does not name its sender, whom the tag tells.
//!
//! Over a transport that may damage frames, a checksum goes before it. One without a checksum has a first byte that no other head
//! has, and its tag where others have something else. So a head whose bits were flipped on the way does not pass for it.

use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::layout::{ACK, Front, REPLY, REPLY_ACK, REQUEST, Room};
use super::{Body, Field, Head, Number, Part, Tag, WireError};
use crate::transaction::Incarnation;

/// Bytes of a short head without a checksum.
pub const SHORT_HEAD: usize = size_of::<RawShort>();
/// Bytes of a short head with a checksum.
pub const SEALED_HEAD: usize = FRONT + SHORT_HEAD;

/// Bytes that go before it then.
const FRONT: usize = size_of::<Front>();
/// The bit of the first byte that tells a short head.
const SHORT: u64 = 0x80;
/// The bits of a sequence.
const SEQUENCE: u32 = 48;

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawShort {
    /// From the lowest bit: the kind (7), 1, how many transactions before this one are not released (8), the sequence (48).
    sequence: U64,
    /// From the lowest bit: the incarnation (32), the attempt (16), the handler (16).
    incarnation: U64,
    tag: U64,
}

impl Head {
    /// The bytes of the head of a frame as a short one, where it can be: a message in one piece, which asks for an answer, or an
    /// acknowledgement; with a sequence of 48 bits.
    #[inline(always)]
    pub fn encode_short(&self) -> Option<[u8; SHORT_HEAD]> {
        let (kind, number, first_incomplete, attempt, handler) = match &self.body {
            Body::Request(part) | Body::Reply(part) => {
                if part.size != part.length || !part.push {
                    return None;
                }
                let is_request = matches!(self.body, Body::Request(_));
                let kind = if is_request { REQUEST } else { REPLY };
                let number = part.number;
                (
                    kind,
                    number,
                    part.first_incomplete,
                    part.attempt,
                    part.handler,
                )
            }
            &Body::Ack { number, attempt } => (ACK, number, 0, attempt, 0),
            &Body::ReplyAck {
                number,
                first_incomplete,
                attempt,
            } => (REPLY_ACK, number, first_incomplete, attempt, 0),
            _ => return None,
        };
        let before = match kind {
            REQUEST | REPLY_ACK if first_incomplete > 0 => {
                number.sequence.checked_sub(first_incomplete)?
            }
            REPLY | ACK if first_incomplete == 0 => 0,
            _ => return None,
        };
        if before > 0xff || number.sequence >> SEQUENCE != 0 {
            return None;
        }
        let sequence = u64::from(kind) | SHORT | before << 8 | number.sequence << 16;
        let incarnation =
            u64::from(number.incarnation.0) | u64::from(attempt) << 32 | u64::from(handler) << 48;
        Some(zerocopy::transmute!(RawShort {
            sequence: sequence.into(),
            incarnation: incarnation.into(),
            tag: self.tag.0.into(),
        }))
    }

    /// The frame with this `payload` and a short head that has a checksum, where it can be, in two pieces. The second is empty where
    /// `room` holds all of the frame.
    #[inline]
    pub fn encode_sealed<'a>(
        &self,
        payload: &'a [u8],
        room: &'a mut Room,
    ) -> Option<[&'a [u8]; 2]> {
        let mut head = [0; SEALED_HEAD];
        head[FRONT..].copy_from_slice(&self.encode_short()?);
        let (joined, rest): (&[u8], _) = match Room::holds(SEALED_HEAD + payload.len()) {
            true => (payload, &[][..]),
            false => (&[], payload),
        };
        let frame = room.join(&head, joined)?;
        let mut checksum = crc32c::crc32c(&frame[FRONT..]);
        if !rest.is_empty() {
            checksum = crc32c::crc32c_append(checksum, rest);
        }
        frame[..FRONT].copy_from_slice(Front::short(checksum).as_bytes());
        Some([frame, rest])
    }
}

/// The content of a frame with a short head: its tag, what it says, and its payload where it lies.
pub type ShortFrame<'a> = (Tag, Body, &'a [u8]);

/// Reads a frame with a short head without a checksum. None: it has another head.
///
/// # Errors
/// The first thing that is wrong with it.
#[inline(always)]
pub fn decode_short(frame: &[u8]) -> Option<Result<ShortFrame<'_>, WireError>> {
    match frame.first() {
        Some(first) if u64::from(*first) & SHORT != 0 => Some(read(frame)),
        _ => None,
    }
}

/// Reads a frame with a short head that has a checksum. None: it has another head, or none.
///
/// # Errors
/// As [`decode_short`].
#[inline(always)]
pub fn decode_sealed(frame: &[u8]) -> Option<Result<ShortFrame<'_>, WireError>> {
    let (front, short) = Front::ref_from_prefix(frame).ok()?;
    let checksum = front.of_short()?;
    Some(match crc32c::crc32c(short) == checksum {
        true => read(short),
        false => Err(WireError::Checksum),
    })
}

#[inline(always)]
fn read(frame: &[u8]) -> Result<ShortFrame<'_>, WireError> {
    let (raw, payload) =
        RawShort::ref_from_prefix(frame).map_err(|_| WireError::Short(frame.len()))?;
    let (words, incarnation) = (raw.sequence.get(), raw.incarnation.get());
    if words & SHORT == 0 {
        return Err(WireError::Kind(words as u8));
    }
    let (kind, before, sequence) = (words as u8 & !(SHORT as u8), words >> 8 & 0xff, words >> 16);
    let number = Number {
        sequence,
        incarnation: Incarnation(incarnation as u32),
    };
    let (attempt, handler) = ((incarnation >> 32) as u16, (incarnation >> 48) as u16);
    if sequence <= before {
        return Err(WireError::Field(Field::Sequence));
    }
    let size = u32::try_from(payload.len()).map_err(|_| WireError::Field(Field::Size))?;
    let part = |first_incomplete| Part {
        number,
        first_incomplete,
        attempt,
        handler,
        offset: 0,
        size,
        length: size,
        push: true,
    };
    let body = match kind {
        REQUEST => Body::Request(part(sequence - before)),
        REPLY if before == 0 => Body::Reply(part(0)),
        ACK | REPLY_ACK if size > 0 => return Err(WireError::Field(Field::Size)),
        REPLY_ACK if handler == 0 => Body::ReplyAck {
            number,
            first_incomplete: sequence - before,
            attempt,
        },
        ACK if before == 0 && handler == 0 => Body::Ack { number, attempt },
        REPLY | ACK | REPLY_ACK => return Err(WireError::Field(Field::Unused)),
        other => return Err(WireError::Kind(other)),
    };
    Ok((Tag(raw.tag.get()), body, payload))
}

//! A slot: two halves of a record's head, each with a commit word, and two areas for payloads.
//!
//! A record is changed in the half that does not hold, and its new payload is written to the area that does not hold. One
//! store of the commit word then makes the change hold. A process that is killed before it leaves the old record, and after it
//! the new one. Version v is in half v mod 2, so the versions of the two halves always differ by one:
//!
//! | commit words | what it is |
//! |---|---|
//! | both zero | empty |
//! | v and v - 1 (or zero, where v is 1) | the half of v holds; the other is the old one, or is just being written |
//! | anything else | torn |
//!
//! A half that holds and whose checksum, or whose payload's, is wrong is torn, too: the older half is then not what was
//! last committed, and is not given for it. The commit word is the version beside its complement, so that damage to it is
//! seen and cannot make the older half hold.

use crate::transaction::{EndpointId, Incarnation, TransactionId};

/// A transaction in a log. What its payload is (request or reply) follows from the pool and the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record {
    /// The endpoint at the other side.
    pub peer: EndpointId,
    /// The transaction.
    pub id: TransactionId,
    /// The incarnation of the target that the request was first sent to; 0 where it was not, and in the receive pool.
    pub target: Incarnation,
    /// The handler that the request is for.
    pub handler: u16,
    /// The handler that the reply is for.
    pub reply_handler: u16,
    /// The code of the state: [`InitiatorState::code`](crate::transaction::InitiatorState::code) in the send pool,
    /// [`TargetState::code`](crate::transaction::TargetState::code) in the receive pool.
    pub state: u8,
}

/// Bytes of one half: a cache line.
pub(super) const HALF: usize = 64;
/// 64-bit words of one half.
pub(super) const WORDS: usize = HALF / 8;

/// The bytes of a slot with areas of this size.
#[inline]
pub(super) fn slot_bytes(area_bytes: usize) -> usize {
    2 * HALF + 2 * area_bytes
}

/// The bytes of an area for a payload of this size.
pub(super) fn area_bytes(payload: usize) -> usize {
    payload.next_multiple_of(HALF)
}

/// The place in a slot where an area begins, if areas have so many bytes.
#[inline]
pub(super) fn area_at(area_bytes: usize, area: usize) -> usize {
    2 * HALF + area * area_bytes
}

/// The place in a slot where the half of a version begins.
pub(super) fn half_at(version: u32) -> usize {
    (version % 2) as usize * HALF
}

/// The payload of a committed half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Payload {
    pub(super) area: u8,
    pub(super) length: u32,
    pub(super) crc: u32,
}

/// A half that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) version: u32,
    /// None: the slot is free again.
    pub(super) record: Option<Record>,
    pub(super) payload: Payload,
}

/// The content of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The slot was never committed.
    New,
    Holds(Committed),
    Torn,
}

/// The commit word of a version. It is never zero.
pub(super) fn commit_word(version: u32) -> u64 {
    u64::from(version) | u64::from(!version) << 32
}

enum Commit {
    Never,
    Version(u32),
    Damaged,
}

impl Commit {
    fn of(word: u64) -> Commit {
        let version = word as u32;
        match word {
            0 => Commit::Never,
            word if word == commit_word(version) => Commit::Version(version),
            _ => Commit::Damaged,
        }
    }
}

impl Committed {
    /// The words of the half; the first is the commit word.
    pub(super) fn encode(&self) -> [u64; WORDS] {
        let mut words = [commit_word(self.version), 0, 0, 0, 0, 0, 0, 0];
        if let Some(record) = &self.record {
            words[1] = record.peer.0;
            words[2] = record.id.initiator.0;
            words[3] = record.id.sequence;
            words[4] = u64::from(record.id.incarnation.0)
                | u64::from(record.handler) << 32
                | u64::from(record.reply_handler) << 48;
            words[7] = u64::from(record.target.0) | u64::from(record.state) << 32;
        }
        words[5] = u64::from(self.payload.length) | u64::from(self.payload.crc) << 32;
        words[6] = u64::from(self.record.is_some()) << 32 | u64::from(self.payload.area) << 40;
        words[6] |= u64::from(checksum(&words));
        words
    }

    fn decode(words: &[u64; WORDS]) -> Option<Committed> {
        let mut unchecked = *words;
        unchecked[6] &= !u64::from(u32::MAX);
        if checksum(&unchecked) != words[6] as u32 || words[7] >> 40 != 0 {
            return None;
        }
        let record = Record {
            peer: EndpointId(words[1]),
            id: TransactionId {
                initiator: EndpointId(words[2]),
                incarnation: Incarnation(words[4] as u32),
                sequence: words[3],
            },
            target: Incarnation(words[7] as u32),
            handler: (words[4] >> 32) as u16,
            reply_handler: (words[4] >> 48) as u16,
            state: (words[7] >> 32) as u8,
        };
        let held = match words[6] >> 32 & 0xff {
            0 => None,
            1 => Some(record),
            _ => return None,
        };
        let area = (words[6] >> 40) as u8;
        (area <= 1 && words[6] >> 48 == 0).then_some(Committed {
            version: words[0] as u32,
            record: held,
            payload: Payload {
                area,
                length: words[5] as u32,
                crc: (words[5] >> 32) as u32,
            },
        })
    }
}

fn checksum(words: &[u64; WORDS]) -> u32 {
    let bytes: &[u8] = zerocopy::IntoBytes::as_bytes(words);
    crc32c::crc32c(bytes)
}

/// The content of a slot, from its bytes. Payloads take at most `payload` bytes.
pub(super) fn read(slot: &[u8], payload: usize) -> Slot {
    let area_bytes = area_bytes(payload);
    if slot.len() != slot_bytes(area_bytes) {
        return Slot::Torn;
    }
    let half = |version: u32| -> [u64; WORDS] {
        let bytes = &slot[half_at(version)..][..HALF];
        std::array::from_fn(|word| {
            let mut of = [0; 8];
            of.copy_from_slice(&bytes[word * 8..][..8]);
            u64::from_ne_bytes(of)
        })
    };
    let version = match (Commit::of(half(0)[0]), Commit::of(half(1)[0])) {
        (Commit::Never, Commit::Never) => return Slot::New,
        (Commit::Never, Commit::Version(1)) => 1,
        (Commit::Version(even), Commit::Version(odd)) if even % 2 == 0 && odd % 2 == 1 => {
            match even.wrapping_sub(odd) {
                1 => even,
                u32::MAX => odd,
                _ => return Slot::Torn,
            }
        }
        _ => return Slot::Torn,
    };
    let Some(committed) = Committed::decode(&half(version)) else {
        return Slot::Torn;
    };
    let length = committed.payload.length as usize;
    let whole = length <= payload && {
        let bytes = &slot[area_at(area_bytes, committed.payload.area.into())..][..length];
        crc32c::crc32c(bytes) == committed.payload.crc
    };
    if whole {
        Slot::Holds(committed)
    } else {
        Slot::Torn
    }
}

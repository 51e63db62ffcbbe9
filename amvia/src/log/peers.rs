//! The table of peers, behind the slots: whose slots those of a number are, and since when this endpoint remembers that peer.
//!
//! An entry has two words: since and a checksum, and the peer. The first one is 0 where the number is free. An entry is made
//! where there was none, and is never changed, so the store of its first word makes it hold.

use crate::transaction::{EndpointId, Incarnation};

/// Bytes of an entry, which lies within one sector of a disk.
pub(super) const ENTRY: usize = 16;

/// A peer that has a number in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The peer.
    pub peer: EndpointId,
    /// The life of this endpoint since which its memory of the peer has no gap.
    pub since: Incarnation,
}

impl Known {
    /// The two words of its entry. Lives are counted from 1, so the first is never 0.
    pub(super) fn encode(&self) -> [u64; 2] {
        [
            u64::from(self.since.0) | u64::from(self.checksum()) << 32,
            self.peer.0,
        ]
    }

    /// The meaning of an entry. None: it is damaged.
    pub(super) fn read(entry: &[u8]) -> Option<Option<Known>> {
        Known::decode(words(entry))
    }

    fn decode([first, peer]: [u64; 2]) -> Option<Option<Known>> {
        if first == 0 {
            return Some(None);
        }
        let known = Known {
            peer: EndpointId(peer),
            since: Incarnation(first as u32),
        };
        (known.checksum() == (first >> 32) as u32).then_some(Some(known))
    }

    fn checksum(&self) -> u32 {
        let since = crc32c::crc32c(&self.since.0.to_ne_bytes());
        crc32c::crc32c_append(since, &self.peer.0.to_ne_bytes())
    }
}

/// The two words of an entry.
pub(super) fn words(entry: &[u8]) -> [u64; 2] {
    [0, 8].map(|at| {
        let mut word = [0; 8];
        word.copy_from_slice(&entry[at..][..8]);
        u64::from_ne_bytes(word)
    })
}

//! Messages above the frame size: which segments have arrived, and which are to be sent.

use crate::wire::{Have, Part};

/// The segments of one message that have arrived. The bitmap is made at connect, and used again for each message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Assembly {
    bits: Box<[u64]>,
    segments: u32,
    arrived: u32,
    first: u32,
}

impl Assembly {
    /// Room for messages of so many segments. What had arrived is forgotten where there was less.
    pub(super) fn reserve(&mut self, segments: u32) {
        let words = segments.div_ceil(64) as usize;
        if self.bits.len() < words {
            self.bits = vec![0; words].into();
            self.begin(0);
        }
    }

    /// Begins a message of so many segments, none of which is there.
    pub(super) fn begin(&mut self, segments: u32) {
        debug_assert!(segments as usize <= 64 * self.bits.len());
        match &mut *self.bits {
            // No call for one word.
            [word] => *word = 0,
            words => words.fill(0),
        }
        (self.segments, self.arrived, self.first) = (segments, 0, 0);
    }

    /// Notes a segment; false if it was there.
    pub(super) fn insert(&mut self, segment: u32) -> bool {
        if self.has(segment) {
            return false;
        }
        self.bits[(segment / 64) as usize] |= 1 << (segment % 64);
        self.arrived += 1;
        while self.first < self.segments && self.has(self.first) {
            self.first += 1;
        }
        true
    }

    fn has(&self, segment: u32) -> bool {
        self.bits
            .get((segment / 64) as usize)
            .is_some_and(|word| word >> (segment % 64) & 1 == 1)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.segments > 0 && self.arrived == self.segments
    }

    pub(super) fn has_begun(&self) -> bool {
        self.segments > 0
    }

    /// What is there, as the sender is told.
    pub(super) fn have(&self) -> Have {
        let beyond = (0..64)
            .filter(|i| self.has(self.first + 1 + i))
            .fold(0, |bits, i| bits | 1 << i);
        Have {
            first: self.first,
            beyond,
        }
    }
}

/// Segments of a message of `length` bytes, `chunk` bytes each: an empty message is one segment.
pub(super) fn segments(length: u32, chunk: u32) -> u32 {
    // One that fits into a frame takes no division.
    match length <= chunk {
        true => 1,
        false => length.div_ceil(chunk),
    }
}

/// The number of the segment that begins at `offset`.
pub(super) fn segment_at(offset: u32, chunk: u32) -> u32 {
    match offset {
        0 => 0,
        _ => offset / chunk,
    }
}

/// Whether a part is one whole segment.
pub(super) fn is_segment(part: &Part, chunk: u32) -> bool {
    let begins = part.offset == 0 || part.offset.is_multiple_of(chunk);
    begins && part.size == chunk.min(part.length - part.offset)
}

/// Whether what is had has grown.
pub(super) fn has_grown(before: Have, after: Have) -> bool {
    after.first > before.first
        || (after.first == before.first && after.beyond & !before.beyond != 0)
}

/// The segments that go out one after the other, until the receiver says what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Round {
    have: Have,
    next: u32,
    last: u32,
}

impl Round {
    /// What is missing of a message of `segments` segments, among the first `burst` from the first missing one.
    #[inline]
    pub(super) fn missing(have: Have, segments: u32, burst: u8) -> Self {
        if segments == 1 {
            // A message in one frame takes no search.
            let have = Have { first: 0, ..have };
            let (next, last) = (0, 0);
            return Self { have, next, last };
        }
        let first = have.first.min(segments - 1);
        let have = Have { first, ..have };
        let end = first.saturating_add(u32::from(burst)).min(segments);
        let last = (first..end)
            .rev()
            .find(|&segment| !has(have, segment))
            .unwrap_or(first);
        Self {
            have,
            next: first,
            last,
        }
    }

    /// The first missing segment alone.
    pub(super) fn first(have: Have, segments: u32) -> Self {
        Self::missing(have, segments, 1)
    }

    /// The next segment of a round that is not over, and whether it is the last one, which is always missing.
    pub(super) fn next(&mut self) -> (u32, bool) {
        let mut rest = self.next..self.last;
        let segment = rest.find(|&segment| !has(self.have, segment));
        let segment = segment.unwrap_or(self.last);
        self.next = segment + 1;
        (segment, segment == self.last)
    }

    pub(super) fn is_over(&self) -> bool {
        self.next > self.last
    }
}

fn has(have: Have, segment: u32) -> bool {
    segment > have.first
        && have
            .beyond
            .checked_shr(segment - have.first - 1)
            .is_some_and(|bits| bits & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(mut round: Round) -> Vec<u32> {
        let mut all = Vec::new();
        while !round.is_over() {
            let (segment, last) = round.next();
            all.push(segment);
            assert_eq!(last, round.is_over());
        }
        all
    }

    #[test]
    fn a_round_sends_what_is_missing() {
        let mut assembly = Assembly::default();
        assembly.reserve(100);
        assembly.begin(100);
        for segment in [0, 1, 3, 4, 60] {
            assert!(assembly.insert(segment));
            assert!(!assembly.insert(segment));
        }
        let have = assembly.have();
        assert_eq!(
            have,
            Have {
                first: 2,
                beyond: 0b11 | 1 << 57
            }
        );
        assert_eq!(sent(Round::missing(have, 100, 4)), [2, 5]);
        assert_eq!(sent(Round::first(have, 100)), [2]);
        assert_eq!(sent(Round::missing(have, 100, 64)).len(), 61);
        assert_eq!(sent(Round::missing(Have::default(), 1, 32)), [0]);
    }

    #[test]
    fn a_message_is_whole_once_each_segment_is_there() {
        let mut assembly = Assembly::default();
        assembly.reserve(130);
        for length in [1, 64, 65, 130] {
            assembly.begin(length);
            for segment in (0..length).rev() {
                assert!(!assembly.is_whole());
                assembly.insert(segment);
            }
            assert!(assembly.is_whole());
        }
    }

    #[test]
    fn segments_cover_a_message() {
        assert_eq!(segments(0, 100), 1);
        assert_eq!(segments(100, 100), 1);
        assert_eq!(segments(101, 100), 2);
    }
}

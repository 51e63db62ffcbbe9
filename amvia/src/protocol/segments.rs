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

    /// Begins a message of so many segments. None of them is there yet.
    #[inline]
    pub(super) fn begin(&mut self, segments: u32) {
        debug_assert!(segments as usize <= 64 * self.bits.len());
        match &mut *self.bits {
            // No call for one word.
            [word] => *word = 0,
            words => words.fill(0),
        }
        (self.segments, self.arrived, self.first) = (segments, 0, 0);
    }

    /// Takes in a part of a message of at most `most` bytes, which are cut into `chunk` bytes each. `begun`: the length and the
    /// handler of the message, if it has begun. Says whether the part is new; none: no honest peer sends it.
    #[inline]
    pub(super) fn take(
        &mut self,
        part: &Part,
        chunk: u32,
        most: u32,
        begun: (u32, u16),
    ) -> Option<bool> {
        if part.length <= chunk.min(most) && self.take_whole(part) {
            return Some(true);
        }
        self.take_segment(part, chunk, most, begun)
    }

    /// Takes in a message that has not begun, if this part is all of it. The message may be as long.
    #[inline(always)]
    pub(super) fn take_whole(&mut self, part: &Part) -> bool {
        let is_whole = part.offset == 0 && part.size == part.length && !self.has_begun();
        if is_whole {
            self.be_whole();
        }
        is_whole
    }

    /// Does the part of [`Assembly::take`] for a message that has several segments, or was there.
    fn take_segment(
        &mut self,
        part: &Part,
        chunk: u32,
        most: u32,
        begun: (u32, u16),
    ) -> Option<bool> {
        let fits = match self.has_begun() {
            true => (part.length, part.handler) == begun,
            false => part.length <= most,
        };
        if !is_segment(part, chunk) || !fits {
            return None;
        }
        if !self.has_begun() {
            self.begin(segments(part.length, chunk));
        }
        Some(self.insert(segment_at(part.offset, chunk)))
    }

    /// Begins a message of one segment, which is there.
    #[inline(always)]
    fn be_whole(&mut self) {
        self.begin(1);
        if let Some(word) = self.bits.first_mut() {
            *word = 1;
        }
        (self.arrived, self.first) = (1, 1);
    }

    /// Notes a segment; false if it was there.
    fn insert(&mut self, segment: u32) -> bool {
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

    /// The segments that are there, as the sender is told.
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
fn segment_at(offset: u32, chunk: u32) -> u32 {
    match offset {
        0 => 0,
        _ => offset / chunk,
    }
}

/// True if a part is one whole segment.
fn is_segment(part: &Part, chunk: u32) -> bool {
    let begins = part.offset == 0 || part.offset.is_multiple_of(chunk);
    begins && part.size == chunk.min(part.length - part.offset)
}

/// True if what is had has grown.
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
    /// The missing segments of a message of `segments` segments, among the first `burst` from the first missing one.
    pub(super) fn missing(have: Have, segments: u32, burst: u8) -> Self {
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
        assert_eq!(sent(Round::missing(have, 100, 1)), [2]);
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

    /// A message in one frame goes straight: the record of its segments is then the same as if it had been looked up.
    #[test]
    fn the_straight_way_of_a_message_in_one_frame_is_the_general_one() {
        let sizes = [
            (0, 0),
            (0, 1),
            (0, 100),
            (0, 101),
            (0, 200),
            (100, 100),
            (50, 50),
        ];
        for (offset, size) in sizes {
            for (length, most) in [(size, 300), (size, 99), (200, 300), (offset + size, 300)] {
                for had in [None, Some(1), Some(2), Some(0)] {
                    let part = part(offset, size, length);
                    let mut straight = Assembly::default();
                    straight.reserve(130);
                    if let Some(had) = had {
                        straight.begin(2);
                        (0..had).for_each(|segment| _ = straight.insert(segment));
                    }
                    let mut general = straight.clone();
                    let begun = (200, 7);
                    assert_eq!(
                        straight.take(&part, 100, most, begun),
                        general.take_segment(&part, 100, most, begun),
                        "{part:?}, at most {most}, {had:?} there"
                    );
                    assert_eq!(straight, general, "{part:?}, at most {most}, {had:?} there");
                }
            }
        }
    }

    fn part(offset: u32, size: u32, length: u32) -> Part {
        Part {
            number: crate::wire::Number {
                sequence: 1,
                incarnation: crate::transaction::Incarnation(1),
            },
            first_incomplete: 1,
            attempt: 1,
            handler: 7,
            offset,
            size,
            length,
            push: true,
        }
    }
}

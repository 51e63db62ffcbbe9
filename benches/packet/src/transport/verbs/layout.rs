//! The layout of the memory of an end: messages that go out, then places for those that come.

use jitterlab_verbs::Service;

use super::wanted::Wanted;
use crate::transport::ledger::NOTE;
use crate::transport::path::Operation;
use crate::transport::plan::Buffers;
use crate::transport::slots::stride;

/// The header that stands before a datagram in memory (GRH).
pub const HEADER: usize = 40;
/// Parts of the memory begin at multiples of this: a line of the cache.
const LINE: usize = 64;
/// The most buffers that a receive each is posted for.
const MOST: usize = 64;
/// Receives for datagrams beyond those that are due: they may come late or twice, or from strangers.
const SPARE: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    out: Part,
    incoming: Part,
    /// The place where places for what comes begin.
    pub first: usize,
    /// The bytes before a message in its place.
    pub header: usize,
    /// The number of receives that are posted, and their length.
    pub receives: usize,
    pub posted: usize,
}

/// Messages of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    length: usize,
    /// The distance from one buffer to the next.
    stride: usize,
    buffers: Buffers,
}

impl Part {
    fn new(length: usize, header: usize, buffers: Buffers) -> Self {
        Part {
            length,
            stride: stride(header + length, buffers).next_multiple_of(LINE),
            buffers,
        }
    }

    fn total(&self) -> usize {
        self.stride * self.buffers.count()
    }

    #[inline]
    fn at(&self, number: u64) -> usize {
        self.buffers.of(number) * self.stride
    }
}

impl Layout {
    pub fn of(wanted: &Wanted) -> Self {
        let Wanted { how, window, .. } = wanted;
        let is_datagram = how.service == Service::Ud;
        let header = if is_datagram { HEADER } else { 0 };
        let window = window.map(|window| window as usize);
        // A receive is posted again while the next message takes another. The other end may be ahead of this one
        // by as many messages as there are buffers. A window is under way in a stream, and what has come may
        // wait for this end to look; an end that looks too seldom makes the other one's device wait.
        let receives = match (how.operation, how.service) {
            (Operation::Write, _) => 0,
            (_, Service::Rc) => window.map_or(2 * wanted.buffers.count().min(MOST), |window| {
                2 * window.max(1)
            }),
            (_, Service::Ud) => 2 * window.unwrap_or(0) + SPARE,
        };
        let (mut out_buffers, mut in_buffers) = (wanted.buffers, wanted.buffers);
        let (mut out, mut incoming) = (wanted.out, wanted.incoming);
        if is_datagram {
            // Each has its number in it, which is read after others have come.
            in_buffers = Buffers::Fifo(receives as u32);
            // And must be there until it was sent; so must the notes that are among them.
            out_buffers = Buffers::Fifo(wanted.sends());
            if window.is_some() {
                (out, incoming) = (out.max(NOTE), incoming.max(NOTE));
            }
        }
        let out = Part::new(out, 0, out_buffers);
        let is_sent = how.operation == Operation::Send;
        Layout {
            out,
            incoming: Part::new(incoming, header, in_buffers),
            first: out.total(),
            header,
            receives,
            posted: if is_sent { header + incoming } else { 0 },
        }
    }

    /// The length of all of it.
    pub fn total(&self) -> usize {
        self.first + self.incoming.total()
    }

    /// The place that a message goes out from.
    #[inline]
    pub fn out(&self, number: u64) -> usize {
        self.out.at(number)
    }

    /// The place of a message that comes, with its header.
    #[inline]
    pub fn place(&self, number: u64) -> usize {
        self.first + self.incoming.at(number)
    }

    /// The place that a receive is posted for. A receive that is only told of a write needs no place.
    #[inline]
    pub fn receive_at(&self, number: u64) -> usize {
        match self.posted {
            0 => 0,
            _ => self.place(number),
        }
    }

    /// The distance from the other end's first place to the place there that a message is written to.
    #[inline]
    pub fn there(&self, number: u64) -> usize {
        // The other end has the same for what comes as this one for what goes out.
        self.out.at(number)
    }

    /// The place of the number in a message of this length, and how many of its bytes there are: the last ones.
    #[inline]
    pub fn number(length: usize) -> (usize, usize) {
        let bytes = length.min(8);
        (length - bytes, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Inline, Verbs, Wait};
    use proptest::prelude::*;
    use std::time::Duration;

    fn patterns() -> impl Strategy<Value = Buffers> {
        prop_oneof![
            (1u32..20).prop_map(Buffers::Fifo),
            (0u8..=100, 1u32..20).prop_map(|(percent, of)| Buffers::Reuse { percent, of }),
        ]
    }

    proptest! {
        /// Nothing lies on anything else, and everything within the memory; and one end knows where the
        /// other one has its places.
        #[test]
        fn parts_of_the_memory_are_apart(
            out in 1usize..20_000,
            incoming in 1usize..20_000,
            operation in proptest::sample::select(&Operation::ALL),
            service in proptest::sample::select(&Service::ALL),
            window in proptest::option::of(1u32..50),
            buffers in patterns(),
            numbers in proptest::collection::vec(1u64..1_000, 2),
        ) {
            prop_assume!(service == Service::Rc || operation == Operation::Send);
            let how = Verbs { operation, service, inline: Inline::Auto };
            let wanted = |out, incoming| Wanted {
                how, out, incoming, buffers, window, wait: Wait::Poll, timeout: Duration::ZERO,
            };
            let layout = Layout::of(&wanted(out, incoming));
            prop_assert!(layout.receives > 0 || operation == Operation::Write);
            let (one, other) = (numbers[0], numbers[1]);
            prop_assert!(layout.out(one) + out <= layout.first);
            prop_assert!(layout.place(one) >= layout.first);
            prop_assert!(layout.place(one) + layout.header + incoming <= layout.total());
            prop_assert!(layout.receive_at(one) + layout.posted <= layout.total());
            let apart = |a: usize, b: usize, length| a == b || a.abs_diff(b) >= length;
            prop_assert!(apart(layout.out(one), layout.out(other), out));
            prop_assert!(apart(layout.place(one), layout.place(other), layout.header + incoming));
            if service == Service::Rc {
                let there = Layout::of(&wanted(incoming, out));
                prop_assert_eq!(there.first + layout.there(one), there.place(one));
            }
            let (at, bytes) = Layout::number(out);
            prop_assert!(at + bytes == out && bytes == out.min(8));
        }
    }
}

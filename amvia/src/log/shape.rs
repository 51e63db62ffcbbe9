//! The size of a log, and the place of a record in it.

use super::record;

/// Bytes of the head: a memory page, so that slots begin at one.
pub(super) const HEAD: usize = 4096;

/// The sizes of a log, fixed when it is made.
///
/// A log has two pools, send and receive, with `peers` x `window` slots each. Where each peer has slots of its own, the
/// memory of a node grows with its peers by 2kN slots. AMUDP shares one pool of k slots among all peers, which is the shape
/// of a single peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Peers that have slots of their own: 1 to 65,536.
    pub peers: u32,
    /// Slots of a peer in each pool: 1 to [`Shape::MOST_WINDOW`].
    pub window: u32,
    /// Bytes of a payload at most: 0 to [`Shape::MOST_PAYLOAD`].
    pub payload: u32,
}

impl Shape {
    /// The largest number of slots that a peer can have in a pool.
    pub const MOST_WINDOW: u32 = 64;
    /// The largest payload in bytes.
    pub const MOST_PAYLOAD: u32 = 1 << 24;
    const MOST_PEERS: u32 = 1 << 16;

    /// True if the sizes are in their ranges.
    pub fn fits(&self) -> bool {
        (1..=Self::MOST_PEERS).contains(&self.peers)
            && (1..=Self::MOST_WINDOW).contains(&self.window)
            && self.payload <= Self::MOST_PAYLOAD
    }

    /// Slots of both pools together.
    pub fn slots(&self) -> usize {
        2 * self.peers as usize * self.window as usize
    }

    /// Bytes of a log of this shape: the same in memory and as a file, whatever happens to it.
    pub fn bytes(&self) -> usize {
        self.entries() + self.peers as usize * super::peers::ENTRY
    }

    /// The place where the table of peers begins: behind the slots.
    fn entries(&self) -> usize {
        HEAD + self.slots() * self.slot_bytes()
    }

    /// The place of a peer in the table, by its number.
    ///
    /// # Panics
    /// There is no such number in this shape.
    pub(super) fn entry(&self, number: u32) -> usize {
        assert!(number < self.peers, "{number} is no peer of {self:?}");
        self.entries() + number as usize * super::peers::ENTRY
    }

    /// Every place of the peer of a number.
    pub(super) fn places_of(self, number: u32) -> impl Iterator<Item = Place> {
        [Pool::Send, Pool::Receive]
            .into_iter()
            .flat_map(move |pool| {
                (0..self.window).map(move |slot| Place {
                    pool,
                    peer: number,
                    slot,
                })
            })
    }

    /// Every place: those of the send pool, then those of the receive pool.
    pub fn places(self) -> impl Iterator<Item = Place> {
        [Pool::Send, Pool::Receive]
            .into_iter()
            .flat_map(move |pool| {
                (0..self.peers).flat_map(move |peer| {
                    (0..self.window).map(move |slot| Place { pool, peer, slot })
                })
            })
    }

    pub(super) fn slot_bytes(&self) -> usize {
        record::slot_bytes(record::area_bytes(self.payload as usize))
    }

    /// The number of the slot at `place`.
    ///
    /// # Panics
    /// There is no such place in this shape.
    #[inline(always)]
    pub(super) fn index(&self, place: Place) -> usize {
        assert!(
            place.peer < self.peers && place.slot < self.window,
            "{place:?} is no place of {self:?}"
        );
        let pool = match place.pool {
            Pool::Send => 0,
            Pool::Receive => self.peers as usize,
        };
        (pool + place.peer as usize) * self.window as usize + place.slot as usize
    }
}

/// One of the two pools of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pool {
    /// Requests that this endpoint has sent, and what became of them.
    Send,
    /// Requests that this endpoint has received, and its replies.
    Receive,
}

/// The place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The pool.
    pub pool: Pool,
    /// The peer's number in this log: 0 to `peers` - 1.
    pub peer: u32,
    /// The slot among those of the peer: 0 to `window` - 1.
    pub slot: u32,
}

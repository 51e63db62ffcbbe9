//! When what is due: a heap of things to do, first by time, then by the order in which they came.

/// The number of places. One is kept for the thing that was taken out and has to come back: the one
/// helper takes one at a time.
pub(super) const CAPACITY: usize = 1 << 14;

/// A binary heap of fixed size, the earliest on top.
pub(super) struct Queue<T> {
    items: [Option<Item<T>>; CAPACITY],
    length: usize,
}

/// A thing, and its place.
#[derive(Clone, Copy)]
pub(super) struct Item<T> {
    /// When it is to be done, in ticks.
    pub(super) when: u64,
    /// Tells things of the same time apart: the lower comes first.
    pub(super) order: u64,
    /// The thing itself.
    pub(super) thing: T,
}

impl<T: Copy> Queue<T> {
    pub(super) const fn new() -> Self {
        Queue {
            items: [const { None }; CAPACITY],
            length: 0,
        }
    }

    /// True if something new has to wait until there is room.
    pub(super) fn is_full(&self) -> bool {
        self.length + 1 >= CAPACITY
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<Item<T>> {
        self.items[0]
    }

    fn before(&self, a: usize, b: usize) -> bool {
        match (self.items[a], self.items[b]) {
            (Some(a), Some(b)) => (a.when, a.order) < (b.when, b.order),
            (a, _) => a.is_some(),
        }
    }

    /// Adds one; whether there was a place. There is, for something new after a look at
    /// [`Queue::is_full`], and for what was taken out.
    #[must_use]
    pub(super) fn push(&mut self, item: Item<T>) -> bool {
        let mut at = self.length;
        let Some(place) = self.items.get_mut(at) else {
            return false;
        };
        *place = Some(item);
        self.length += 1;
        while at > 0 && self.before(at, (at - 1) / 2) {
            self.items.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        true
    }

    /// Takes the earliest.
    pub(super) fn pop(&mut self) -> Option<Item<T>> {
        let first = self.items[0].take()?;
        self.length -= 1;
        self.items.swap(0, self.length);
        let mut at = 0;
        loop {
            let children = [2 * at + 1, 2 * at + 2];
            let Some(child) = children
                .into_iter()
                .filter(|&child| child < self.length)
                .reduce(|a, b| if self.before(b, a) { b } else { a })
                .filter(|&child| self.before(child, at))
            else {
                return Some(first);
            };
            self.items.swap(at, child);
            at = child;
        }
    }
}

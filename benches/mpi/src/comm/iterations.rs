//! Iterations whose number so far is published.

use std::iter::Fuse;

use jitterlab_live::{Count, Publisher};

/// The numbers of iterations: when the next one is asked for, the one before it is done.
pub struct Iterations<I> {
    numbers: Fuse<I>,
    live: Publisher,
    is_under_way: bool,
}

impl<I: ExactSizeIterator> Iterations<I> {
    pub(super) fn new(numbers: I, live: Publisher) -> Self {
        live.count(Count::Planned, numbers.len() as u64);
        Iterations {
            numbers: numbers.fuse(),
            live,
            is_under_way: false,
        }
    }
}

impl<I: Iterator> Iterator for Iterations<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        if self.is_under_way {
            self.live.count(Count::Iterations, 1);
        }
        let next = self.numbers.next();
        self.is_under_way = next.is_some();
        next
    }
}

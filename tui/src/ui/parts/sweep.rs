//! The things that were, one after the other, for pictures over time. A thing stays in its column until another one takes that, as
//! on an oscilloscope, so that with a new one a column changes and not all.

/// The number that are kept: more than any terminal has columns.
pub const KEPT: usize = 512;

/// The last things, each in memory that is used again.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep<T> {
    kept: Vec<T>,
    /// The number that there have ever been.
    count: usize,
}

impl<T> Default for Sweep<T> {
    fn default() -> Self {
        Sweep {
            kept: Vec::new(),
            count: 0,
        }
    }
}

impl<T> Sweep<T> {
    /// Adds one.
    pub fn push(&mut self, next: T) {
        let at = self.count % KEPT;
        match self.kept.get_mut(at) {
            Some(place) => *place = next,
            None => self.kept.push(next),
        }
        self.count += 1;
    }

    /// Adds one in the memory of the oldest, or in what `make` makes.
    pub fn next(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let at = self.count % KEPT;
        self.count += 1;
        if at == self.kept.len() {
            self.kept.push(make());
        }
        &mut self.kept[at]
    }

    /// The last ones in so many columns, by column, the oldest first. The column after the newest is empty.
    pub fn columns(&self, width: usize) -> impl Iterator<Item = (usize, &T)> {
        let shown = width.saturating_sub(1).min(self.kept.len());
        (self.count - shown..self.count).map(move |n| (n % width, &self.kept[n % KEPT]))
    }

    /// The column of the newest.
    pub fn newest(&self, width: usize) -> Option<usize> {
        let newest = self.count.checked_sub(1)?;
        newest.checked_rem(width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_keeps_its_column() {
        let mut sweep = Sweep::default();
        for n in 0..25 {
            sweep.push(n);
        }
        let columns = |width| -> Vec<(usize, i32)> {
            let mut columns: Vec<_> = sweep.columns(width).map(|(at, &n)| (at, n)).collect();
            columns.sort_unstable();
            columns
        };
        // Column 5 is empty, since it is next.
        let in_ten = [
            (0, 20),
            (1, 21),
            (2, 22),
            (3, 23),
            (4, 24),
            (6, 16),
            (7, 17),
            (8, 18),
            (9, 19),
        ];
        assert_eq!(columns(10), in_ten);
        assert_eq!(sweep.newest(10), Some(4));
        assert_eq!(columns(40).len(), 25);
        assert_eq!((columns(0).len(), sweep.newest(0)), (0, None));
        for n in 25..2_000 {
            *sweep.next(|| 0) = n;
        }
        assert_eq!(sweep.columns(1_000).count(), KEPT);
        assert_eq!(sweep.columns(4).last(), Some((1_999 % 4, &1_999)));
    }
}

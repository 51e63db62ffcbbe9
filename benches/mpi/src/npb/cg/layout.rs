//! The part of the matrix and of the vectors that each rank has, and how sums come together.
//!
//! Ranks stand in rows and columns; there are as many columns of ranks as rows, or twice as many. The matrix is cut
//! alike. A vector is cut by the columns, and every row of ranks has all of it. A product comes out cut by the rows;
//! the segment of a row is that of one column or of two, and so [`Layout::transpose`] is one exchange.

use std::ops::Range;

use mpi::Tag;

use crate::comm::Comm;

const ROW_SUM: Tag = 1;
const TRANSPOSE: Tag = 2;
const SUM: Tag = 3;

/// One rank's view of the whole.
pub struct Layout<'a> {
    comm: &'a Comm,
    place: Place,
    order: usize,
    /// The part of another rank of the row in the sums.
    arrived: Vec<f64>,
}

impl<'a> Layout<'a> {
    /// The layout for vectors of `order` elements.
    pub fn new(comm: &'a Comm, order: usize) -> Layout<'a> {
        let place = Place::of(comm.rank(), comm.size());
        Layout {
            comm,
            place,
            order,
            arrived: vec![0.0; place.rows_of(order).len()],
        }
    }

    /// The rows of this rank's part of the matrix.
    pub fn rows(&self) -> Range<usize> {
        self.place.rows_of(self.order)
    }

    /// The columns of this rank's part of the matrix: the elements that it has of each vector.
    pub fn columns(&self) -> Range<usize> {
        self.place.columns_of(self.order)
    }

    /// Adds up, element by element, what the ranks of a row have of a product. A rank has sums of those elements
    /// only that it needs for [`Layout::transpose`].
    pub fn add_rows(&mut self, product: &mut [f64]) {
        let kept = self.place.kept_of(self.order);
        let arrived = &mut self.arrived[..kept.len()];
        for partner in self.place.partners() {
            let rank = partner.rank();
            let given = &product[partner.kept_of(self.order)];
            self.comm.exchange(rank, given, rank, arrived, ROW_SUM);
            for (sum, arrived) in product[kept.clone()].iter_mut().zip(&*arrived) {
                *sum += arrived;
            }
        }
    }

    /// Makes a vector, cut by columns, of what [`Layout::add_rows`] left.
    pub fn transpose(&self, product: &[f64], vector: &mut [f64]) {
        let kept = &product[self.place.kept_of(self.order)];
        let opposite = self.place.opposite();
        if opposite == self.place {
            vector.copy_from_slice(kept);
        } else {
            let rank = opposite.rank();
            self.comm.exchange(rank, kept, rank, vector, TRANSPOSE);
        }
    }

    /// The sums over the ranks of a row, the same on each of them to the last bit.
    pub fn sum<const N: usize>(&self, mut values: [f64; N]) -> [f64; N] {
        for partner in self.place.partners() {
            let rank = partner.rank();
            let mut theirs = [0.0; N];
            self.comm.exchange(rank, &values, rank, &mut theirs, SUM);
            for (value, theirs) in values.iter_mut().zip(theirs) {
                *value += theirs;
            }
        }
        values
    }
}

/// The place of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Rows of ranks.
    rows: usize,
    /// Columns of ranks: as many as rows, or twice as many.
    columns: usize,
    row: usize,
    column: usize,
}

impl Place {
    /// `size` is a power of two.
    fn of(rank: usize, size: usize) -> Place {
        let rows = 1 << (size.ilog2() / 2);
        let columns = size / rows;
        Place {
            rows,
            columns,
            row: rank / columns,
            column: rank % columns,
        }
    }

    fn rank(self) -> usize {
        self.row * self.columns + self.column
    }

    fn rows_of(self, order: usize) -> Range<usize> {
        segment(order, self.rows, self.row)
    }

    fn columns_of(self, order: usize) -> Range<usize> {
        segment(order, self.columns, self.column)
    }

    /// The ranks of its row that it adds up with, one after the other: each time twice as many have the same sums.
    fn partners(self) -> impl Iterator<Item = Place> {
        let distances = (0..self.columns.ilog2()).map(|step| 1 << step);
        distances.map(move |distance| Place {
            column: self.column ^ distance,
            ..self
        })
    }

    /// The rank that needs the sums which this one keeps, and keeps those which this one needs.
    fn opposite(self) -> Place {
        let halves = self.columns / self.rows;
        Place {
            row: self.column / halves,
            column: halves * self.row + self.column % halves,
            ..self
        }
    }

    /// The elements whose sums it keeps, counted from the first of its rows: those of its [`Place::opposite`].
    fn kept_of(self, order: usize) -> Range<usize> {
        let first = self.rows_of(order).start;
        let columns = self.opposite().columns_of(order);
        columns.start - first..columns.end - first
    }
}

/// The `k`th of so many parts of 0..`length`, equal to one element.
fn segment(length: usize, parts: usize, k: usize) -> Range<usize> {
    length * k / parts..length * (k + 1) / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_keeps_is_what_its_opposite_needs() {
        for size in (0..9).map(|log2| 1 << log2) {
            for rank in 0..size {
                let place = Place::of(rank, size);
                let opposite = place.opposite();
                assert_eq!(place.rank(), rank);
                assert_eq!(opposite.opposite(), place);
                let kept = place.kept_of(1_401);
                assert!(kept.end <= place.rows_of(1_401).len());
                assert_eq!(kept.len(), opposite.columns_of(1_401).len());
            }
        }
    }

    #[test]
    fn what_is_given_lies_in_the_same_row_and_is_kept_there() {
        for size in (0..9).map(|log2| 1 << log2) {
            for rank in 0..size {
                let place = Place::of(rank, size);
                for partner in place.partners() {
                    assert_eq!(partner.row, place.row);
                    assert!(partner.partners().any(|back| back == place));
                }
            }
        }
    }
}

//! Five numbers for every point of a rank, so placed that a row in x is a vector.

use std::ops::Range;

use super::pencil::{GHOST, Pencil};
use crate::npb::flow::State;

/// Points of a row that are computed at a time, side by side in the registers of the processor.
pub const LANES: usize = 8;

/// A number for each of so many points.
pub type Lanes = [f64; LANES];

/// The layout of planes and rows in memory.
///
/// A plane is its rows, a row its five components, one behind the other. A component is ghosts, own points, ghosts, and
/// as many more numbers as it takes to compute all own points by [`LANES`]. Those are computed, too, and mean
/// nothing: nothing that has a meaning depends on them.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    width: usize,
    rows: usize,
}

impl Shape {
    /// The shape of a rank's field.
    pub fn of(pencil: &Pencil) -> Shape {
        Shape {
            width: pencil.x.len().next_multiple_of(LANES) + 2 * GHOST,
            rows: pencil.y.len() + 2 * GHOST,
        }
    }

    /// The number of times [`LANES`] that have all own points of a row.
    pub fn chunks(&self) -> usize {
        (self.width - 2 * GHOST) / LANES
    }

    /// The place of a row in its plane.
    pub fn row(&self, j: usize) -> Range<usize> {
        let length = 5 * self.width;
        j * length..(j + 1) * length
    }

    /// The place, in its row, of a component of a range of points.
    #[inline(always)]
    pub fn part(&self, m: usize, points: Range<usize>) -> Range<usize> {
        m * self.width + points.start..m * self.width + points.end
    }

    /// The state of a point of a row.
    #[inline(always)]
    pub fn state(&self, row: &[f64], i: usize) -> State {
        std::array::from_fn(|m| row[m * self.width + i])
    }

    /// Points side by side in a row, from a local place on.
    #[inline(always)]
    pub fn chunk<'a>(&self, row: &'a [f64], first: usize) -> Chunk<'a> {
        let lanes = |m| &row[self.part(m, first..first + LANES)].as_chunks().0[0];
        Chunk([lanes(0), lanes(1), lanes(2), lanes(3), lanes(4)])
    }
}

/// The states of [`LANES`] points side by side.
#[derive(Clone, Copy)]
pub struct Chunk<'a>([&'a Lanes; 5]);

impl Chunk<'_> {
    /// One of them.
    #[inline(always)]
    pub fn state(&self, lane: usize) -> State {
        std::array::from_fn(|m| self.0[m][lane])
    }
}

/// Five numbers for every point of a rank.
pub struct Field {
    shape: Shape,
    numbers: Vec<f64>,
}

impl Field {
    /// All zero.
    pub fn new(pencil: &Pencil) -> Field {
        let shape = Shape::of(pencil);
        Field {
            shape,
            numbers: vec![0.0; pencil.n * shape.rows * 5 * shape.width],
        }
    }

    /// A plane.
    pub fn plane(&self, k: usize) -> &[f64] {
        &self.numbers[self.range(k)]
    }

    /// A plane, to be changed.
    pub fn plane_mut(&mut self, k: usize) -> &mut [f64] {
        let range = self.range(k);
        &mut self.numbers[range]
    }

    /// A plane to be changed, and another.
    pub fn plane_beside(&mut self, k: usize, other: usize) -> (&mut [f64], &[f64]) {
        let (range, other) = (self.range(k), self.range(other));
        beside(&mut self.numbers, range, other)
    }

    /// The state of a point, by its local place.
    pub fn state(&self, [i, j, k]: [usize; 3]) -> State {
        self.shape.state(&self.plane(k)[self.shape.row(j)], i)
    }

    /// Gives a point its state.
    pub fn set(&mut self, [i, j, k]: [usize; 3], state: State) {
        let Shape { width, .. } = self.shape;
        let row = self.shape.row(j);
        let row = &mut self.plane_mut(k)[row];
        for (m, value) in state.into_iter().enumerate() {
            row[m * width + i] = value;
        }
    }

    fn range(&self, k: usize) -> Range<usize> {
        let length = self.shape.rows * 5 * self.shape.width;
        k * length..(k + 1) * length
    }
}

/// Two ranges that do not meet, the first to be changed.
pub fn beside<T>(all: &mut [T], range: Range<usize>, other: Range<usize>) -> (&mut [T], &[T]) {
    if range.start < other.start {
        let (before, behind) = all.split_at_mut(other.start);
        (&mut before[range], &behind[..other.len()])
    } else {
        let (before, behind) = all.split_at_mut(range.start);
        (&mut behind[..range.len()], &before[other])
    }
}

//! Five values at every point of a cell, laid out so that four points are computed at once.

use crate::npb::flow::State;

/// The number of points that are computed at once: those that fit a vector register of 256 bits.
pub const WIDTH: usize = 4;

/// One value at each of [`WIDTH`] points.
pub type Lanes = [f64; WIDTH];

/// The five values at each of [`WIDTH`] points.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
pub struct Block(pub [Lanes; 5]);

impl Block {
    /// A block of zeros.
    pub const ZERO: Block = Block([[0.0; WIDTH]; 5]);

    /// The values of one of the points.
    #[inline(always)]
    pub fn get(&self, lane: usize) -> State {
        pick(&self.0, lane)
    }

    /// Sets those of one of the points.
    #[inline(always)]
    pub fn set(&mut self, lane: usize, values: State) {
        put(&mut self.0, lane, values);
    }
}

/// The values of a point, among those that are stored for [`WIDTH`] points.
#[inline(always)]
pub fn pick<const N: usize>(all: &[Lanes; N], lane: usize) -> [f64; N] {
    let mut values = [0.0; N];
    for i in 0..N {
        values[i] = all[i][lane];
    }
    values
}

/// Stores what a point has.
#[inline(always)]
pub fn put<const N: usize>(all: &mut [Lanes; N], lane: usize, values: [f64; N]) {
    for i in 0..N {
        all[i][lane] = values[i];
    }
}

/// Layers of a neighbour's points that a cell has on each side.
pub const GHOSTS: usize = 2;

/// The place of a cell's first point: behind the ghosts, and in x at the start of a block.
pub const ORIGIN: [usize; 3] = [WIDTH, GHOSTS, GHOSTS];

/// Five values at every point of a cell and its ghosts.
///
/// A place counts from 0 in each direction; [`ORIGIN`] is the place of the cell's first point. A block has
/// [`WIDTH`] places that follow each other in x; blocks lie in the order of x, y, z.
#[derive(Debug, Clone)]
pub struct Field {
    blocks: Vec<Block>,
    /// Blocks of a row, rows of a plane.
    extent: [usize; 2],
    /// Blocks of a row with points of the cell itself.
    own: usize,
}

impl Field {
    /// The field of a cell of `size` points, with the same values everywhere.
    pub fn new(size: [usize; 3], values: State) -> Field {
        let own = size[0].div_ceil(WIDTH);
        // A block before and a block behind for the ghosts.
        let extent = [own + 2, size[1] + 2 * GHOSTS];
        let block = Block(values.map(|value| [value; WIDTH]));
        Field {
            blocks: vec![block; extent[0] * extent[1] * (size[2] + 2 * GHOSTS)],
            extent,
            own,
        }
    }

    /// All of it; [`Field::index`] says where what is.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// All of it, to be changed.
    pub fn blocks_mut(&mut self) -> &mut [Block] {
        &mut self.blocks
    }

    /// The block that a place is in.
    #[inline]
    pub fn index(&self, place: [usize; 3]) -> usize {
        (place[2] * self.extent[1] + place[1]) * self.extent[0] + place[0] / WIDTH
    }

    /// The distance from a block to the next in direction `axis`.
    pub fn stride(&self, axis: usize) -> usize {
        [1, self.extent[0], self.extent[0] * self.extent[1]][axis]
    }

    /// The blocks of a row of x with the cell's own points.
    #[inline]
    pub fn row(&self, y: usize, z: usize) -> &[Block] {
        let start = self.index([ORIGIN[0], y, z]);
        &self.blocks[start..start + self.own]
    }

    /// The same, to be changed.
    #[inline]
    pub fn row_mut(&mut self, y: usize, z: usize) -> &mut [Block] {
        let start = self.index([ORIGIN[0], y, z]);
        &mut self.blocks[start..start + self.own]
    }

    /// Its points with those of the ghosts, one before and one behind.
    #[inline]
    pub fn whole_row(&self, y: usize, z: usize) -> &[Block] {
        let start = self.index([0, y, z]);
        &self.blocks[start..start + self.extent[0]]
    }

    /// The values at a place.
    pub fn get(&self, place: [usize; 3]) -> State {
        self.blocks[self.index(place)].get(place[0] % WIDTH)
    }

    /// Sets the values at a place.
    pub fn set(&mut self, place: [usize; 3], values: State) {
        let index = self.index(place);
        self.blocks[index].set(place[0] % WIDTH, values);
    }
}

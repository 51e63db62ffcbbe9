//! The part of the cube that each rank has.

use std::ops::Range;

/// Layers of points of a neighbour that a rank keeps a copy of: as far as the fourth difference reaches.
pub const GHOST: usize = 2;
/// Points that a rank has in x and in y, at least.
const LEAST: usize = 3;

/// The part of a rank: some of the cube in x and y, and all of it in z.
///
/// Where a point is called by its local place, that counts from the first ghost: place [`GHOST`] is the first own point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pencil {
    /// Points of the cube in each direction.
    pub n: usize,
    /// The rank's own points.
    pub x: Range<usize>,
    pub y: Range<usize>,
    /// The ranks that have the points beyond, if the cube does not end there.
    pub west: Option<usize>,
    pub east: Option<usize>,
    pub south: Option<usize>,
    pub north: Option<usize>,
}

impl Pencil {
    /// The pencil of one of so many ranks, in a cube of `n` points in each direction.
    pub fn of(rank: usize, ranks: usize, n: usize) -> Pencil {
        let (columns, rows) = grid(ranks);
        let (column, row) = (rank % columns, rank / columns);
        Pencil {
            n,
            x: n * column / columns..n * (column + 1) / columns,
            y: n * row / rows..n * (row + 1) / rows,
            west: (column > 0).then(|| rank - 1),
            east: (column + 1 < columns).then(|| rank + 1),
            south: (row > 0).then(|| rank - columns),
            north: (row + 1 < rows).then(|| rank + columns),
        }
    }

    /// The local places, in x, of own points that are not on a face of the cube.
    pub fn inner_x(&self) -> Range<usize> {
        inner(&self.x, self.n)
    }

    /// The same points in y.
    pub fn inner_y(&self) -> Range<usize> {
        inner(&self.y, self.n)
    }

    /// The same points in z, which has no ghosts.
    pub fn inner_z(&self) -> Range<usize> {
        1..self.n - 1
    }

    /// A point's place in the cube, by its local place in x and y and its plane. It is not a ghost in the south or west.
    pub fn place(&self, [i, j, k]: [usize; 3]) -> [usize; 3] {
        [self.x.start + i - GHOST, self.y.start + j - GHOST, k]
    }

    /// Likewise, where it is in the unit cube.
    pub fn point(&self, at: [usize; 3]) -> [f64; 3] {
        self.place(at)
            .map(|place| place as f64 / (self.n - 1) as f64)
    }
}

/// True if so many ranks can share a cube of `n` points in each direction. As in NPB 3.4 (`get_active_nprocs`, kind 2, and
/// `subdomain`), their grid is at most twice as long as it is wide, and each has [`LEAST`] points or more in x and in y.
pub fn divides(ranks: usize, n: usize) -> bool {
    // The second is the greater.
    let (columns, rows) = grid(ranks);
    rows <= 2 * columns && n / rows >= LEAST
}

/// The number of ranks in x and in y: the most square way, and no more in x than in y, since rows of x are vectors.
fn grid(ranks: usize) -> (usize, usize) {
    let columns = (1..=ranks.isqrt())
        .rev()
        .find(|columns| ranks.is_multiple_of(*columns))
        .unwrap_or(1);
    (columns, ranks / columns)
}

fn inner(own: &Range<usize>, n: usize) -> Range<usize> {
    let place = |global: usize| global - own.start + GHOST;
    place(own.start.max(1))..place(own.end.min(n - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pencils_cover_the_cube_once() {
        for (n, ranks) in [(12, 1), (12, 2), (12, 8), (12, 16), (33, 6), (64, 12)] {
            assert!(divides(ranks, n));
            let mut owners = vec![0; n * n];
            let mut inner = 0;
            for rank in 0..ranks {
                let pencil = Pencil::of(rank, ranks, n);
                for y in pencil.y.clone() {
                    for x in pencil.x.clone() {
                        owners[y * n + x] += 1;
                    }
                }
                inner += pencil.inner_x().len() * pencil.inner_y().len();
            }
            assert!(owners.iter().all(|&owners| owners == 1), "{ranks} of {n}");
            assert_eq!(inner, (n - 2) * (n - 2));
        }
    }

    #[test]
    fn neighbours_meet() {
        for rank in 0..12 {
            let pencil = Pencil::of(rank, 12, 64);
            if let Some(east) = pencil.east {
                let east = Pencil::of(east, 12, 64);
                assert_eq!((pencil.x.end, Some(rank)), (east.x.start, east.west));
                assert_eq!(pencil.y, east.y);
            }
            if let Some(north) = pencil.north {
                let north = Pencil::of(north, 12, 64);
                assert_eq!((pencil.y.end, Some(rank)), (north.y.start, north.south));
                assert_eq!(pencil.x, north.x);
            }
        }
    }

    #[test]
    fn the_most_square_grid_is_taken() {
        assert_eq!(
            [1, 2, 8, 12, 7].map(grid),
            [(1, 1), (1, 2), (2, 4), (3, 4), (1, 7)]
        );
    }

    #[test]
    fn ranks_are_as_many_as_the_original_takes() {
        let taken = |n| (1..=32).filter(move |&ranks| divides(ranks, n));
        assert!(taken(162).eq([1, 2, 4, 6, 8, 9, 12, 15, 16, 18, 20, 24, 25, 28, 30, 32]));
        assert!(taken(12).eq([1, 2, 4, 6, 8, 9, 12, 16]));
    }
}

//! The multipartition of a cube among ranks (Naik, "Performance effects of irregular communication patterns on
//! massively parallel multiprocessors", 1991; NPB 2.0, NAS-95-020, section 3).
//!
//! Of p² ranks, each direction is cut into p slabs, which makes p³ cells. The cells of a rank lie on a diagonal that
//! winds around the cube: one of them in each slab of every direction. When lines are solved slab after slab, every
//! rank has work in every slab, and all its neighbours on a side are one rank.

use std::ops::Range;

/// A neighbour in a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The rank with the slab below.
    Below,
    /// The rank with the slab above.
    Above,
}

impl Side {
    /// The opposite one.
    pub fn other(self) -> Side {
        match self {
            Side::Below => Side::Above,
            Side::Above => Side::Below,
        }
    }
}

/// The part of the cube that a rank has.
#[derive(Debug, Clone, Copy)]
pub struct Partition {
    slabs: usize,
    /// The place where its diagonal crosses slab 0 of z.
    foot: [usize; 2],
}

impl Partition {
    /// The part of this rank, of `slabs`² ranks.
    pub fn new(rank: usize, slabs: usize) -> Partition {
        Partition {
            slabs,
            foot: [rank % slabs, rank / slabs],
        }
    }

    /// The number of slabs in a direction, which is the number of cells of a rank.
    pub fn slabs(&self) -> usize {
        self.slabs
    }

    /// Its cells, by the slabs of z: the slab of x, y and z that each lies in.
    pub fn cells(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let Partition {
            slabs,
            foot: [x, y],
        } = *self;
        (0..slabs).map(move |z| [(x + z) % slabs, (y + z) % slabs, z])
    }

    /// The one of [`Partition::cells`] that lies in a slab of direction `axis`.
    pub fn cell_in(&self, axis: usize, slab: usize) -> usize {
        match axis {
            2 => slab,
            axis => (slab + self.slabs - self.foot[axis]) % self.slabs,
        }
    }

    /// The rank whose cells are beside this one's.
    pub fn neighbour(&self, axis: usize, side: Side) -> usize {
        let [x, y] = self.foot;
        let (up, down) = (1, self.slabs - 1);
        let (ahead, back) = match side {
            Side::Above => (up, down),
            Side::Below => (down, up),
        };
        // A step in z along the same column is a step back on the diagonal.
        let [x, y] = match axis {
            0 => [x + ahead, y],
            1 => [x, y + ahead],
            _ => [x + back, y + back],
        };
        x % self.slabs + self.slabs * (y % self.slabs)
    }
}

/// The points of slab `slab` of `slabs`, of `points` in a direction: the first slabs have one more if it is not even.
pub fn slab(points: usize, slabs: usize, slab: usize) -> Range<usize> {
    let start = |slab| slab * (points / slabs) + usize::min(slab, points % slabs);
    start(slab)..start(slab + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_one_cell_in_each_slab_and_all_cells_have_one_rank() {
        for slabs in 1..=5 {
            let mut owner = vec![None; slabs * slabs * slabs];
            for rank in 0..slabs * slabs {
                let partition = Partition::new(rank, slabs);
                let cells: Vec<[usize; 3]> = partition.cells().collect();
                for axis in 0..3 {
                    for slab in 0..slabs {
                        assert_eq!(cells[partition.cell_in(axis, slab)][axis], slab);
                    }
                }
                for [x, y, z] in cells {
                    let before = owner[x + slabs * (y + slabs * z)].replace(rank);
                    assert_eq!(before, None);
                }
            }
            assert!(owner.iter().all(Option::is_some));
        }
    }

    #[test]
    fn a_neighbour_owns_the_cells_beside() {
        for slabs in 1..=5 {
            for rank in 0..slabs * slabs {
                let partition = Partition::new(rank, slabs);
                for axis in 0..3 {
                    for (side, step) in [(Side::Above, 1), (Side::Below, slabs - 1)] {
                        let neighbour = partition.neighbour(axis, side);
                        let theirs: Vec<_> = Partition::new(neighbour, slabs).cells().collect();
                        for mut cell in partition.cells() {
                            cell[axis] = (cell[axis] + step) % slabs;
                            assert!(theirs.contains(&cell), "{rank} of {slabs}², axis {axis}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn slabs_are_nearly_equal_and_leave_nothing_out() {
        for (points, slabs) in [(12, 5), (64, 3), (102, 4), (7, 1)] {
            let mut next = 0;
            for i in 0..slabs {
                let range = slab(points, slabs, i);
                assert_eq!(range.start, next);
                assert!((points / slabs..=points.div_ceil(slabs)).contains(&range.len()));
                next = range.end;
            }
            assert_eq!(next, points);
        }
    }
}

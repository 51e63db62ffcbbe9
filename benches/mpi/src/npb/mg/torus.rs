//! A periodic cube shared by ranks: a torus of ranks, cut in half along z, y and x in turn.
//!
//! A rank's points on an axis are those of its share, rounded down: on a level with fewer points than ranks, every
//! `stride`th rank has one, and the others have none.

use std::ops::Range;

/// A rank's place among the ranks. Axes are numbered x, y, z.
#[derive(Debug, Clone, Copy)]
pub struct Torus {
    sides: [usize; 3],
    place: [usize; 3],
}

/// The ranks that share the planes at the ends of a rank's points, on one axis of one level; in steps of ranks, the
/// same in both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// The rank that the ghosts come from. None: the rank has no use for them.
    pub takes: Option<usize>,
    /// The ranks that get its outermost planes.
    pub gives: Vec<usize>,
}

impl Torus {
    /// `size` is a power of two.
    pub fn new(rank: usize, size: usize) -> Torus {
        let mut sides = [1; 3];
        for cut in 0..size.ilog2() as usize {
            sides[2 - cut % 3] *= 2;
        }
        let [x, y, _] = sides;
        Torus {
            sides,
            place: [rank % x, rank / x % y, rank / x / y],
        }
    }

    /// True if all points of an axis are this rank's.
    pub fn is_whole(&self, axis: usize) -> bool {
        self.sides[axis] == 1
    }

    /// The ranks so many steps down and up an axis.
    pub fn neighbours(&self, axis: usize, steps: usize) -> [usize; 2] {
        let side = self.sides[axis];
        [side - steps, steps].map(|steps| {
            let mut place = self.place;
            place[axis] = (place[axis] + steps) % side;
            (place[2] * self.sides[1] + place[1]) * self.sides[0] + place[0]
        })
    }

    /// The points that are this rank's, of a level with so many on an edge.
    pub fn box_of(&self, edge: usize) -> [Range<usize>; 3] {
        [0, 1, 2].map(|axis| {
            let (side, place) = (self.sides[axis], self.place[axis]);
            place * edge / side..(place + 1) * edge / side
        })
    }

    /// The links on an axis of a level with so many points on an edge.
    ///
    /// A rank that has none of these points, but points of the next finer level, takes ghosts all the same: it
    /// interpolates between them.
    pub fn links(&self, axis: usize, edge: usize) -> Links {
        let stride = (self.sides[axis] / edge).max(1);
        let finer = (stride / 2).max(1);
        let has_one_in = |stride| (self.place[axis] + 1).is_multiple_of(stride);
        if has_one_in(stride) {
            let mut gives = vec![stride, finer];
            gives.dedup();
            Links {
                takes: Some(stride),
                gives,
            }
        } else {
            Links {
                takes: has_one_in(finer).then_some(finer),
                gives: Vec::new(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 1 << 9;
    const EDGES: [usize; 4] = [2, 4, 8, 16];

    #[test]
    fn a_level_is_shared_out() {
        for edge in EDGES {
            let boxes = (0..SIZE).map(|rank| Torus::new(rank, SIZE).box_of(edge));
            let points: usize = boxes.map(|[x, y, z]| x.len() * y.len() * z.len()).sum();
            assert_eq!(points, edge * edge * edge);
        }
    }

    #[test]
    fn what_one_takes_another_gives() {
        for edge in EDGES {
            for (rank, axis) in (0..SIZE).flat_map(|rank| [0, 1, 2].map(|axis| (rank, axis))) {
                let torus = Torus::new(rank, SIZE);
                let Links { takes, gives } = torus.links(axis, edge);
                if let Some(steps) = takes {
                    for giver in torus.neighbours(axis, steps) {
                        let theirs = Torus::new(giver, SIZE).links(axis, edge);
                        assert!(theirs.gives.contains(&steps));
                    }
                }
                for steps in gives {
                    for taker in torus.neighbours(axis, steps) {
                        let theirs = Torus::new(taker, SIZE).links(axis, edge);
                        assert_eq!(theirs.takes, Some(steps));
                    }
                }
            }
        }
    }

    #[test]
    fn ghosts_are_the_points_beside_its_own() {
        for edge in EDGES {
            for rank in 0..SIZE {
                let torus = Torus::new(rank, SIZE);
                let own = torus.box_of(edge);
                for (axis, own) in own.iter().enumerate() {
                    let Some(steps) = torus.links(axis, edge).takes else {
                        continue;
                    };
                    let [below, above] = torus
                        .neighbours(axis, steps)
                        .map(|rank| Torus::new(rank, SIZE).box_of(edge)[axis].clone());
                    assert_eq!(below.end % edge, own.start % edge);
                    assert_eq!(above.start % edge, own.end % edge);
                }
            }
        }
    }
}

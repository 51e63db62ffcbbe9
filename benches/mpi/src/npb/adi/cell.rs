//! A cell of the cube: the part of the field that lies in one slab of each direction.

use std::ops::Range;

use super::field::{Field, GHOSTS, ORIGIN};
use super::partition;
use crate::npb::flow::{self, State};

/// A cell, and what is known at its points.
pub struct Cell {
    /// The slab of x, y and z it lies in.
    pub slab: [usize; 3],
    /// Places of its points.
    pub own: [Range<usize>; 3],
    /// Places of those of them that are not on the faces of the cube, where nothing changes.
    pub inside: [Range<usize>; 3],
    /// Weights of the fourth difference by direction and place, from two places below to two above.
    pub fourth: [Vec<[f64; 5]>; 3],
    /// The state of the flow.
    pub state: Field,
    /// The change that the exact solution lacks to be steady, over a time step.
    pub source: Field,
    /// The right-hand side, and what the sweeps make of it: the change of the state in a time step. Zero but inside.
    pub change: Field,
    /// The cube's point at place 0: ghosts below the cube have none, hence the sign.
    first: [isize; 3],
    /// Points of the cube in a direction.
    points: usize,
}

impl Cell {
    /// The cell in slabs `slab`, of `slabs` in a cube of `points` a direction.
    pub fn new(slab: [usize; 3], slabs: usize, points: usize) -> Cell {
        let part = slab.map(|slab| partition::slab(points, slabs, slab));
        let size = part.clone().map(|part| part.len());
        let own: [Range<usize>; 3] =
            std::array::from_fn(|axis| ORIGIN[axis]..ORIGIN[axis] + size[axis]);
        let inside = std::array::from_fn(|axis| {
            let (first, last) = (slab[axis] == 0, slab[axis] + 1 == slabs);
            own[axis].start + usize::from(first)..own[axis].end - usize::from(last)
        });
        let first: [isize; 3] =
            std::array::from_fn(|axis| part[axis].start as isize - ORIGIN[axis] as isize);
        let fourth = std::array::from_fn(|axis| {
            (0..own[axis].end)
                .map(
                    |place| match usize::try_from(first[axis] + place as isize) {
                        Ok(point) if inside[axis].contains(&place) => {
                            flow::fourth_difference(point, points)
                        }
                        _ => [0.0; 5],
                    },
                )
                .collect()
        });
        Cell {
            slab,
            own,
            inside,
            fourth,
            // A value that no neighbour sends is never used, but it is computed with: it has a density.
            state: Field::new(size, [1.0, 0.0, 0.0, 0.0, 1.0]),
            source: Field::new(size, [0.0; 5]),
            change: Field::new(size, [0.0; 5]),
            first,
            points,
        }
    }

    /// Sets the state to a function of the point in the unit cube, at the ghosts as well.
    pub fn fill(&mut self, state: impl Fn([f64; 3]) -> State) {
        let [x, y, z] = self
            .own
            .clone()
            .map(|own| own.start - GHOSTS..own.end + GHOSTS);
        for place in places([x, y, z]) {
            if let Some(point) = self.point(place) {
                self.state.set(place, state(point));
            }
        }
    }

    /// The sums of squares, at the cell's points, of what the state is away from a function of the point.
    pub fn squares_from(&self, state: impl Fn([f64; 3]) -> State) -> State {
        let mut sums = [0.0; 5];
        for place in places(self.own.clone()) {
            if let Some(point) = self.point(place) {
                let (is, ought) = (self.state.get(place), state(point));
                for m in 0..5 {
                    sums[m] += (is[m] - ought[m]).powi(2);
                }
            }
        }
        sums
    }

    /// The sums of squares of the change.
    pub fn squares_of_change(&self) -> State {
        let mut sums = [0.0; 5];
        for place in places(self.inside.clone()) {
            let change = self.change.get(place);
            for m in 0..5 {
                sums[m] += change[m] * change[m];
            }
        }
        sums
    }

    /// The point of a place in the unit cube, if it is in there.
    fn point(&self, place: [usize; 3]) -> Option<[f64; 3]> {
        let mut point = [0.0; 3];
        for axis in 0..3 {
            let i = usize::try_from(self.first[axis] + place[axis] as isize).ok()?;
            if i >= self.points {
                return None;
            }
            point[axis] = i as f64 / (self.points - 1) as f64;
        }
        Some(point)
    }
}

/// All places of a box, x first.
pub fn places([x, y, z]: [Range<usize>; 3]) -> impl Iterator<Item = [usize; 3]> {
    rows(y, z).flat_map(move |[y, z]| x.clone().map(move |x| [x, y, z]))
}

/// The rows of a box.
pub fn rows(y: Range<usize>, z: Range<usize>) -> impl Iterator<Item = [usize; 2]> {
    z.flat_map(move |z| y.clone().map(move |y| [y, z]))
}

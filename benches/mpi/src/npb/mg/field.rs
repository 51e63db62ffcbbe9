//! Numbers at the points of a box, and at the points around it.

use std::ops::Range;

/// A number for each point of a rank's box, and a layer of ghosts around them, which belong to neighbours. x runs
/// fastest. The first point has the index 1 on each axis.
pub struct Field {
    /// The extents, ghosts included.
    extents: [usize; 3],
    values: Vec<f64>,
}

impl Field {
    /// Zeros, for so many points on each axis.
    pub fn new(points: [usize; 3]) -> Field {
        let extents = points.map(|points| points + 2);
        Field {
            extents,
            values: vec![0.0; extents.iter().product()],
        }
    }

    /// The number of points on each axis, without ghosts.
    pub fn points(&self) -> [usize; 3] {
        self.extents.map(|extent| extent - 2)
    }

    /// Makes everything zero.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// A row with its ghosts.
    pub fn row(&self, y: usize, z: usize) -> &[f64] {
        let start = self.start(y, z);
        &self.values[start..start + self.extents[0]]
    }

    /// A row with its ghosts, to be changed.
    pub fn row_mut(&mut self, y: usize, z: usize) -> &mut [f64] {
        let start = self.start(y, z);
        &mut self.values[start..start + self.extents[0]]
    }

    /// All rows without ghosts.
    pub fn own_rows(&self) -> impl Iterator<Item = &[f64]> {
        let [x, y, z] = self.points();
        (1..=z).flat_map(move |z| (1..=y).map(move |y| &self.row(y, z)[1..=x]))
    }

    /// The number of numbers in a plane.
    pub fn plane_length(&self, axis: usize) -> usize {
        let plane = self.plane(axis, 0);
        plane.iter().map(Range::len).product()
    }

    /// Writes a plane one number behind the other.
    pub fn take_plane(&self, axis: usize, at: usize, into: &mut [f64]) {
        let plane = self.plane(axis, at);
        let pieces = into.chunks_exact_mut(plane[0].len());
        for (start, into) in self.starts(&plane).zip(pieces) {
            into.copy_from_slice(&self.values[start..start + into.len()]);
        }
    }

    /// Reads a plane that [`Field::take_plane`] has written.
    pub fn put_plane(&mut self, axis: usize, at: usize, from: &[f64]) {
        let plane = self.plane(axis, at);
        let pieces = from.chunks_exact(plane[0].len());
        for (start, from) in self.starts(&plane).zip(pieces) {
            self.values[start..start + from.len()].copy_from_slice(from);
        }
    }

    /// Copies a plane onto another.
    pub fn copy_plane(&mut self, axis: usize, from: usize, to: usize) {
        let (from, to) = (self.plane(axis, from), self.plane(axis, to));
        for (start, to) in self.starts(&from).zip(self.starts(&to)) {
            self.values.copy_within(start..start + from[0].len(), to);
        }
    }

    fn start(&self, y: usize, z: usize) -> usize {
        (z * self.extents[1] + y) * self.extents[0]
    }

    /// The box of a plane across an axis. It has the ghosts of the axes before, which have theirs by then, and not
    /// those of the axes behind: so edges and corners travel with the planes.
    fn plane(&self, axis: usize, at: usize) -> [Range<usize>; 3] {
        [0, 1, 2].map(|other| match other.cmp(&axis) {
            std::cmp::Ordering::Less => 0..self.extents[other],
            std::cmp::Ordering::Equal => at..at + 1,
            std::cmp::Ordering::Greater => 1..self.extents[other] - 1,
        })
    }

    /// The places where the rows of a box begin.
    fn starts(&self, [x, y, z]: &[Range<usize>; 3]) -> impl Iterator<Item = usize> + use<> {
        let (first, [width, height, _]) = (x.start, self.extents);
        let y = y.clone();
        z.clone()
            .flat_map(move |z| y.clone().map(move |y| (z * height + y) * width + first))
    }
}

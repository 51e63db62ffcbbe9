//! The operators of multigrid (RNR-94-007, section 2.2.2): each makes a point of its 27 neighbours, itself among
//! them, which weigh by how many coordinates they differ in.
//!
//! Nine rows make a row. They are summed up once to what they give their own x ([`Lines::centre`]) and the x on either
//! side ([`Lines::side`]); a point is a centre and two sides.

use super::field::Field;

/// Weights of a point itself, and of those that differ in one, two and three coordinates.
pub type Weights = [f64; 4];

/// -A, the discrete Laplacian.
pub const RESIDUAL: Weights = [8.0 / 3.0, 0.0, -1.0 / 6.0, -1.0 / 12.0];
/// S of the classes S, W and A.
pub const SMOOTHER_SMALL: Weights = [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0];
/// S of the classes B and C.
pub const SMOOTHER_LARGE: Weights = [-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0, 0.0];
/// P, the trilinear projection onto the next coarser level.
const PROJECTION: Weights = [1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0];

/// Sums for one row, which stay in the cache.
pub struct Lines {
    centre: Vec<f64>,
    side: Vec<f64>,
}

impl Lines {
    /// The lines for fields no larger than `largest`.
    pub fn new(largest: &Field) -> Lines {
        let length = largest.points()[0] + 2;
        Lines {
            centre: vec![0.0; length],
            side: vec![0.0; length],
        }
    }

    /// The contribution of the rows around (y, z).
    fn gather(&mut self, weights: Weights, from: &Field, y: usize, z: usize) {
        let near = [(y - 1, z), (y + 1, z), (y, z - 1), (y, z + 1)];
        let far = [
            (y - 1, z - 1),
            (y + 1, z - 1),
            (y - 1, z + 1),
            (y + 1, z + 1),
        ];
        weigh(
            weights,
            from.row(y, z),
            near.map(|(y, z)| from.row(y, z)),
            far.map(|(y, z)| from.row(y, z)),
            &mut self.centre,
            &mut self.side,
        );
    }

    /// The weighted sums of the points between the ghosts.
    fn sums(&self) -> impl Iterator<Item = f64> {
        let sides = self.side.iter().zip(&self.side[2..]);
        let centres = self.centre[1..].iter();
        centres
            .zip(sides)
            .map(|(centre, (below, above))| centre + (below + above))
    }
}

/// Each point of `into` becomes `right` (or what it is, where there is none) plus the weighted sum of `from`.
pub fn apply(
    weights: Weights,
    from: &Field,
    right: Option<&Field>,
    into: &mut Field,
    lines: &mut Lines,
) {
    let [xs, ys, zs] = into.points();
    for (z, y) in (1..=zs).flat_map(|z| (1..=ys).map(move |y| (z, y))) {
        lines.gather(weights, from, y, z);
        let row = into.row_mut(y, z);
        let points = row[1..=xs].iter_mut().zip(lines.sums());
        match right {
            Some(right) => {
                for ((point, sum), right) in points.zip(&right.row(y, z)[1..=xs]) {
                    *point = right + sum;
                }
            }
            None => {
                for (point, sum) in points {
                    *point += sum;
                }
            }
        }
        close(row);
    }
}

/// The trilinear projection of `fine` onto `coarse`. `between`: on which axes the lower ghosts of `fine` lie between two
/// coarse points (1), and not on one (0).
pub fn project(fine: &Field, between: [usize; 3], coarse: &mut Field, lines: &mut Lines) {
    let [xs, ys, zs] = coarse.points();
    for (z, y) in (1..=zs).flat_map(|z| (1..=ys).map(move |y| (z, y))) {
        lines.gather(PROJECTION, fine, 2 * y - between[1], 2 * z - between[2]);
        let row = coarse.row_mut(y, z);
        // A coarse point has the fine points beside it at half of the weight of those at its own x.
        let line = &lines.centre[1 - between[0]..];
        let (lower, upper) = (line.as_chunks::<2>().0, line[1..].as_chunks::<2>().0);
        for ((point, &[below, at]), &[_, above]) in row[1..=xs].iter_mut().zip(lower).zip(upper) {
            *point = at + 0.5 * (below + above);
        }
        close(row);
    }
}

/// Adds to `fine` the trilinear interpolation of `coarse`, on ghosts too. `between` is that of [`project`].
pub fn interpolate(coarse: &Field, between: [usize; 3], fine: &mut Field, lines: &mut Lines) {
    let [xs, ys, zs] = fine.points();
    if xs * ys * zs == 0 {
        return;
    }
    // The coarse points on either side of a fine one; twice the same one where it lies on it.
    let around = |at: usize, between: usize| [(at + between) / 2, (at + between).div_ceil(2)];
    let line = &mut lines.centre[..coarse.points()[0] + 2];
    for (z, y) in (0..zs + 2).flat_map(|z| (0..ys + 2).map(move |y| (z, y))) {
        let ([y0, y1], [z0, z1]) = (around(y, between[1]), around(z, between[2]));
        let rows = [(y0, z0), (y1, z0), (y0, z1), (y1, z1)];
        average(rows.map(|(y, z)| coarse.row(y, z)), line);
        spread(line, between[0], fine.row_mut(y, z));
    }
}

/// The contribution of a row, of the four that touch it by a face and of the four that touch it by an edge, to their own x, and the next.
fn weigh(
    [own_weight, near_weight, far_weight, corner_weight]: Weights,
    own: &[f64],
    near: [&[f64]; 4],
    far: [&[f64]; 4],
    centre: &mut [f64],
    side: &mut [f64],
) {
    let length = own.len();
    let [n0, n1, n2, n3] = near.map(|row| &row[..length]);
    let [f0, f1, f2, f3] = far.map(|row| &row[..length]);
    let (centre, side) = (&mut centre[..length], &mut side[..length]);
    for i in 0..length {
        let near = (n0[i] + n1[i]) + (n2[i] + n3[i]);
        let far = (f0[i] + f1[i]) + (f2[i] + f3[i]);
        centre[i] = own_weight * own[i] + near_weight * near + far_weight * far;
        side[i] = near_weight * own[i] + far_weight * near + corner_weight * far;
    }
}

/// Fills the ghosts of a row from its other end, while it is in the cache: right where x is not cut. Where it is, the
/// exchange of ghosts brings others.
fn close(row: &mut [f64]) {
    let last = row.len() - 2;
    row[0] = row[last];
    row[last + 1] = row[1];
}

/// The mean of four rows.
fn average(rows: [&[f64]; 4], line: &mut [f64]) {
    let length = line.len();
    let [a, b, c, d] = rows.map(|row| &row[..length]);
    for i in 0..length {
        line[i] = 0.25 * ((a[i] + b[i]) + (c[i] + d[i]));
    }
}

/// Adds to every point of a fine row the mean of the coarse points on either side.
fn spread(mut line: &[f64], between: usize, mut row: &mut [f64]) {
    if between == 1 {
        row[0] += 0.5 * (line[0] + line[1]);
        (line, row) = (&line[1..], &mut row[1..]);
    }
    let (pairs, last) = row.as_chunks_mut::<2>();
    for ([on, behind], (line, next)) in pairs.iter_mut().zip(line.iter().zip(&line[1..])) {
        *on += line;
        *behind += 0.5 * (line + next);
    }
    if let ([last], Some(line)) = (last, line.last()) {
        *last += line;
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    /// A part of a level: at each point, ghosts included, what `value` says of its coordinates, which may be -1.
    fn filled(part: &[Range<usize>; 3], value: impl Fn([i64; 3]) -> f64) -> Field {
        let mut field = Field::new([0, 1, 2].map(|axis| part[axis].len()));
        let [xs, ys, zs] = field.points();
        for (z, y, x) in every(0..zs + 2, 0..ys + 2, 0..xs + 2) {
            let at = |axis: usize, index: usize| part[axis].start as i64 + index as i64 - 1;
            field.row_mut(y, z)[x] = value([at(0, x), at(1, y), at(2, z)]);
        }
        field
    }

    fn every(
        zs: Range<usize>,
        ys: Range<usize>,
        xs: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, usize)> {
        zs.flat_map(move |z| {
            let xs = xs.clone();
            ys.clone()
                .flat_map(move |y| xs.clone().map(move |x| (z, y, x)))
        })
    }

    fn cube(edge: usize) -> [Range<usize>; 3] {
        [0, 1, 2].map(|_| 0..edge)
    }

    /// Values without any regularity, with a period.
    fn rough(edge: i64) -> impl Fn([i64; 3]) -> f64 {
        move |at| {
            let [x, y, z] = at.map(|at| at.rem_euclid(edge));
            ((x * x * 7 + y * z * 5 + z * 3 + x * y) % 11) as f64
        }
    }

    fn assert_points(field: &Field, expected: impl Fn(usize, usize, usize) -> f64) {
        let [xs, ys, zs] = field.points();
        for (z, y, x) in every(1..zs + 1, 1..ys + 1, 1..xs + 1) {
            let (value, expected) = (field.row(y, z)[x], expected(x, y, z));
            assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        }
    }

    #[test]
    fn a_point_is_the_weighted_sum_of_27() {
        let weights = [3.0, -2.0, 0.5, 7.0];
        let from = filled(&cube(8), rough(8));
        let right = filled(&cube(8), |[x, _, _]| x as f64);
        let mut into = filled(&cube(8), |_| 1.0);
        apply(
            weights,
            &from,
            Some(&right),
            &mut into,
            &mut Lines::new(&from),
        );
        assert_points(&into, |x, y, z| {
            let around = every(z - 1..z + 2, y - 1..y + 2, x - 1..x + 2);
            let sum: f64 = around
                .map(|(w, v, u)| {
                    let differ = u.abs_diff(x) + v.abs_diff(y) + w.abs_diff(z);
                    weights[differ] * from.row(v, w)[u]
                })
                .sum();
            right.row(y, z)[x] + sum
        });
    }

    #[test]
    fn a_constant_has_no_laplacian_and_projects_fourfold() {
        let ones = filled(&cube(8), |_| 1.0);
        let mut lines = Lines::new(&ones);
        let mut residual = Field::new([8; 3]);
        apply(RESIDUAL, &ones, None, &mut residual, &mut lines);
        assert_points(&residual, |_, _, _| 0.0);
        let mut coarse = Field::new([4; 3]);
        project(&ones, [0; 3], &mut coarse, &mut lines);
        assert_points(&coarse, |_, _, _| 4.0);
    }

    #[test]
    fn a_linear_function_is_interpolated_as_it_is() {
        // Coarse point i is fine point 2 i + 1.
        let linear = |[x, y, z]: [f64; 3]| 2.0 * x - 3.0 * y + 5.0 * z + 1.0;
        let coarse = filled(&cube(4), |at| linear(at.map(|at| 2.0 * at as f64 + 1.0)));
        let mut fine = filled(&cube(8), |_| 10.0);
        let mut lines = Lines::new(&fine);
        interpolate(&coarse, [0; 3], &mut fine, &mut lines);
        let expected = filled(&cube(8), |at| 10.0 + linear(at.map(|at| at as f64)));
        for z in 0..10 {
            for y in 0..10 {
                assert_eq!(fine.row(y, z), expected.row(y, z));
            }
        }
    }

    /// A cube of 8 by 8 by 8 in so many parts along each axis, down to parts that have no coarse point.
    fn parts(count: usize) -> impl Iterator<Item = [[Range<usize>; 3]; 2]> {
        let cut = move |edge: usize, k: usize| edge * k / count..edge * (k + 1) / count;
        every(0..count, 0..count, 0..count)
            .map(move |(z, y, x)| [8, 4].map(|edge| [x, y, z].map(|k| cut(edge, k))))
    }

    #[test]
    fn parts_make_the_whole() {
        let whole = filled(&cube(8), rough(8));
        let mut lines = Lines::new(&whole);
        let mut projected = Field::new([4; 3]);
        project(&whole, [0; 3], &mut projected, &mut lines);
        let mut interpolated = filled(&cube(8), rough(8));
        interpolate(
            &filled(&cube(4), rough(4)),
            [0; 3],
            &mut interpolated,
            &mut lines,
        );

        for [fine, coarse] in [1, 2, 4, 8].into_iter().flat_map(parts) {
            let between = [0, 1, 2].map(|axis| fine[axis].start % 2);
            let mut part = filled(&coarse, |_| 0.0);
            project(&filled(&fine, rough(8)), between, &mut part, &mut lines);
            assert_points(&part, |x, y, z| {
                projected.row(y + coarse[1].start, z + coarse[2].start)[x + coarse[0].start]
            });
            let mut part = filled(&fine, rough(8));
            interpolate(&filled(&coarse, rough(4)), between, &mut part, &mut lines);
            assert_points(&part, |x, y, z| {
                interpolated.row(y + fine[1].start, z + fine[2].start)[x + fine[0].start]
            });
        }
    }
}

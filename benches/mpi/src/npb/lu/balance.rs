//! The right-hand side: what fluxes and dissipation do at a point, less the source.

use super::field::{Chunk, Field, LANES, Lanes, Shape};
use super::pencil::{GHOST, Pencil};
use crate::npb::flow::{self, FOURTH_ORDER, Flow, SECOND_ORDER, State};

/// The discrete operator of the flow on the part of a rank.
pub struct Balance {
    pencil: Pencil,
    shape: Shape,
    /// 1 / 2h and 1 / h^2.
    half: f64,
    square: f64,
    /// The weights of dissipation in x, by lanes.
    weights: Vec<[Lanes; 5]>,
}

/// The rows of five points in a line: two before one, itself, and two behind.
type Rows<'a> = [&'a [f64]; 5];

/// The weights of five points in a line for the one amid them.
type Weights = [f64; 5];

impl Balance {
    /// The balance of a rank.
    pub fn new(pencil: &Pencil) -> Balance {
        let shape = Shape::of(pencil);
        let weights = (0..shape.chunks()).map(|chunk| {
            let first = pencil.x.start + chunk * LANES;
            let lanes: [_; LANES] =
                std::array::from_fn(|lane| dissipation::<0>(first + lane, pencil.n));
            std::array::from_fn(|place| lanes.map(|weights| weights[place]))
        });
        let intervals = (pencil.n - 1) as f64;
        Balance {
            shape,
            half: 0.5 * intervals,
            square: intervals * intervals,
            weights: weights.collect(),
            pencil: pencil.clone(),
        }
    }

    /// The effect of the flow of `solution` at every inner point, less `source`. Elsewhere `result` has no
    /// meaning, but is left as it was in rows and planes without inner points.
    pub fn residual(&self, solution: &Field, source: &Field, result: &mut Field) {
        let last = self.pencil.n - 1;
        for k in self.pencil.inner_z() {
            // A line next to a face is short. The planes that it lacks have no weight, and any plane may stand for them.
            let planes = [k.saturating_sub(2), k - 1, k, k + 1, (k + 2).min(last)]
                .map(|k| solution.plane(k));
            let in_z = dissipation::<2>(k, self.pencil.n);
            for j in self.pencil.inner_y() {
                let in_y = dissipation::<1>(self.pencil.y.start + j - GHOST, self.pencil.n);
                let row = self.shape.row(j);
                self.row(
                    [j - 2, j - 1, j, j + 1, j + 2].map(|j| &planes[2][self.shape.row(j)]),
                    in_y,
                    planes.map(|plane| &plane[row.clone()]),
                    in_z,
                    &source.plane(k)[row.clone()],
                    &mut result.plane_mut(k)[row.clone()],
                );
            }
        }
    }

    /// The residual in a row, whose neighbours in y and in z, and their weights, are given.
    fn row(
        &self,
        y: Rows<'_>,
        in_y: Weights,
        z: Rows<'_>,
        in_z: Weights,
        source: &[f64],
        result: &mut [f64],
    ) {
        let x = [y[2]; 5];
        for (chunk, in_x) in self.weights.iter().enumerate() {
            let first = GHOST + chunk * LANES;
            let lines = [
                self.lines(x, [first - 2, first - 1, first, first + 1, first + 2]),
                self.lines(y, [first; 5]),
                self.lines(z, [first; 5]),
            ];
            let source = self.shape.chunk(source, first);
            let sums = self.lanes(&lines, in_x, &in_y, &in_z, source);
            for (m, sums) in sums.iter().enumerate() {
                result[self.shape.part(m, first..first + LANES)].copy_from_slice(sums);
            }
        }
    }

    /// Lines of five points in one direction, side by side, from where their points are.
    #[inline(always)]
    fn lines<'a>(&self, rows: Rows<'a>, first: [usize; 5]) -> [Chunk<'a>; 5] {
        let chunk = |p: usize| self.shape.chunk(rows[p], first[p]);
        [chunk(0), chunk(1), chunk(2), chunk(3), chunk(4)]
    }

    /// The residuals of neighbouring points, each amid a line in x, in y and in z.
    #[inline(always)]
    fn lanes(
        &self,
        [x, y, z]: &[[Chunk<'_>; 5]; 3],
        in_x: &[Lanes; 5],
        in_y: &Weights,
        in_z: &Weights,
        source: Chunk<'_>,
    ) -> [Lanes; 5] {
        let mut sums = [[0.0; LANES]; 5];
        for lane in 0..LANES {
            let in_x = std::array::from_fn(|p| in_x[p][lane]);
            let x = self.along::<0>(x, lane, &in_x);
            let y = self.along::<1>(y, lane, in_y);
            let z = self.along::<2>(z, lane, in_z);
            let source = source.state(lane);
            for m in 0..5 {
                sums[m][lane] = x[m] + y[m] + z[m] - source[m];
            }
        }
        sums
    }

    /// The part of a direction, from a line of five points.
    #[inline(always)]
    fn along<const D: usize>(
        &self,
        line: &[Chunk<'_>; 5],
        lane: usize,
        weights: &Weights,
    ) -> State {
        let (far_before, before) = (line[0].state(lane), line[1].state(lane));
        let here = line[2].state(lane);
        let (behind, far_behind) = (line[3].state(lane), line[4].state(lane));
        let (flow_before, flow_behind) = (Flow::of(before), Flow::of(behind));
        let carried_in = flow_before.convection::<D>(before);
        let carried_out = flow_behind.convection::<D>(behind);
        let potential_before = flow_before.diffusion::<D>();
        let potential = Flow::of(here).diffusion::<D>();
        let potential_behind = flow_behind.diffusion::<D>();
        std::array::from_fn(|m| {
            self.half * (carried_in[m] - carried_out[m])
                + self.square * (potential_before[m] - 2.0 * potential[m] + potential_behind[m])
                + weights[0] * far_before[m]
                + weights[1] * before[m]
                + weights[2] * here[m]
                + weights[3] * behind[m]
                + weights[4] * far_behind[m]
        })
    }
}

/// The weights that dissipation has for the states of five points in a line. Their third is point `i` of `n`.
fn dissipation<const D: usize>(i: usize, n: usize) -> Weights {
    let square = ((n - 1) * (n - 1)) as f64;
    let second = [0.0, 1.0, -2.0, 1.0, 0.0];
    let fourth = flow::fourth_difference(i, n);
    std::array::from_fn(|p| SECOND_ORDER[D] * square * second[p] - FOURTH_ORDER * fourth[p])
}

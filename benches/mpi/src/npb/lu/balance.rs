//! The right-hand side: what fluxes and dissipation do at a point, less the source.

use super::field::{Chunk, Field, LANES, Lanes, Shape, Stream};
use super::pencil::{GHOST, Pencil};
use crate::npb::flow::{self, FOURTH_ORDER, Flow, SECOND_ORDER, State};

/// The discrete operator of the flow on the part of a rank.
pub struct Balance {
    pencil: Pencil,
    shape: Shape,
    /// 1 / 2h and 1 / h^2.
    half: f64,
    square: f64,
    /// The weights of the fourth difference in x, times its coefficient, by lanes.
    weights: Vec<[Lanes; 5]>,
}

/// The rows around one: two before it, itself, and two behind.
type Rows<'a> = [&'a [f64]; 5];

impl Balance {
    /// That of a rank.
    pub fn new(pencil: &Pencil) -> Balance {
        let shape = Shape::of(pencil);
        let weights = (0..shape.chunks()).map(|chunk| {
            let first = pencil.x.start + chunk * LANES;
            let lanes: [_; LANES] =
                std::array::from_fn(|lane| fourth_order(first + lane, pencil.n));
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

    /// What the flow of `solution` does at every inner point, less `source`. Elsewhere `result` has no meaning,
    /// but is left as it was in rows and planes without inner points.
    pub fn residual(&self, solution: &Field, source: &Field, result: &mut Field) {
        let last = self.pencil.n - 1;
        for k in self.pencil.inner_z() {
            // Beside the faces, where a plane is missing its weight is zero, and any other does.
            let planes = [k.saturating_sub(2), k - 1, k, k + 1, (k + 2).min(last)]
                .map(|k| solution.plane(k));
            let in_z = fourth_order(k, self.pencil.n);
            for j in self.pencil.inner_y() {
                let in_y = fourth_order(self.pencil.y.start + j - GHOST, self.pencil.n);
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
        in_y: State,
        z: Rows<'_>,
        in_z: State,
        source: &[f64],
        result: &mut [f64],
    ) {
        let shape = self.shape;
        let here = y[2];
        let x: [Stream<'_>; 5] = std::array::from_fn(|place| shape.stream(here, place));
        let [y, z] = [y, z].map(|rows| rows.map(|row| shape.stream(row, GHOST)));
        let source = shape.stream(source, GHOST);
        for (chunk, in_x) in self.weights.iter().enumerate() {
            let [x, y, z] = [x, y, z].map(|streams| streams.map(|stream| stream.at(chunk)));
            let sums = self.lanes([x, y, z], [in_y, in_z], in_x, source.at(chunk));
            let first = GHOST + chunk * LANES;
            for (m, sums) in sums.iter().enumerate() {
                result[shape.part(m, first..first + LANES)].copy_from_slice(sums);
            }
        }
    }

    /// The residuals of neighbouring points.
    #[inline(always)]
    fn lanes(
        &self,
        [x, y, z]: [[Chunk<'_>; 5]; 3],
        [in_y, in_z]: [State; 2],
        in_x: &[Lanes; 5],
        source: Chunk<'_>,
    ) -> [Lanes; 5] {
        let mut sums = [[0.0; LANES]; 5];
        for lane in 0..LANES {
            let states = |chunks: [Chunk<'_>; 5]| chunks.map(|chunk| chunk.state(lane));
            let x = self.along::<0>(states(x), in_x.map(|weights| weights[lane]));
            let y = self.along::<1>(states(y), in_y);
            let z = self.along::<2>(states(z), in_z);
            let source = source.state(lane);
            for m in 0..5 {
                sums[m][lane] = x[m] + y[m] + z[m] - source[m];
            }
        }
        sums
    }

    /// The part of a direction, from the states of five points in a line.
    #[inline(always)]
    fn along<const D: usize>(&self, states: [State; 5], weights: [f64; 5]) -> State {
        let [_, before, here, behind, _] = states;
        let flows = [before, here, behind].map(Flow::of);
        let carried_in = flows[0].convection::<D>(before);
        let carried_out = flows[2].convection::<D>(behind);
        let potential = flows.map(|flow| flow.diffusion::<D>());
        std::array::from_fn(|m| {
            let second = |values: [f64; 3]| values[0] - 2.0 * values[1] + values[2];
            let fourth: f64 = (0..5).map(|place| weights[place] * states[place][m]).sum();
            self.half * (carried_in[m] - carried_out[m])
                + self.square
                    * (second(potential.map(|potential| potential[m]))
                        + SECOND_ORDER[D] * second([before[m], here[m], behind[m]]))
                - fourth
        })
    }
}

/// The weights of the dissipation of fourth order.
fn fourth_order(i: usize, n: usize) -> [f64; 5] {
    flow::fourth_difference(i, n).map(|weight| FOURTH_ORDER * weight)
}

//! The right-hand side: how much the state changes in a time step by what flows into and out of each point, diffuses
//! there, is smoothed away and has its source there (RNR-94-007, section 3.3, the explicit part).

use super::cell::{Cell, rows};
use super::field::{Block, Field, GHOSTS, Lanes, WIDTH, pick};
use super::{Step, fused};
use crate::npb::flow::{Flow, SECOND_ORDER, State};

/// The blocks of a row two before, one before, one behind and two behind, in a direction.
type Around<'a> = [&'a [Block]; 4];

/// Computes right-hand sides.
pub struct Balance {
    step: Step,
    /// The row in work, moved in x by -2, -1, 1 and 2 points.
    moved: [Vec<Block>; 4],
    /// The values of a row, one plain row each.
    plain: [Vec<f64>; 5],
    /// Weights of the points in x, for each block of a row.
    weights: Vec<[Lanes; 5]>,
    /// One at the points of a row that may change, zero elsewhere.
    free: Vec<Lanes>,
}

impl Balance {
    /// For time steps of this kind.
    pub fn new(step: Step) -> Balance {
        Balance {
            step,
            moved: Default::default(),
            plain: Default::default(),
            weights: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Sets the change of a cell to its right-hand side. The ghosts have to be there.
    pub fn evaluate(&mut self, cell: &mut Cell) {
        self.weigh(cell);
        let Cell {
            inside,
            fourth,
            state,
            source,
            change,
            ..
        } = cell;
        for [y, z] in rows(inside[1].clone(), inside[2].clone()) {
            self.move_row(state, y, z);
            let around = [
                self.moved.each_ref().map(|row| &row[..]),
                [y - 2, y - 1, y + 1, y + 2].map(|y| state.row(y, z)),
                [z - 2, z - 1, z + 1, z + 2].map(|z| state.row(y, z)),
            ];
            let weights = [
                weights(&self.step, 1, &fourth[1][y]),
                weights(&self.step, 2, &fourth[2][z]),
            ];
            self.row(
                state.row(y, z),
                around,
                weights,
                source.row(y, z),
                change.row_mut(y, z),
            );
        }
    }

    /// Prepares what all rows of a cell have in common.
    fn weigh(&mut self, cell: &Cell) {
        let starts = || cell.own[0].clone().step_by(WIDTH);
        let lanes = |start, value: &dyn Fn(usize) -> f64| -> Lanes {
            std::array::from_fn(|lane| value(start + lane))
        };
        let fourth = |place| {
            let none = [0.0; 5];
            let fourth = cell.fourth[0].get(place).unwrap_or(&none);
            weights(&self.step, 0, fourth)
        };
        let free = |place| f64::from(u8::from(cell.inside[0].contains(&place)));
        self.free.clear();
        self.free.extend(starts().map(|start| lanes(start, &free)));
        let weights = starts()
            .map(|start| std::array::from_fn(|s| lanes(start, &|place| fourth(place)[s])))
            .collect();
        self.weights = weights;
    }

    /// Moves a row in x.
    fn move_row(&mut self, state: &Field, y: usize, z: usize) {
        let row = state.whole_row(y, z);
        let blocks = row.len() - 2;
        for (m, plain) in self.plain.iter_mut().enumerate() {
            plain.clear();
            for block in row {
                plain.extend_from_slice(&block.0[m]);
            }
        }
        for (moved, start) in
            self.moved
                .iter_mut()
                .zip([WIDTH - GHOSTS, WIDTH - 1, WIDTH + 1, WIDTH + GHOSTS])
        {
            moved.resize(blocks, Block::ZERO);
            for (m, plain) in self.plain.iter().enumerate() {
                let (lanes, _) = plain[start..].as_chunks();
                for (block, lanes) in moved.iter_mut().zip(lanes) {
                    block.0[m] = *lanes;
                }
            }
        }
    }

    /// The right-hand side of a row.
    fn row(
        &self,
        at: &[Block],
        around: [Around<'_>; 3],
        [y_weights, z_weights]: [[f64; 5]; 2],
        source: &[Block],
        change: &mut [Block],
    ) {
        let blocks = change.len();
        let (at, source) = (&at[..blocks], &source[..blocks]);
        let (x_weights, free) = (&self.weights[..blocks], &self.free[..blocks]);
        let around = around.map(|axis| axis.map(|row| &row[..blocks]));
        for i in 0..blocks {
            let [x, y, z] = around.map(|axis| axis.map(|row| &row[i]));
            let mut sums = Block::ZERO;
            for lane in 0..WIDTH {
                let state = at[i].get(lane);
                let flow = Flow::of(state);
                let stencil = |[far_before, before, after, far_after]: [&Block; 4]| {
                    [
                        far_before.get(lane),
                        before.get(lane),
                        state,
                        after.get(lane),
                        far_after.get(lane),
                    ]
                };
                let mut sum = source[i].get(lane);
                let x_weights = pick(&x_weights[i], lane);
                along::<0>(&self.step, &x_weights, stencil(x), &flow, &mut sum);
                along::<1>(&self.step, &y_weights, stencil(y), &flow, &mut sum);
                along::<2>(&self.step, &z_weights, stencil(z), &flow, &mut sum);
                sums.set(lane, sum.map(|sum| sum * free[i][lane]));
            }
            change[i] = sums;
        }
    }
}

/// Weights of the state of five points that follow each other, of second- and fourth-order dissipation together.
fn weights(step: &Step, axis: usize, fourth: &[f64; 5]) -> [f64; 5] {
    let second = [0.0, 1.0, -2.0, 1.0, 0.0];
    std::array::from_fn(|s| {
        step.diffusion * SECOND_ORDER[axis] * second[s] - step.dissipation * fourth[s]
    })
}

/// Adds what direction `D` contributes at the third of five points, whose flow is given.
#[inline(always)]
fn along<const D: usize>(
    step: &Step,
    weights: &[f64; 5],
    states: [State; 5],
    flow: &Flow,
    sum: &mut State,
) {
    let (before, after) = (Flow::of(states[1]), Flow::of(states[3]));
    let (inflow, outflow) = (
        before.convection::<D>(states[1]),
        after.convection::<D>(states[3]),
    );
    let potentials = [&before, flow, &after].map(|flow| flow.diffusion::<D>());
    for m in 0..5 {
        for s in 0..5 {
            sum[m] = fused(weights[s], states[s][m], sum[m]);
        }
        sum[m] = fused(step.convection, inflow[m] - outflow[m], sum[m]);
        let diffused = potentials[0][m] - 2.0 * potentials[1][m] + potentials[2][m];
        sum[m] = fused(step.diffusion, diffused, sum[m]);
    }
}

//! The right-hand side: how much the state changes in a time step by what flows into and out of each point, diffuses
//! there, is smoothed away and has its source there (RNR-94-007, section 3.3, the explicit part).

use super::cell::{Cell, rows};
use super::field::{Block, Lanes, WIDTH, pick, put};
use super::step::{Step, fused};
use crate::npb::flow::{Flow, SECOND_ORDER, State};

/// The blocks of a row two before, one before, one behind and two behind, in a direction.
type Around<'a> = [&'a [Block]; 4];

/// Computes right-hand sides.
pub struct Balance {
    step: Step,
    /// The values of the row in work, with its ghosts: each in a row of its own, which can be read from any place on.
    plain: [Vec<f64>; 5],
    /// Weights of the points in x, for each block of a row.
    weights: Vec<[Lanes; 5]>,
    /// One at the points of a row that may change, zero elsewhere.
    free: Vec<Lanes>,
}

impl Balance {
    /// The balance for time steps of this kind.
    pub fn new(step: Step) -> Balance {
        Balance {
            step,
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
            self.spread(state.whole_row(y, z));
            let around = [
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
        self.weights.clear();
        self.free.clear();
        for start in cell.own[0].clone().step_by(WIDTH) {
            let (mut of_x, mut free) = ([[0.0; WIDTH]; 5], [0.0; WIDTH]);
            // The last block may have places beyond the cell.
            for (lane, place) in (start..start + WIDTH).enumerate() {
                let fourth = cell.fourth[0].get(place).unwrap_or(&[0.0; 5]);
                put(&mut of_x, lane, weights(&self.step, 0, fourth));
                free[lane] = f64::from(u8::from(cell.inside[0].contains(&place)));
            }
            self.weights.push(of_x);
            self.free.push(free);
        }
    }

    /// Spreads a row of blocks to one of each value.
    fn spread(&mut self, row: &[Block]) {
        for (m, plain) in self.plain.iter_mut().enumerate() {
            plain.resize(WIDTH * row.len(), 0.0);
            let (lanes, _) = plain.as_chunks_mut();
            for (lanes, block) in lanes.iter_mut().zip(row) {
                *lanes = block.0[m];
            }
        }
    }

    /// The right-hand side of a row.
    fn row(
        &self,
        at: &[Block],
        around: [Around<'_>; 2],
        [y_weights, z_weights]: [[f64; 5]; 2],
        source: &[Block],
        change: &mut [Block],
    ) {
        let blocks = change.len();
        let (at, source) = (&at[..blocks], &source[..blocks]);
        let (x_weights, free) = (&self.weights[..blocks], &self.free[..blocks]);
        let around = around.map(|axis| axis.map(|row| &row[..blocks]));
        let in_x = [WIDTH - 2, WIDTH - 1, WIDTH + 1, WIDTH + 2].map(|place| {
            let plain = self.plain.each_ref();
            plain.map(|values| lanes_from(values, place, blocks))
        });
        for i in 0..blocks {
            let x = in_x.map(|row| row.map(|lanes| lanes[i]));
            let [y, z] = around.map(|axis| axis.map(|row| &row[i]));
            let mut sums = Block::ZERO;
            for lane in 0..WIDTH {
                let state = at[i].get(lane);
                let flow = Flow::of(state);
                let x = x.each_ref().map(|lanes| pick(lanes, lane));
                let y = y.map(|block| block.get(lane));
                let z = z.map(|block| block.get(lane));
                let x_weights = pick(&x_weights[i], lane);
                let mut sum = source[i].get(lane);
                along::<0>(&self.step, &x_weights, state, &flow, x, &mut sum);
                along::<1>(&self.step, &y_weights, state, &flow, y, &mut sum);
                along::<2>(&self.step, &z_weights, state, &flow, z, &mut sum);
                sums.set(lane, sum.map(|sum| sum * free[i][lane]));
            }
            change[i] = sums;
        }
    }
}

/// The lanes of so many blocks, if blocks began at a place.
fn lanes_from(values: &[f64], place: usize, blocks: usize) -> &[Lanes] {
    let (lanes, _) = values[place..].as_chunks();
    &lanes[..blocks]
}

/// Weights of the state of five points that follow each other, of second- and fourth-order dissipation together.
fn weights(step: &Step, axis: usize, fourth: &[f64; 5]) -> [f64; 5] {
    let second = [0.0, 1.0, -2.0, 1.0, 0.0];
    std::array::from_fn(|s| {
        step.diffusion * SECOND_ORDER[axis] * second[s] - step.dissipation * fourth[s]
    })
}

/// Adds what direction `D` contributes at a point, from two points before it, and two behind.
#[inline(always)]
fn along<const D: usize>(
    step: &Step,
    weights: &[f64; 5],
    state: State,
    flow: &Flow,
    [far_before, before, behind, far_behind]: [State; 4],
    sum: &mut State,
) {
    let near = [Flow::of(before), Flow::of(behind)];
    let [inflow, outflow] = [
        near[0].convection::<D>(before),
        near[1].convection::<D>(behind),
    ];
    let potentials = [&near[0], flow, &near[1]].map(|flow| flow.diffusion::<D>());
    for m in 0..5 {
        let values = [far_before[m], before[m], state[m], behind[m], far_behind[m]];
        for s in 0..5 {
            sum[m] = fused(weights[s], values[s], sum[m]);
        }
        sum[m] = fused(step.convection, inflow[m] - outflow[m], sum[m]);
        let diffused = potentials[0][m] - 2.0 * potentials[1][m] + potentials[2][m];
        sum[m] = fused(step.diffusion, diffused, sum[m]);
    }
}

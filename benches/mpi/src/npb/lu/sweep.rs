//! The two sweeps of symmetric successive over-relaxation (RNR-94-007, section 3: the SSOR scheme).
//!
//! The implicit operator of a step is the sum of a lower triangular part, the blocks on the diagonal, and an upper triangular
//! part. A sweep solves with one of the triangles: every point needs the changes of three neighbours, one in each
//! direction. Those in y and z are in rows that are done, so that their part is computed with all lanes. What is
//! left is a recurrence along x: the change at a point is a vector less a matrix times the change before it. Vector and
//! matrix are computed with all lanes, too, so that nothing but their product has to wait.

use std::ops::Range;

use super::exchange::Front;
use super::field::{Field, LANES, Lanes, Shape, beside};
use super::jacobian::{self, Diagonal, Transfer};
use super::pencil::{GHOST, Pencil};
use crate::comm::Comm;
use crate::npb::flow::{Flow, SECOND_ORDER, State};

/// The factor of over-relaxation.
const OMEGA: f64 = 1.2;
/// The factor by which both sweeps together change the solution.
const RELAXATION: f64 = 1.0 / (OMEGA * (2.0 - OMEGA));

/// The sweeps over the part of a rank.
pub struct Sweeps {
    pencil: Pencil,
    operator: Operator,
    cells: Vec<Cells>,
    up: Front,
    down: Front,
}

/// The coefficients of the implicit operator.
struct Operator {
    shape: Shape,
    dt: f64,
    /// The factors of convection and of diffusion from neighbours: omega dt / 2h and omega dt / h^2.
    convection: f64,
    diffusion: f64,
    diagonal: Diagonal,
}

/// The recurrence along a row that is left when all else is done, for [`LANES`] points:
/// a change is `right` less the transfer matrix times the change before it.
#[derive(Clone)]
struct Cells {
    right: [Lanes; 5],
    density: [Lanes; 2],
    momentum_x: [Lanes; 5],
    momentum_y: [Lanes; 3],
    momentum_z: [Lanes; 3],
    energy: [Lanes; 5],
}

/// The solution in a row, in the row before it in y, and in the one before it in z; and likewise the change.
#[derive(Clone, Copy)]
struct Rows<'a> {
    solution: [&'a [f64]; 3],
    change: [&'a [f64]; 3],
}

impl Sweeps {
    /// Those of a rank, with steps of `dt`.
    pub fn new(pencil: &Pencil, dt: f64) -> Sweeps {
        let shape = Shape::of(pencil);
        let intervals = (pencil.n - 1) as f64;
        let square = intervals * intervals;
        let operator = Operator {
            shape,
            dt,
            convection: OMEGA * dt * 0.5 * intervals,
            diffusion: OMEGA * dt * square,
            diagonal: Diagonal::new(2.0 * dt * square, SECOND_ORDER.iter().sum()),
        };
        Sweeps {
            operator,
            cells: vec![Cells::ZERO; shape.chunks()],
            up: Front::new::<false>(pencil),
            down: Front::new::<true>(pencil),
            pencil: pencil.clone(),
        }
    }

    /// Solves with the lower triangle, from the first plane to the last: the residual becomes a change.
    pub fn up(&mut self, comm: &Comm, solution: &Field, change: &mut Field) {
        for k in self.pencil.inner_z() {
            self.up.receive(comm, change.plane_mut(k));
            self.plane::<false>(k, solution, change);
            self.up.send(comm, change.plane(k));
        }
    }

    /// Solves with the upper triangle, from the last plane to the first, and adds the change to the solution.
    pub fn down(&mut self, comm: &Comm, solution: &mut Field, change: &mut Field) {
        let planes = self.pencil.inner_z();
        for k in planes.clone().rev() {
            self.down.receive(comm, change.plane_mut(k));
            self.plane::<true>(k, solution, change);
            self.down.send(comm, change.plane(k));
            // This plane needed the next as it was; nothing does now, and it is still in the cache.
            if planes.contains(&(k + 1)) {
                self.advance(k + 1, solution, change);
            }
        }
        self.advance(planes.start, solution, change);
    }

    fn plane<const DOWN: bool>(&mut self, k: usize, solution: &Field, change: &mut Field) {
        let shape = self.operator.shape;
        let x = self.pencil.inner_x();
        let front = if DOWN { &mut self.down } else { &mut self.up };
        let first = self.pencil.inner_y().start;
        let solution_before = solution.plane(previous::<DOWN>(k));
        let solution = solution.plane(k);
        let (change, change_before) = change.plane_beside(k, previous::<DOWN>(k));
        for j in ordered::<DOWN>(self.pencil.inner_y()) {
            let (row, row_before) = (shape.row(j), shape.row(previous::<DOWN>(j)));
            let (own, own_before) = beside(change, row.clone(), row_before.clone());
            let rows = Rows {
                solution: [
                    &solution[row.clone()],
                    &solution[row_before],
                    &solution_before[row.clone()],
                ],
                change: [own, own_before, &change_before[row]],
            };
            self.operator.prepare::<DOWN>(rows, &mut self.cells);
            let inflow = front.inflow[j - first];
            front.outflow[j - first] =
                self.operator
                    .go::<DOWN>(&self.cells, x.clone(), inflow, own);
        }
    }

    /// Adds the change of a plane to the solution.
    fn advance(&self, k: usize, solution: &mut Field, change: &Field) {
        let shape = self.operator.shape;
        let (solution, change) = (solution.plane_mut(k), change.plane(k));
        for j in self.pencil.inner_y() {
            let row = shape.row(j);
            let (solution, change) = (&mut solution[row.clone()], &change[row]);
            for m in 0..5 {
                let part = shape.part(m, self.pencil.inner_x());
                for (value, change) in solution[part.clone()].iter_mut().zip(&change[part]) {
                    *value += RELAXATION * change;
                }
            }
        }
    }
}

impl Operator {
    /// All that can be done for a row with all lanes.
    fn prepare<const DOWN: bool>(&self, rows: Rows<'_>, cells: &mut [Cells]) {
        let shape = self.shape;
        for (chunk, cells) in cells.iter_mut().enumerate() {
            let first = GHOST + chunk * LANES;
            let here = shape.chunk(rows.solution[0], first);
            let in_x = shape.chunk(rows.solution[0], previous::<DOWN>(first));
            let in_y = shape.chunk(rows.solution[1], first);
            let in_z = shape.chunk(rows.solution[2], first);
            let own = shape.chunk(rows.change[0], first);
            let change_y = shape.chunk(rows.change[1], first);
            let change_z = shape.chunk(rows.change[2], first);
            for lane in 0..LANES {
                let y = self.neighbour::<1, DOWN>(in_y.state(lane), change_y.state(lane));
                let z = self.neighbour::<2, DOWN>(in_z.state(lane), change_z.state(lane));
                let own = own.state(lane);
                let inverse = self.diagonal.inverse(&Flow::of(here.state(lane)));
                let right = if DOWN {
                    let back = inverse.times(std::array::from_fn(|m| y[m] + z[m]));
                    std::array::from_fn(|m| own[m] - back[m])
                } else {
                    inverse.times(std::array::from_fn(|m| self.dt * own[m] - y[m] - z[m]))
                };
                let convection = self.convection::<DOWN>();
                let in_x = Flow::of(in_x.state(lane));
                let transfer = inverse.transfer(&in_x, convection, self.diffusion, SECOND_ORDER[0]);
                cells.set(lane, right, &transfer);
            }
        }
    }

    /// Goes along the points `x` of a row, and returns the change at the last of them.
    fn go<const DOWN: bool>(
        &self,
        cells: &[Cells],
        x: Range<usize>,
        inflow: State,
        row: &mut [f64],
    ) -> State {
        let mut change = inflow;
        for i in ordered::<DOWN>(x) {
            let (right, transfer) = cells[(i - GHOST) / LANES].get((i - GHOST) % LANES);
            let transferred = transfer.times(change);
            for m in 0..5 {
                change[m] = right[m] - transferred[m];
                row[self.shape.part(m, i..i + 1).start] = change[m];
            }
        }
        change
    }

    /// The part of a neighbour in direction `D`: the one behind a point when the sweep goes down, else the one before it.
    #[inline(always)]
    fn neighbour<const D: usize, const DOWN: bool>(&self, state: State, change: State) -> State {
        let flow = Flow::of(state);
        let convected = jacobian::convection::<D>(&flow, change);
        let diffused = jacobian::diffusion::<D>(&flow, change);
        std::array::from_fn(|m| {
            self.convection::<DOWN>() * convected[m]
                - self.diffusion * (diffused[m] + SECOND_ORDER[D] * change[m])
        })
    }

    /// Towards a neighbour, which is behind a point when the sweep goes down, else before it.
    #[inline(always)]
    fn convection<const DOWN: bool>(&self) -> f64 {
        if DOWN {
            self.convection
        } else {
            -self.convection
        }
    }
}

impl Cells {
    const ZERO: Cells = Cells {
        right: [[0.0; LANES]; 5],
        density: [[0.0; LANES]; 2],
        momentum_x: [[0.0; LANES]; 5],
        momentum_y: [[0.0; LANES]; 3],
        momentum_z: [[0.0; LANES]; 3],
        energy: [[0.0; LANES]; 5],
    };

    #[inline(always)]
    fn set(&mut self, lane: usize, right: State, transfer: &Transfer) {
        put(&mut self.right, lane, right);
        put(&mut self.density, lane, transfer.density);
        put(&mut self.momentum_x, lane, transfer.momentum_x);
        put(&mut self.momentum_y, lane, transfer.momentum_y);
        put(&mut self.momentum_z, lane, transfer.momentum_z);
        put(&mut self.energy, lane, transfer.energy);
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> (State, Transfer) {
        let transfer = Transfer {
            density: get(&self.density, lane),
            momentum_x: get(&self.momentum_x, lane),
            momentum_y: get(&self.momentum_y, lane),
            momentum_z: get(&self.momentum_z, lane),
            energy: get(&self.energy, lane),
        };
        (get(&self.right, lane), transfer)
    }
}

#[inline(always)]
fn put<const N: usize>(lanes: &mut [Lanes; N], lane: usize, values: [f64; N]) {
    for m in 0..N {
        lanes[m][lane] = values[m];
    }
}

#[inline(always)]
fn get<const N: usize>(lanes: &[Lanes; N], lane: usize) -> [f64; N] {
    std::array::from_fn(|m| lanes[m][lane])
}

/// The places of a sweep, in its order.
fn ordered<const DOWN: bool>(places: Range<usize>) -> impl Iterator<Item = usize> {
    let (first, last) = (places.start, places.end - 1);
    places.map(move |place| if DOWN { first + last - place } else { place })
}

/// The place that a sweep was at before.
fn previous<const DOWN: bool>(place: usize) -> usize {
    if DOWN { place + 1 } else { place - 1 }
}

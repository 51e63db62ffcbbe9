//! The two sweeps of symmetric successive over-relaxation (RNR-94-007, section 3: the SSOR scheme).
//!
//! The implicit operator of a step is the sum of a lower, a diagonal and an upper triangular part by points. A sweep solves
//! with one of the triangles: every point needs the changes of the three before it, one in each direction.
//! Those in y and z are of rows that are done, so that their part is computed with all lanes; what
//! is left is a recurrence along x.

use std::ops::Range;

use super::exchange::Front;
use super::field::{Field, LANES, Lanes, Shape, beside};
use super::jacobian::{self, Diagonal, Pivots};
use super::pencil::{GHOST, Pencil};
use crate::comm::Comm;
use crate::npb::flow::{Flow, SECOND_ORDER, State};

/// The factor of over-relaxation.
const OMEGA: f64 = 1.2;
/// What both sweeps together change the solution by.
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
    /// Of convection and of diffusion from neighbours: omega dt / 2h and omega dt / h^2.
    convection: f64,
    diffusion: f64,
    diagonal: Diagonal,
}

/// What a sweep has of a row before it goes along it, for [`LANES`] points.
#[derive(Clone)]
struct Cells {
    volume: Lanes,
    velocity: [Lanes; 3],
    kinetic: Lanes,
    energy: Lanes,
    pivots: [Lanes; 2],
    /// The right-hand side, less the parts of neighbours in y and z.
    right: [Lanes; 5],
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

    /// From the first plane to the last: solves with the lower triangle, which makes the residual a change.
    pub fn up(&mut self, comm: &Comm, solution: &Field, change: &mut Field) {
        for k in self.pencil.inner_z() {
            self.up.receive(comm, change.plane_mut(k));
            self.plane::<false>(k, solution, change);
            self.up.send(comm, change.plane(k));
        }
    }

    /// From the last plane to the first: solves with the upper triangle, and adds the change to the solution.
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
        let before = if DOWN { x.end } else { x.start - 1 };
        let front = if DOWN { &mut self.down } else { &mut self.up };
        let first = self.pencil.inner_y().start;
        let solution_before = solution.plane(previous::<DOWN>(k));
        let solution = solution.plane(k);
        let (change, change_before) = change.plane_beside(k, previous::<DOWN>(k));
        for j in ordered::<DOWN>(self.pencil.inner_y()) {
            let (row, row_before) = (shape.row(j), shape.row(previous::<DOWN>(j)));
            let here = &solution[row.clone()];
            let (own, own_before) = beside(change, row.clone(), row_before.clone());
            let rows = Rows {
                solution: [here, &solution[row_before], &solution_before[row.clone()]],
                change: [own, own_before, &change_before[row]],
            };
            self.operator.prepare::<DOWN>(rows, &mut self.cells);
            let upstream = Flow::of(shape.state(here, before));
            let inflow = front.inflow[j - first];
            front.outflow[j - first] =
                self.operator
                    .go::<DOWN>(&self.cells, x.clone(), (upstream, inflow), own);
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
    /// All that a row needs before it is gone along.
    fn prepare<const DOWN: bool>(&self, rows: Rows<'_>, cells: &mut [Cells]) {
        let stream = |row| self.shape.stream(row, GHOST);
        let (solution, change) = (rows.solution.map(stream), rows.change.map(stream));
        for (chunk, cells) in cells.iter_mut().enumerate() {
            let solution = solution.map(|stream| stream.at(chunk));
            let change = change.map(|stream| stream.at(chunk));
            for lane in 0..LANES {
                let [here, in_y, in_z] = solution.map(|chunk| Flow::of(chunk.state(lane)));
                let [own, change_y, change_z] = change.map(|chunk| chunk.state(lane));
                let y = self.neighbour::<1, DOWN>(&in_y, change_y);
                let z = self.neighbour::<2, DOWN>(&in_z, change_z);
                let scale = if DOWN { 0.0 } else { self.dt };
                let right = std::array::from_fn(|m| scale * own[m] - y[m] - z[m]);
                cells.set(lane, &here, self.diagonal.pivots(&here), right);
            }
        }
    }

    /// Goes along the points `x` of a row, and returns the change at the last of them.
    fn go<const DOWN: bool>(
        &self,
        cells: &[Cells],
        x: Range<usize>,
        upstream: (Flow, State),
        row: &mut [f64],
    ) -> State {
        let (mut flow, mut change) = upstream;
        for i in ordered::<DOWN>(x) {
            let (chunk, lane) = ((i - GHOST) / LANES, (i - GHOST) % LANES);
            let (here, pivots, right) = cells[chunk].get(lane);
            let before = self.neighbour::<0, DOWN>(&flow, change);
            let right = std::array::from_fn(|m| right[m] - before[m]);
            change = self.diagonal.solve(&here, pivots, right);
            if DOWN {
                let found = self.shape.state(row, i);
                change = std::array::from_fn(|m| found[m] + change[m]);
            }
            for (m, change) in change.into_iter().enumerate() {
                row[self.shape.part(m, i..i + 1).start] = change;
            }
            flow = here;
        }
        change
    }

    /// The part of a neighbour in direction `D`: the one behind a point when the sweep goes down, else the one before it.
    #[inline(always)]
    fn neighbour<const D: usize, const DOWN: bool>(&self, flow: &Flow, change: State) -> State {
        let convected = jacobian::convection::<D>(flow, change);
        let diffused = jacobian::diffusion::<D>(flow, change);
        let sign = if DOWN { 1.0 } else { -1.0 };
        std::array::from_fn(|m| {
            sign * self.convection * convected[m]
                - self.diffusion * (diffused[m] + SECOND_ORDER[D] * change[m])
        })
    }
}

impl Cells {
    const ZERO: Cells = Cells {
        volume: [0.0; LANES],
        velocity: [[0.0; LANES]; 3],
        kinetic: [0.0; LANES],
        energy: [0.0; LANES],
        pivots: [[0.0; LANES]; 2],
        right: [[0.0; LANES]; 5],
    };

    #[inline(always)]
    fn set(&mut self, lane: usize, flow: &Flow, pivots: Pivots, right: State) {
        self.volume[lane] = flow.volume;
        for (lanes, speed) in self.velocity.iter_mut().zip(flow.velocity) {
            lanes[lane] = speed;
        }
        self.kinetic[lane] = flow.kinetic;
        self.energy[lane] = flow.energy;
        self.pivots[0][lane] = pivots.momentum;
        self.pivots[1][lane] = pivots.energy;
        for (lanes, right) in self.right.iter_mut().zip(right) {
            lanes[lane] = right;
        }
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> (Flow, Pivots, State) {
        let flow = Flow {
            volume: self.volume[lane],
            velocity: self.velocity.map(|lanes| lanes[lane]),
            kinetic: self.kinetic[lane],
            energy: self.energy[lane],
        };
        let [momentum, energy] = self.pivots.map(|lanes| lanes[lane]);
        let right = self.right.map(|lanes| lanes[lane]);
        (flow, Pivots { momentum, energy }, right)
    }
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

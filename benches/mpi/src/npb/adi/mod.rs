//! What BT and SP share (RNR-94-007, section 3): an implicit time step of the flow by approximate factorisation,
//! which solves along the lines of x, then those of y, then those of z, on a cube that is cut into cells.
//!
//! [`partition`] says which cells a rank has, [`cell`] and [`field`] what is in them, [`exchange`] how neighbours get
//! each other's faces, [`balance`] what the right-hand side is, and [`sweep`] how lines are solved, by a [`scheme`].

// An index is a component of vectors and matrices here, of several at once.
#![allow(clippy::needless_range_loop)]

mod balance;
mod cell;
mod exchange;
mod field;
mod partition;
mod scheme;
mod sweep;
#[cfg(test)]
pub mod trial;

use mpi::collective::SystemOperation;

use super::flow::{self, FOURTH_ORDER, State};
use super::{Check, Outcome};
use crate::comm::Comm;
use balance::Balance;
use cell::{Cell, rows};
use exchange::Faces;
use field::{Block, WIDTH};
use partition::Partition;
use sweep::Sweeps;

pub use scheme::{Equation, Scheme};

const TOLERANCE: f64 = 1e-8;
/// No slab is thinner.
const THINNEST: usize = 3;

/// In words, [`divides`].
pub const RANKS: &str = "p² ranks, with p at most a third of the points in a direction";

/// Whether so many ranks can share a cube of so many points a direction.
pub fn divides(ranks: usize, points: usize) -> bool {
    let slabs = ranks.isqrt();
    slabs * slabs == ranks && slabs * THINNEST <= points
}

/// What is computed, and what is published about it.
pub struct Problem {
    /// Points of the cube in a direction.
    pub points: usize,
    /// A time step.
    pub time_step: f64,
    /// How many there are.
    pub iterations: usize,
    /// Norms of the right-hand side of the last state, over the time step.
    pub residual: State,
    /// Norms of the distance of the last state from the exact solution.
    pub error: State,
    /// Operations in an iteration.
    pub operations: f64,
}

/// The coefficients of a time step, the same in all directions.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Of a difference of points two apart: the time step over twice their distance.
    pub convection: f64,
    /// Of a second difference: the time step over the square of the distance.
    pub diffusion: f64,
    /// Of a fourth difference: the time step times its coefficient.
    pub dissipation: f64,
}

impl Step {
    /// That of a problem.
    pub fn of(problem: &Problem) -> Step {
        let intervals = (problem.points - 1) as f64;
        Step {
            convection: problem.time_step * 0.5 * intervals,
            diffusion: problem.time_step * intervals * intervals,
            dissipation: problem.time_step * FOURTH_ORDER,
        }
    }
}

/// Runs and verifies a problem.
pub fn run<const LOCAL: usize, const ROW: usize, const REACH: usize>(
    comm: &Comm,
    problem: &Problem,
    scheme: impl Scheme<LOCAL, ROW, REACH>,
) -> Outcome {
    let mut simulation = Simulation::new(comm, problem, scheme);
    // Touches code and memory once, as the original does.
    comm.warm_up(|| simulation.step());
    simulation.restart();
    let time_s = comm.timed(|| {
        for _ in comm.iterations(0..problem.iterations) {
            simulation.step();
        }
    });
    Outcome {
        time_s,
        mop: problem.iterations as f64 * problem.operations / 1e6,
        checks: simulation.verify(),
    }
}

/// A problem under way, one rank's part of it.
struct Simulation<'a, S, const LOCAL: usize, const ROW: usize, const REACH: usize> {
    comm: &'a Comm,
    problem: &'a Problem,
    scheme: S,
    cells: Vec<Cell>,
    faces: Faces,
    balance: Balance,
    sweeps: Sweeps<ROW, REACH>,
}

impl<'a, S, const LOCAL: usize, const ROW: usize, const REACH: usize>
    Simulation<'a, S, LOCAL, ROW, REACH>
where
    S: Scheme<LOCAL, ROW, REACH>,
{
    /// At its beginning.
    fn new(comm: &'a Comm, problem: &'a Problem, scheme: S) -> Self {
        let partition = Partition::new(comm.rank(), comm.size().isqrt());
        let mut cells: Vec<Cell> = partition
            .cells()
            .map(|slab| Cell::new(slab, partition.slabs(), problem.points))
            .collect();
        let mut balance = Balance::new(Step::of(problem));
        for cell in &mut cells {
            // The source is what makes the exact solution steady.
            cell.fill(flow::exact);
            balance.evaluate(cell);
            for (source, change) in cell
                .source
                .blocks_mut()
                .iter_mut()
                .zip(cell.change.blocks())
            {
                *source = Block(change.0.map(|lanes| lanes.map(|value| -value)));
            }
        }
        let mut simulation = Simulation {
            comm,
            problem,
            scheme,
            faces: Faces::new(partition, &cells),
            cells,
            balance,
            sweeps: Sweeps::new(partition),
        };
        simulation.restart();
        simulation
    }

    /// Goes back to the beginning.
    fn restart(&mut self) {
        for cell in &mut self.cells {
            cell.fill(flow::initial);
        }
    }

    /// Goes on by a time step.
    fn step(&mut self) {
        self.comm.phase("exchange");
        self.exchange();
        self.comm.phase("right-hand side");
        self.evaluate();
        let Simulation {
            comm,
            scheme,
            cells,
            sweeps,
            ..
        } = self;
        comm.phase("x sweep");
        sweeps.sweep::<0, LOCAL>(comm, scheme, cells);
        comm.phase("y sweep");
        sweeps.sweep::<1, LOCAL>(comm, scheme, cells);
        comm.phase("z sweep");
        sweeps.sweep::<2, LOCAL>(comm, scheme, cells);
        comm.phase("add");
        for cell in cells {
            add(scheme, cell);
        }
    }

    /// Brings the ghosts of all cells up to date.
    fn exchange(&mut self) {
        self.faces.exchange(self.comm, &mut self.cells);
    }

    /// Sets the change of all cells to the right-hand side.
    fn evaluate(&mut self) {
        for cell in &mut self.cells {
            self.balance.evaluate(cell);
        }
    }

    /// The norms, beside the published ones.
    fn verify(&mut self) -> Vec<Check> {
        self.exchange();
        self.evaluate();
        let residual = self
            .norms(Cell::squares_of_change)
            .map(|norm| norm / self.problem.time_step);
        let error = self.norms(|cell| cell.squares_from(flow::exact));
        let checks = |what, values: State, expected: State| {
            let names = [
                "density",
                "x momentum",
                "y momentum",
                "z momentum",
                "energy",
            ];
            names.into_iter().zip(values).zip(expected).map(
                move |((component, value), expected)| Check {
                    what: format!("{what} of {component}"),
                    value,
                    expected,
                    tolerance: TOLERANCE,
                },
            )
        };
        checks("residual", residual, self.problem.residual)
            .chain(checks("error", error, self.problem.error))
            .collect()
    }

    /// Root of the sums of squares of all cells of all ranks over the number of points inside.
    fn norms(&self, squares: impl Fn(&Cell) -> State) -> State {
        let mut sums = [0.0; 5];
        for cell in &self.cells {
            for (sum, squares) in sums.iter_mut().zip(squares(cell)) {
                *sum += squares;
            }
        }
        self.comm
            .all_reduce_in_place(&mut sums, SystemOperation::sum());
        let inside = ((self.problem.points - 2) as f64).powi(3);
        sums.map(|sum| (sum / inside).sqrt())
    }
}

/// Adds what the sweeps left to the state.
fn add<const LOCAL: usize, const ROW: usize, const REACH: usize>(
    scheme: &impl Scheme<LOCAL, ROW, REACH>,
    cell: &mut Cell,
) {
    for [y, z] in rows(cell.inside[1].clone(), cell.inside[2].clone()) {
        let changes = cell.change.row(y, z);
        for (block, change) in cell.state.row_mut(y, z).iter_mut().zip(changes) {
            let mut sums = Block::ZERO;
            for lane in 0..WIDTH {
                let state = block.get(lane);
                let change = scheme.finish(state, change.get(lane));
                sums.set(lane, std::array::from_fn(|m| state[m] + change[m]));
            }
            *block = sums;
        }
    }
}

/// a b + c, in one instruction where there is one. Elsewhere a fused product is a slow function.
#[inline(always)]
pub fn fused(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(target_feature = "fma") {
        a.mul_add(b, c)
    } else {
        a * b + c
    }
}

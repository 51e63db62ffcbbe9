//! The common part of BT and SP (RNR-94-007, section 3): an implicit time step of the flow by approximate
//! factorisation. It solves along the lines of x, then those of y, then those of z, on a cube that is cut into
//! cells.
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
mod step;
mod sweep;
#[cfg(test)]
pub mod trial;

use mpi::collective::SystemOperation;

use super::flow::{self, State};
use super::{Check, Outcome};
use crate::comm::Comm;
use balance::Balance;
use cell::{Cell, rows};
use exchange::Faces;
use field::{Block, WIDTH};
use partition::Partition;
use sweep::Sweeps;

pub use scheme::{Equation, Scheme};
pub use step::{Problem, Step, fused};

const TOLERANCE: f64 = 1e-8;
/// No slab is thinner.
const THINNEST: usize = 3;

/// The rule of [`divides`] in words.
pub const RANKS: &str = "p² ranks, with p at most a third of the points in a direction";

/// True if so many ranks can share a cube of so many points a direction.
pub fn divides(ranks: usize, points: usize) -> bool {
    let slabs = ranks.isqrt();
    slabs * slabs == ranks && slabs * THINNEST <= points
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
    /// The solver at its beginning.
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

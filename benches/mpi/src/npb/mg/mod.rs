//! MG, multigrid (RNR-94-007, section 2.2.2): V-cycles towards the solution of a Poisson equation on a periodic cube.
//! Ranks own boxes of every level, and exchange their faces after each step.

mod charges;
mod field;
mod ghosts;
mod stencil;
mod torus;

use mpi::collective::SystemOperation;

use field::Field;
use ghosts::Ghosts;
use stencil::{Lines, Weights};
use torus::{Links, Torus};

use super::vector::{dot, greatest};
use super::{Check, Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: Name::Mg,
    title: "multigrid V-cycles on a periodic cube; long and short messages between neighbours",
    ranks: Ranks::POWERS_OF_TWO,
    run,
};

const TOLERANCE: f64 = 1e-8;
/// Operations for a point and iteration, as the benchmark counts them.
const OPERATIONS: f64 = 58.0;

fn run(comm: &Comm, class: Class) -> Outcome {
    // Binary logarithm of the points on an edge of the cube.
    let (log2, iterations, smoother, expected) = class.of([
        (5, 4, stencil::SMOOTHER_SMALL, 0.5307707005734e-04),
        (7, 4, stencil::SMOOTHER_SMALL, 0.6467329375339e-05),
        (8, 4, stencil::SMOOTHER_SMALL, 0.2433365309069e-05),
        (8, 20, stencil::SMOOTHER_LARGE, 0.1800564401355e-05),
        (9, 20, stencil::SMOOTHER_LARGE, 0.5706732285740e-06),
    ]);
    let mut multigrid = Multigrid::new(comm, log2, smoother);
    comm.warm_up(|| multigrid.solve(1));
    multigrid.forget();
    let mut norm = 0.0;
    let time_s = comm.timed(|| norm = multigrid.solve(iterations));
    Outcome {
        time_s,
        mop: OPERATIONS * f64::from(iterations) * f64::from(3 * log2).exp2() / 1e6,
        checks: vec![Check {
            what: "norm of the residual".to_owned(),
            value: norm,
            expected,
            tolerance: TOLERANCE,
        }],
    }
}

/// The solver of A u = v.
struct Multigrid<'a> {
    comm: &'a Comm,
    ghosts: Ghosts<'a>,
    /// The levels, from 2 points on an edge to all of them, twice as many each.
    levels: Vec<Level>,
    /// The charges, on the finest level.
    v: Field,
    smoother: Weights,
    lines: Lines,
    /// Points on an edge of the finest level.
    edge: usize,
}

/// A rank's part of a level.
struct Level {
    /// The solution; below the finest level, its correction.
    u: Field,
    /// The residual.
    r: Field,
    links: [Links; 3],
    /// For each axis: the lower ghosts lie between two points of the next coarser level (1), or on one (0).
    between: [usize; 3],
}

impl Level {
    fn new(torus: &Torus, edge: usize) -> Level {
        let own = torus.box_of(edge);
        let points = [0, 1, 2].map(|axis| own[axis].len());
        Level {
            u: Field::new(points),
            r: Field::new(points),
            links: [0, 1, 2].map(|axis| torus.links(axis, edge)),
            between: [0, 1, 2].map(|axis| own[axis].start % 2),
        }
    }
}

impl<'a> Multigrid<'a> {
    /// The state with u = 0 and the charges where they belong.
    fn new(comm: &'a Comm, log2: u32, smoother: Weights) -> Multigrid<'a> {
        let torus = Torus::new(comm.rank(), comm.size());
        let edge = 1 << log2;
        let own = torus.box_of(edge);
        let mut v = Field::new([0, 1, 2].map(|axis| own[axis].len()));
        charges::place(comm, edge, &own, &mut v);
        Multigrid {
            comm,
            ghosts: Ghosts::new(comm, torus, &v),
            levels: (1..=log2)
                .map(|log2| Level::new(&torus, 1 << log2))
                .collect(),
            lines: Lines::new(&v),
            v,
            smoother,
            edge,
        }
    }

    /// Back to u = 0.
    fn forget(&mut self) {
        let finest = self.finest();
        self.levels[finest].u.clear();
    }

    /// Makes so many V-cycles, each with the residual before it. Gives the norm of the residual at the end.
    fn solve(&mut self, cycles: i32) -> f64 {
        let finest = self.finest();
        self.residual(finest);
        // Part of the benchmark, but nothing is verified against it.
        self.norm();
        for _ in self.comm.iterations(0..cycles) {
            self.cycle();
            self.residual(finest);
        }
        self.norm()
    }

    /// Goes from the residual of the finest level down to the coarsest, and up again with corrections.
    fn cycle(&mut self) {
        let finest = self.finest();
        for level in (1..=finest).rev() {
            self.project(level);
        }
        self.levels[0].u.clear();
        self.smooth(0);
        for level in 1..=finest {
            if level < finest {
                self.levels[level].u.clear();
            }
            self.interpolate(level);
            self.residual(level);
            self.smooth(level);
        }
    }

    fn finest(&self) -> usize {
        self.levels.len() - 1
    }

    /// r = v - A u; below the finest level r, which was projected there, is the right side too.
    fn residual(&mut self, level: usize) {
        self.comm.phase("residual");
        let right = (level == self.finest()).then_some(&self.v);
        let Level { u, r, links, .. } = &mut self.levels[level];
        stencil::apply(stencil::RESIDUAL, u, right, r, &mut self.lines);
        self.ghosts.exchange(r, links);
    }

    /// u += S r.
    fn smooth(&mut self, level: usize) {
        self.comm.phase("smoothing");
        let Level { u, r, links, .. } = &mut self.levels[level];
        stencil::apply(self.smoother, r, None, u, &mut self.lines);
        self.ghosts.exchange(u, links);
    }

    /// The residual of a level, taken to the next coarser one.
    fn project(&mut self, level: usize) {
        self.comm.phase("projection");
        let (coarser, finer) = self.levels.split_at_mut(level);
        let (coarse, fine) = (&mut coarser[level - 1], &finer[0]);
        stencil::project(&fine.r, fine.between, &mut coarse.r, &mut self.lines);
        self.ghosts.exchange(&mut coarse.r, &coarse.links);
    }

    /// The correction of the next coarser level, added to u, ghosts and all: nothing is exchanged.
    fn interpolate(&mut self, level: usize) {
        self.comm.phase("interpolation");
        let (coarser, finer) = self.levels.split_at_mut(level);
        let (coarse, fine) = (&coarser[level - 1], &mut finer[0]);
        stencil::interpolate(&coarse.u, fine.between, &mut fine.u, &mut self.lines);
    }

    /// The root of the mean square of the residual. How great it is at most is part of the benchmark, too, but nothing
    /// is verified against it.
    fn norm(&self) -> f64 {
        self.comm.phase("norm");
        let (mut most, mut square) = ([0.0], [0.0]);
        for row in self.levels[self.finest()].r.own_rows() {
            most[0] = f64::max(most[0], greatest(row));
            square[0] += dot(row, row);
        }
        self.comm
            .all_reduce_in_place(&mut most, SystemOperation::max());
        self.comm
            .all_reduce_in_place(&mut square, SystemOperation::sum());
        (square[0] / (self.edge as f64).powi(3)).sqrt()
    }
}

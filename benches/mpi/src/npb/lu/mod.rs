//! LU (RNR-94-007, sections 3 and 4): the steady flow in a cube, by symmetric successive over-relaxation.
//!
//! A rank has a pencil in z ([`pencil`]). The sweeps of an iteration go through its planes one by one ([`sweep`]), each
//! as soon as the ranks before it are done with theirs: many short messages, on the critical path.
//!
//! What the Jacobian matrices of neighbours in y and z do to a vector is computed without them; those in x make
//! a recurrence, and are built ([`jacobian`]).

mod balance;
mod exchange;
mod field;
mod jacobian;
mod measure;
mod pencil;
mod problem;
mod sweep;

use self::balance::Balance;
use self::exchange::Layers;
use self::field::Field;
use self::pencil::{GHOST, Pencil};
use self::problem::{Found, Problem};
use self::sweep::Sweeps;
use super::flow::{self, State};
use super::{Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: Name::Lu,
    title: "flow solver by SSOR; a wave of short messages through all ranks",
    ranks: Ranks {
        rule: "ranks in a grid of a by b, b at most 2a, with 3 points or more for each in x and y",
        allows: |ranks, class| pencil::divides(ranks, Problem::of(class).n),
    },
    run,
};

/// A flow on its way to steadiness.
struct Solver<'a> {
    comm: &'a Comm,
    pencil: Pencil,
    balance: Balance,
    layers: Layers,
    sweeps: Sweeps,
    solution: Field,
    /// The source that balances the exact solution.
    source: Field,
    /// The residual. The sweeps make it into the change of the solution.
    residual: Field,
}

fn run(comm: &Comm, class: Class) -> Outcome {
    let problem = Problem::of(class);
    let mut solver = Solver::new(comm, problem.n, problem.dt);
    // Touches code and memory once, as the original does.
    comm.warm_up(|| {
        solver.begin();
        solver.iterate();
        solver.begin();
    });
    let mut residual = [0.0; 5];
    let time_s = comm.timed(|| {
        for _ in comm.iterations(1..problem.iterations) {
            solver.iterate();
        }
        solver.sweep();
        // The norms of the last change are part of the benchmark, but nothing is verified against them.
        solver.norms();
        solver.balance();
        residual = solver.norms();
    });
    let found = Found {
        residual,
        error: solver.error_norms(),
        surface_integral: solver.surface_integral(),
    };
    Outcome {
        time_s,
        mop: problem.mop(),
        checks: problem.checks(&found),
    }
}

impl<'a> Solver<'a> {
    fn new(comm: &'a Comm, n: usize, dt: f64) -> Solver<'a> {
        let pencil = Pencil::of(comm.rank(), comm.size(), n);
        let balance = Balance::new(&pencil);
        let mut layers = Layers::new(&pencil);
        let [mut exact, mut source] = [Field::new(&pencil), Field::new(&pencil)];
        fill(&pencil, &mut exact, flow::exact);
        layers.exchange(comm, &mut exact);
        // Without a source, the residual of the exact solution is the source that it needs.
        let none = Field::new(&pencil);
        balance.residual(&exact, &none, &mut source);
        Solver {
            comm,
            balance,
            layers,
            sweeps: Sweeps::new(&pencil, dt),
            solution: exact,
            source,
            residual: none,
            pencil,
        }
    }

    /// Puts the solution to where it begins.
    fn begin(&mut self) {
        fill(&self.pencil, &mut self.solution, flow::initial);
        self.balance();
    }

    fn iterate(&mut self) {
        self.sweep();
        self.balance();
    }

    /// Makes the residual a change, and changes the solution by it.
    fn sweep(&mut self) {
        self.comm.phase("lower sweep");
        self.sweeps
            .up(self.comm, &self.solution, &mut self.residual);
        self.comm.phase("upper sweep");
        self.sweeps
            .down(self.comm, &mut self.solution, &mut self.residual);
    }

    /// Computes the residual of the solution.
    fn balance(&mut self) {
        self.comm.phase("exchange");
        self.layers.exchange(self.comm, &mut self.solution);
        self.comm.phase("right-hand side");
        self.balance
            .residual(&self.solution, &self.source, &mut self.residual);
    }

    /// The norms of the residual, or of the change that [`Solver::sweep`] has made of it.
    fn norms(&self) -> State {
        self.comm.phase("norms");
        measure::norms(self.comm, &self.pencil, |at| self.residual.state(at))
    }

    fn error_norms(&self) -> State {
        measure::norms(self.comm, &self.pencil, |at| {
            measure::error(&self.pencil, &self.solution, at)
        })
    }

    fn surface_integral(&self) -> f64 {
        measure::surface_integral(self.comm, &self.pencil, &self.solution)
    }
}

/// Gives every own point the state that a function has for it.
fn fill(pencil: &Pencil, field: &mut Field, of: impl Fn([f64; 3]) -> State) {
    for k in 0..pencil.n {
        for j in GHOST..GHOST + pencil.y.len() {
            for i in GHOST..GHOST + pencil.x.len() {
                field.set([i, j, k], of(pencil.point([i, j, k])));
            }
        }
    }
}

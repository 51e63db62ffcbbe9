//! LU (RNR-94-007, sections 3 and 4): the steady flow in a cube, by symmetric successive over-relaxation.
//!
//! A rank has a pencil in z ([`pencil`]). The sweeps of an iteration go through its planes one by one ([`sweep`]), each
//! as soon as the ranks before it are done with theirs: many short messages, on the critical path.
//!
//! The block at a point is never built: what it does to a vector is computed ([`jacobian`]).

mod balance;
mod exchange;
mod field;
mod jacobian;
mod measure;
mod pencil;
mod sweep;

use self::balance::Balance;
use self::exchange::Layers;
use self::field::Field;
use self::pencil::{GHOST, Pencil};
use self::sweep::Sweeps;
use super::flow::{self, State};
use super::{Check, Class, Kernel, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: "lu",
    title: "a flow by SSOR; a wave of short messages through all ranks",
    ranks: Ranks {
        rule: "ranks that share x and y in the most square way and have 3 points or more in each",
        allows: |ranks, class| pencil::divides(ranks, problem(class).n),
    },
    run,
};

const TOLERANCE: f64 = 1e-8;

/// A problem, and what is published for it.
struct Problem {
    /// Points of the cube in each direction.
    n: usize,
    dt: f64,
    iterations: usize,
    residual: State,
    error: State,
    surface_integral: f64,
}

fn problem(class: Class) -> Problem {
    class.of([
        Problem {
            n: 12,
            dt: 0.5,
            iterations: 50,
            residual: [
                1.6196343210976702e-2,
                2.1976745164821318e-3,
                1.5179927653399185e-3,
                1.5029584435994323e-3,
                3.4264073155896461e-2,
            ],
            error: [
                6.4223319957960924e-4,
                8.4144342047347926e-5,
                5.8588269616485186e-5,
                5.8474222595157350e-5,
                1.3103347914111294e-3,
            ],
            surface_integral: 7.8418928865937083,
        },
        Problem {
            n: 33,
            dt: 1.5e-3,
            iterations: 300,
            residual: [
                0.1236511638192e2,
                0.1317228477799e1,
                0.2550120713095e1,
                0.2326187750252e1,
                0.2826799444189e2,
            ],
            error: [
                0.4867877144216,
                0.5064652880982e-1,
                0.9281818101960e-1,
                0.8570126542733e-1,
                0.1084277417792e1,
            ],
            surface_integral: 0.1161399311023e2,
        },
        Problem {
            n: 64,
            dt: 2.0,
            iterations: 250,
            residual: [
                7.7902107606689367e2,
                6.3402765259692870e1,
                1.9499249727292479e2,
                1.7845301160418537e2,
                1.8384760349464247e3,
            ],
            error: [
                2.9964085685471943e1,
                2.8194576365003349,
                7.3473412698774742,
                6.7139225687777051,
                7.0715315688392578e1,
            ],
            surface_integral: 2.6030925604886277e1,
        },
        Problem {
            n: 102,
            dt: 2.0,
            iterations: 250,
            residual: [
                3.5532672969982736e3,
                2.6214750795310692e2,
                8.8333721850952190e2,
                7.7812774739425265e2,
                7.3087969592545314e3,
            ],
            error: [
                1.1401176380212709e2,
                8.1098963655421574,
                2.8480597317698308e1,
                2.5905394567832939e1,
                2.6054907504857413e2,
            ],
            surface_integral: 4.7887162703308227e1,
        },
        Problem {
            n: 162,
            dt: 2.0,
            iterations: 250,
            residual: [
                1.03766980323537846e4,
                8.92212458801008552e2,
                2.56238814582660871e3,
                2.19194343857831427e3,
                1.78078057261061185e4,
            ],
            error: [
                2.15986399716949279e2,
                1.55789559239863600e1,
                5.41318863077207766e1,
                4.82262643154045421e1,
                4.55902910043250358e2,
            ],
            surface_integral: 6.66404553572181300e1,
        },
    ])
}

/// A flow on its way to steadiness.
struct Solver<'a> {
    comm: &'a Comm,
    pencil: Pencil,
    balance: Balance,
    layers: Layers,
    sweeps: Sweeps,
    solution: Field,
    /// What balances the exact solution.
    source: Field,
    /// The residual, out of which the sweeps make the change of the solution.
    residual: Field,
}

fn run(comm: &Comm, class: Class) -> Outcome {
    let problem = problem(class);
    let mut solver = Solver::new(comm, problem.n, problem.dt);
    // Touches code and memory once, as the original does.
    solver.begin();
    solver.iterate();
    solver.begin();
    let mut residual = [0.0; 5];
    let time_s = comm.timed(|| {
        for _ in 0..problem.iterations {
            solver.iterate();
        }
        residual = solver.residual();
    });
    let (error, integral) = (solver.error(), solver.surface_integral());
    Outcome {
        time_s,
        mop: mop(&problem),
        checks: checks(&problem, residual, error, integral),
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
        self.comm.phase("setup");
        fill(&self.pencil, &mut self.solution, flow::initial);
        self.balance();
    }

    fn iterate(&mut self) {
        self.comm.phase("lower sweep");
        self.sweeps
            .up(self.comm, &self.solution, &mut self.residual);
        self.comm.phase("upper sweep");
        self.sweeps
            .down(self.comm, &mut self.solution, &mut self.residual);
        self.balance();
    }

    fn balance(&mut self) {
        self.comm.phase("exchange");
        self.layers.exchange(self.comm, &mut self.solution);
        self.comm.phase("right-hand side");
        self.balance
            .residual(&self.solution, &self.source, &mut self.residual);
    }

    fn residual(&self) -> State {
        self.comm.phase("norms");
        measure::norms(self.comm, &self.pencil, |at| self.residual.state(at))
    }

    fn error(&self) -> State {
        self.comm.phase("norms");
        measure::norms(self.comm, &self.pencil, |at| {
            measure::error(&self.pencil, &self.solution, at)
        })
    }

    fn surface_integral(&self) -> f64 {
        self.comm.phase("norms");
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

/// Millions of operations, as NPB 3.4 counts them.
fn mop(problem: &Problem) -> f64 {
    let n = problem.n as f64;
    let per_iteration = 1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010.0;
    problem.iterations as f64 * per_iteration * 1e-6
}

fn checks(problem: &Problem, residual: State, error: State, integral: f64) -> Vec<Check> {
    let check = |what: String, value, expected| Check {
        what,
        value,
        expected,
        tolerance: TOLERANCE,
    };
    let mut checks = Vec::new();
    for (what, values, expected) in [
        ("residual", residual, problem.residual),
        ("error", error, problem.error),
    ] {
        for (m, (value, expected)) in values.into_iter().zip(expected).enumerate() {
            checks.push(check(format!("{what} norm {}", m + 1), value, expected));
        }
    }
    checks.push(check(
        "surface integral".to_owned(),
        integral,
        problem.surface_integral,
    ));
    checks
}

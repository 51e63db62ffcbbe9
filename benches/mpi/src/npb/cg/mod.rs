//! CG, conjugate gradient (RNR-94-007, section 2.2.3): the smallest eigenvalue of a sparse symmetric matrix by
//! inverse iteration. Ranks own parts of the matrix in two dimensions, and exchange long vectors and short sums.

mod layout;
mod matrix;

use std::hint::black_box;

use layout::Layout;
use matrix::{Matrix, Recipe};

use super::vector::dot;
use super::{Check, Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: Name::Cg,
    title: "eigenvalue of a sparse matrix by conjugate gradients; random memory reads, long messages",
    ranks: Ranks::POWERS_OF_TWO,
    run,
};

const TOLERANCE: f64 = 1e-10;
/// Steps of conjugate gradient for one solution.
const STEPS: usize = 25;

fn run(comm: &Comm, class: Class) -> Outcome {
    let (order, nonzeros, shift, iterations, expected) = class.of([
        (1_400, 7, 10.0, 15, 8.5971775078648),
        (7_000, 8, 12.0, 15, 10.362595087124),
        (14_000, 11, 20.0, 15, 17.130235054029),
        (75_000, 13, 60.0, 75, 22.712745482631),
        (150_000, 15, 110.0, 75, 28.973605592845),
    ]);
    let recipe = Recipe {
        order,
        nonzeros,
        shift,
    };
    let mut solver = Solver::new(comm, &recipe);
    comm.warm_up(|| solver.iterate());
    solver.x.fill(1.0);
    let mut zeta = 0.0;
    let time_s = comm.timed(|| {
        for _ in comm.iterations(0..iterations) {
            zeta = shift + 1.0 / solver.iterate();
        }
    });

    let products = (nonzeros * (nonzeros + 1)) as f64;
    let operations = 3.0 + products + STEPS as f64 * (5.0 + products) + 3.0;
    Outcome {
        time_s,
        mop: 2.0 * f64::from(iterations) * order as f64 * operations / 1e6,
        checks: vec![Check {
            what: "zeta".to_owned(),
            value: zeta,
            expected,
            tolerance: TOLERANCE,
        }],
    }
}

/// Inverse iteration with a matrix A. Of each vector, a rank has what belongs to the columns of its part of A.
struct Solver<'a> {
    comm: &'a Comm,
    layout: Layout<'a>,
    matrix: Matrix,
    /// The right side of A z = x: an eigenvector, more and more.
    x: Vec<f64>,
    /// The solution.
    z: Vec<f64>,
    /// x - A z.
    r: Vec<f64>,
    /// The direction of a step, as the matrix wants it: [`Matrix::operand`].
    p: Vec<f64>,
    /// A p.
    q: Vec<f64>,
    /// A p as this rank's part of A alone makes it, by rows.
    w: Vec<f64>,
}

impl<'a> Solver<'a> {
    fn new(comm: &'a Comm, recipe: &Recipe) -> Solver<'a> {
        let layout = Layout::new(comm, recipe.order);
        let matrix = Matrix::new(recipe, layout.rows(), layout.columns());
        let (rows, columns) = (layout.rows().len(), layout.columns().len());
        Solver {
            comm,
            layout,
            p: matrix.operand(),
            matrix,
            x: vec![1.0; columns],
            z: vec![0.0; columns],
            r: vec![0.0; columns],
            q: vec![0.0; columns],
            w: vec![0.0; rows],
        }
    }

    /// Solves A z = x, gives x . z, and makes x the direction of z.
    fn iterate(&mut self) -> f64 {
        // Part of the benchmark, but nothing is verified against it.
        black_box(self.solve());
        let [xz, zz] = self
            .layout
            .sum([dot(&self.x, &self.z), dot(&self.z, &self.z)]);
        let scale = 1.0 / zz.sqrt();
        for (x, z) in self.x.iter_mut().zip(&self.z) {
            *x = scale * z;
        }
        xz
    }

    /// Steps from z = 0 towards A z = x; gives the length of x - A z.
    fn solve(&mut self) -> f64 {
        self.comm.phase("vectors");
        let length = self.x.len();
        self.z.fill(0.0);
        self.r.copy_from_slice(&self.x);
        self.p[..length].copy_from_slice(&self.x);
        let mut square = self.sum(dot(&self.r, &self.r));
        for _ in 0..STEPS {
            self.multiply();
            let alpha = square / self.sum(dot(&self.p[..length], &self.q));
            for ((z, p), (r, q)) in
                (self.z.iter_mut().zip(&self.p)).zip(self.r.iter_mut().zip(&self.q))
            {
                *z += alpha * p;
                *r -= alpha * q;
            }
            let before = square;
            square = self.sum(dot(&self.r, &self.r));
            let beta = square / before;
            for (p, r) in self.p.iter_mut().zip(&self.r) {
                *p = r + beta * *p;
            }
        }
        // The residual as it is, not as the steps have carried it along.
        self.p[..length].copy_from_slice(&self.z);
        self.multiply();
        for (r, (x, q)) in self.r.iter_mut().zip(self.x.iter().zip(&self.q)) {
            *r = x - q;
        }
        self.sum(dot(&self.r, &self.r)).sqrt()
    }

    /// q = A p.
    fn multiply(&mut self) {
        self.comm.phase("products");
        self.matrix.multiply(&self.p, &mut self.w);
        self.comm.phase("row sums");
        self.layout.add_rows(&mut self.w);
        self.comm.phase("transpose");
        self.layout.transpose(&self.w, &mut self.q);
        self.comm.phase("vectors");
    }

    fn sum(&self, mine: f64) -> f64 {
        self.layout.sum([mine])[0]
    }
}

//! SP (RNR-94-007, section 3.4.3): an implicit time step in characteristic variables, whose factors, one a
//! direction, are five scalar pentadiagonal systems. Messages of 22 values a line go up the slabs of every
//! direction, of 10 values down.

// An index is a component of vectors and matrices here, of several at once.
#![allow(clippy::needless_range_loop)]

mod characteristic;
mod penta;

use super::adi::{self, Problem, Step};
use super::{Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;
use penta::Pentadiagonal;

pub const KERNEL: Kernel = Kernel {
    name: Name::Sp,
    title: "scalar pentadiagonal solver of a flow; faces, and long messages along every direction",
    ranks: Ranks {
        rule: adi::RANKS,
        allows: |ranks, class| adi::divides(ranks, points(class)),
    },
    run,
};

fn points(class: Class) -> usize {
    class.of([12, 36, 64, 102, 162])
}

fn run(comm: &Comm, class: Class) -> Outcome {
    let problem = problem(class);
    adi::run(comm, &problem, Pentadiagonal::new(Step::of(&problem)))
}

fn problem(class: Class) -> Problem {
    let points = points(class);
    let n = points as f64;
    Problem {
        points,
        time_step: class.of([0.015, 0.0015, 0.0015, 0.001, 0.00067]),
        iterations: class.of([100, 400, 400, 400, 400]),
        residual: class.of([
            [
                2.7470315451339479e-02,
                1.0360746705285417e-02,
                1.6235745065095532e-02,
                1.5840557224455615e-02,
                3.4849040609362460e-02,
            ],
            [
                0.1893253733584e-02,
                0.1717075447775e-03,
                0.2778153350936e-03,
                0.2887475409984e-03,
                0.3143611161242e-02,
            ],
            [
                2.4799822399300195e0,
                1.1276337964368832e0,
                1.5028977888770491e0,
                1.4217816211695179e0,
                2.1292113035138280e0,
            ],
            [
                0.6903293579998e+02,
                0.3095134488084e+02,
                0.4103336647017e+02,
                0.3864769009604e+02,
                0.5643482272596e+02,
            ],
            [
                0.5881691581829e+03,
                0.2454417603569e+03,
                0.3293829191851e+03,
                0.3081924971891e+03,
                0.4597223799176e+03,
            ],
        ]),
        error: class.of([
            [
                2.7289258557377227e-05,
                1.0364446640837285e-05,
                1.6154798287166471e-05,
                1.5750704994480102e-05,
                3.4177666183390531e-05,
            ],
            [
                0.7542088599534e-04,
                0.6512852253086e-05,
                0.1049092285688e-04,
                0.1128838671535e-04,
                0.1212845639773e-03,
            ],
            [
                1.0900140297820550e-04,
                3.7343951769282091e-05,
                5.0092785406541633e-05,
                4.7671093939528255e-05,
                1.3621613399213001e-04,
            ],
            [
                0.9810006190188e-02,
                0.1022827905670e-02,
                0.1720597911692e-02,
                0.1694479428231e-02,
                0.1847456263981e-01,
            ],
            [
                0.2598120500183e+00,
                0.2590888922315e-01,
                0.5132886416320e-01,
                0.4806073419454e-01,
                0.5483377491301e+00,
            ],
        ]),
        operations: 881.174 * n.powi(3) - 4683.91 * n.powi(2) + 11484.5 * n - 19272.4,
    }
}

//! BT (RNR-94-007, section 3.4.2): an implicit time step whose factors, one a direction, are block tridiagonal, with
//! blocks of 5 by 5. Messages of 30 values a line go up the slabs of every direction, of 5 values down.

// An index is a component of vectors and matrices here, of several at once.
#![allow(clippy::needless_range_loop)]

mod block;
mod jacobian;

use super::adi::{self, Problem, Step};
use super::{Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;
use block::Blocks;

pub const KERNEL: Kernel = Kernel {
    name: Name::Bt,
    title: "block tridiagonal solver of a flow; faces, and long messages along every direction",
    ranks: Ranks {
        rule: adi::RANKS,
        allows: |ranks, class| adi::divides(ranks, points(class)),
    },
    run,
};

fn points(class: Class) -> usize {
    class.of([12, 24, 64, 102, 162])
}

fn run(comm: &Comm, class: Class) -> Outcome {
    let problem = problem(class);
    adi::run(comm, &problem, Blocks::new(Step::of(&problem)))
}

fn problem(class: Class) -> Problem {
    let points = points(class);
    let n = points as f64;
    Problem {
        points,
        time_step: class.of([0.010, 0.0008, 0.0008, 0.0003, 0.0001]),
        iterations: class.of([60, 200, 200, 200, 200]),
        residual: class.of([
            [
                1.7034283709541311e-01,
                1.2975252070034097e-02,
                3.2527926989486055e-02,
                2.6436421275166801e-02,
                1.9211784131744430e-01,
            ],
            [
                0.1125590409344e+03,
                0.1180007595731e+02,
                0.2710329767846e+02,
                0.2469174937669e+02,
                0.2638427874317e+03,
            ],
            [
                1.0806346714637264e+02,
                1.1319730901220813e+01,
                2.5974354511582465e+01,
                2.3665622544678910e+01,
                2.5278963211748344e+02,
            ],
            [
                1.4233597229287254e+03,
                9.9330522590150238e+01,
                3.5646025644535285e+02,
                3.2485447959084092e+02,
                3.2707541254659363e+03,
            ],
            [
                0.62398116551764615e+04,
                0.50793239190423964e+03,
                0.15423530093013596e+04,
                0.13302387929291190e+04,
                0.11604087428436455e+05,
            ],
        ]),
        error: class.of([
            [
                4.9976913345811579e-04,
                4.5195666782961927e-05,
                7.3973765172921357e-05,
                7.3821238632439731e-05,
                8.9269630987491446e-04,
            ],
            [
                0.4419655736008e+01,
                0.4638531260002e+00,
                0.1011551749967e+01,
                0.9235878729944e+00,
                0.1018045837718e+02,
            ],
            [
                4.2348416040525025e+00,
                4.4390282496995698e-01,
                9.6692480136345650e-01,
                8.8302063039765474e-01,
                9.7379901770829278e+00,
            ],
            [
                5.2969847140936856e+01,
                4.4632896115670668e+00,
                1.3122573342210174e+01,
                1.2006925323559144e+01,
                1.2459576151035986e+02,
            ],
            [
                0.16462008369091265e+03,
                0.11497107903824313e+02,
                0.41207446207461508e+02,
                0.37087651059694167e+02,
                0.36211053051841265e+03,
            ],
        ]),
        operations: 3478.8 * n.powi(3) - 17655.7 * n.powi(2) + 28023.7 * n,
    }
}

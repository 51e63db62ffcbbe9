//! A problem and its time step.

use crate::npb::flow::{FOURTH_ORDER, State};

/// The problem that is computed, and what is published about it.
pub struct Problem {
    /// Points of the cube in a direction.
    pub points: usize,
    /// A time step.
    pub time_step: f64,
    /// The number of time steps.
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
    /// The factor of a difference of points two apart: the time step over twice their distance.
    pub convection: f64,
    /// The factor of a second difference: the time step over the square of the distance.
    pub diffusion: f64,
    /// The factor of a fourth difference: the time step times its coefficient.
    pub dissipation: f64,
}

impl Step {
    /// The step of a problem.
    pub fn of(problem: &Problem) -> Step {
        let intervals = (problem.points - 1) as f64;
        Step {
            convection: problem.time_step * 0.5 * intervals,
            diffusion: problem.time_step * intervals * intervals,
            dissipation: problem.time_step * FOURTH_ORDER,
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

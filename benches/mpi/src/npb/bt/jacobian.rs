//! The change of the fluxes of a direction with the state (RNR-94-007, section 3.4.1): the matrices of the implicit operator.

use crate::npb::flow::{CONDUCTION, Flow, GAMMA, GAMMA_1, STOKES, VISCOSITY, dot};

/// A matrix: a row for each component of the flux, and a column for each component of the state.
pub type Matrix = [[f64; 5]; 5];

/// The Jacobian of the convective flux F, in direction `D`.
#[inline(always)]
pub fn convection<const D: usize>(flow: &Flow) -> Matrix {
    let velocity = flow.velocity;
    let (speed, enthalpy) = (velocity[D], flow.enthalpy());
    let mut matrix = [[0.0; 5]; 5];
    matrix[0][1 + D] = 1.0;
    for m in 0..3 {
        matrix[1 + m][0] = -velocity[m] * speed;
        matrix[1 + m][1 + m] = speed;
        matrix[4][1 + m] = -GAMMA_1 * velocity[m] * speed;
    }
    for m in 0..3 {
        matrix[1 + m][1 + D] += velocity[m];
    }
    // Pressure, in the component of the direction.
    matrix[1 + D][0] += GAMMA_1 * flow.kinetic;
    for m in 0..3 {
        matrix[1 + D][1 + m] -= GAMMA_1 * velocity[m];
    }
    matrix[1 + D][4] = GAMMA_1;
    matrix[4][0] = speed * (GAMMA_1 * flow.kinetic - enthalpy);
    matrix[4][1 + D] += enthalpy;
    matrix[4][4] = GAMMA * speed;
    matrix
}

/// The Jacobian of the potential G of diffusion, in direction `D`.
#[inline(always)]
pub fn diffusion<const D: usize>(flow: &Flow) -> Matrix {
    let velocity = flow.velocity;
    let mut viscosity = [VISCOSITY; 3];
    viscosity[D] *= 1.0 + STOKES;
    let work: [f64; 3] = std::array::from_fn(|m| (viscosity[m] - CONDUCTION) * velocity[m]);
    let mut matrix = [[0.0; 5]; 5];
    for m in 0..3 {
        matrix[1 + m][0] = -viscosity[m] * velocity[m] * flow.volume;
        matrix[1 + m][1 + m] = viscosity[m] * flow.volume;
        matrix[4][1 + m] = work[m] * flow.volume;
    }
    matrix[4][0] = -flow.volume * (dot(work, velocity) + CONDUCTION * flow.energy);
    matrix[4][4] = CONDUCTION * flow.volume;
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npb::flow::State;

    /// Beside the differences of a function of the state.
    fn check(matrix: Matrix, function: impl Fn(State) -> State, state: State) {
        const STEP: f64 = 1e-6;
        for column in 0..5 {
            let at = |step: f64| {
                let mut state = state;
                state[column] += step;
                function(state)
            };
            let (before, after) = (at(-STEP), at(STEP));
            for row in 0..5 {
                let slope = (after[row] - before[row]) / (2.0 * STEP);
                let error = (matrix[row][column] - slope).abs();
                assert!(error < 1e-8, "row {row}, column {column}: {error:e}");
            }
        }
    }

    #[test]
    fn matrices_are_the_slopes_of_fluxes() {
        fn both<const D: usize>(state: State) {
            let flow = Flow::of(state);
            check(
                convection::<D>(&flow),
                |state| Flow::of(state).convection::<D>(state),
                state,
            );
            check(
                diffusion::<D>(&flow),
                |state| Flow::of(state).diffusion::<D>(),
                state,
            );
        }
        let state = [1.3, 0.7, -0.4, 0.9, 3.1];
        both::<0>(state);
        both::<1>(state);
        both::<2>(state);
    }
}

//! A block tridiagonal line: each point has five equations, coupled with those of the points beside it.

use super::jacobian;
use crate::npb::adi::{Equation, Scheme, Step, fused};
use crate::npb::flow::{Flow, SECOND_ORDER, State};

/// A matrix of convection and one of diffusion, by rows.
const LOCAL: usize = 50;
/// The matrix that couples a point with the one behind it, and its right-hand side, by rows.
const ROW: usize = 30;
const REACH: usize = 1;

/// The factors of BT. With F and N the matrices of convection and diffusion over a time step, the equation of a
/// point is
///
/// ```text
/// (- F - N)(i-1) x(i-1)  +  (1 + 2 N(i)) x(i)  +  (F - N)(i+1) x(i+1)  =  r(i)
/// ```
pub struct Blocks {
    step: Step,
}

impl Blocks {
    /// The blocks for time steps of this kind.
    pub fn new(step: Step) -> Blocks {
        Blocks { step }
    }
}

impl Scheme<LOCAL, ROW, REACH> for Blocks {
    #[inline(always)]
    fn local<const D: usize>(&self, state: State) -> [f64; LOCAL] {
        let flow = Flow::of(state);
        let convection = jacobian::convection::<D>(&flow);
        let mut diffusion = jacobian::diffusion::<D>(&flow);
        for m in 0..5 {
            diffusion[m][m] += SECOND_ORDER[D];
        }
        let mut local = [0.0; LOCAL];
        for m in 0..5 {
            for k in 0..5 {
                local[5 * m + k] = self.step.convection * convection[m][k];
                local[25 + 5 * m + k] = self.step.diffusion * diffusion[m][k];
            }
        }
        local
    }

    #[inline(always)]
    fn eliminate(&self, equation: &Equation<LOCAL>, [earlier]: &[[f64; ROW]; REACH]) -> [f64; ROW] {
        let mut rows = [
            reduced::<0>(equation, earlier),
            reduced::<1>(equation, earlier),
            reduced::<2>(equation, earlier),
            reduced::<3>(equation, earlier),
            reduced::<4>(equation, earlier),
        ];
        pivot::<0>(&mut rows);
        pivot::<1>(&mut rows);
        pivot::<2>(&mut rows);
        pivot::<3>(&mut rows);
        pivot::<4>(&mut rows);
        let mut row = [0.0; ROW];
        for m in 0..5 {
            for column in 0..6 {
                row[6 * m + column] = rows[m][5 + column];
            }
        }
        row
    }

    #[inline(always)]
    fn substitute(&self, row: &[f64; ROW], [later]: &[State; REACH]) -> State {
        let mut solution = [0.0; 5];
        for m in 0..5 {
            solution[m] = row[6 * m + 5];
            for k in 0..5 {
                solution[m] = fused(-row[6 * m + k], later[k], solution[m]);
            }
        }
        solution
    }
}

/// One of five equations: five coefficients at the point, five at the point behind, and the right-hand side.
type Row = [f64; 11];

/// Equation `M` of a point, without what the point before has in it.
#[inline(always)]
fn reduced<const M: usize>(equation: &Equation<LOCAL>, earlier: &[f64; ROW]) -> Row {
    let Equation {
        before,
        here,
        behind,
        change,
        ..
    } = equation;
    let (convection, diffusion) = (5 * M, 25 + 5 * M);
    let mut row = [0.0; 11];
    for k in 0..5 {
        row[k] = 2.0 * here[diffusion + k];
        row[5 + k] = behind[convection + k] - behind[diffusion + k];
    }
    row[M] += 1.0;
    row[10] = change[M];
    for k in 0..5 {
        let factor = before[convection + k] + before[diffusion + k];
        for column in 0..5 {
            row[column] = fused(factor, earlier[6 * k + column], row[column]);
        }
        row[10] = fused(factor, earlier[6 * k + 5], row[10]);
    }
    row
}

/// Frees all rows but `P` of unknown `P`, whose coefficient in that row becomes one (Gauss and Jordan).
#[inline(always)]
fn pivot<const P: usize>(rows: &mut [Row; 5]) {
    let inverse = 1.0 / rows[P][P];
    for column in P + 1..11 {
        rows[P][column] *= inverse;
    }
    for row in 0..5 {
        if row != P {
            let factor = -rows[row][P];
            for column in P + 1..11 {
                rows[row][column] = fused(factor, rows[P][column], rows[row][column]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npb::adi::trial::{changes, solve, states};

    const STEP: Step = Step {
        convection: 0.3,
        diffusion: 0.2,
        dissipation: 0.1,
    };

    fn times(matrix: [[f64; 5]; 5], vector: State) -> State {
        matrix.map(|row| row.iter().zip(vector).map(|(a, x)| a * x).sum())
    }

    /// The solution, put into the equation, gives the right-hand side.
    fn check<const D: usize>() {
        const POINTS: usize = 9;
        let states = states(POINTS);
        let [solution, changes] =
            solve::<D, LOCAL, ROW, REACH>(&Blocks::new(STEP), &states, &changes(POINTS));
        let convected = |i: usize| {
            let matrix = jacobian::convection::<D>(&Flow::of(states[i]));
            times(matrix, solution[i]).map(|value| STEP.convection * value)
        };
        let diffused = |i: usize| {
            let matrix = jacobian::diffusion::<D>(&Flow::of(states[i]));
            let (x, product) = (solution[i], times(matrix, solution[i]));
            std::array::from_fn(|m| STEP.diffusion * (product[m] + SECOND_ORDER[D] * x[m]))
        };
        for i in 1..POINTS - 1 {
            let [below, above] = [convected(i - 1), convected(i + 1)];
            let [before, here, behind]: [State; 3] =
                [diffused(i - 1), diffused(i), diffused(i + 1)];
            for m in 0..5 {
                let sum =
                    solution[i][m] - below[m] + above[m] - before[m] + 2.0 * here[m] - behind[m];
                let error = (sum - changes[i][m]).abs();
                assert!(error < 1e-12, "{error:e} in {m} at {i}");
            }
        }
    }

    #[test]
    fn a_line_is_solved() {
        check::<0>();
        check::<1>();
        check::<2>();
    }
}

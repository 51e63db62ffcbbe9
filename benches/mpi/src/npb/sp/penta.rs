//! A pentadiagonal line: each point has five equations of one unknown each, coupled with two points on either side.

use super::characteristic;
use crate::npb::adi::{Equation, Scheme, Step, fused};
use crate::npb::flow::{CONDUCTION, Flow, SECOND_ORDER, State};

/// Convection with the flow, convection with sound, diffusion.
const LOCAL: usize = 3;
/// Couplings with the two points behind, and right-hand sides: of the three waves that go with the flow, which
/// have couplings in common, of the one with sound, and of the one against it.
const ROW: usize = 11;
const REACH: usize = 2;

/// The factors of SP. With F the convection of a wave and N the greatest of the diffusions over a time step, and w
/// the weights of fourth-order dissipation, the equation of a point is
///
/// ```text
/// w(-2) x(i-2)  +  ((- F - N)(i-1) + w(-1)) x(i-1)  +  (1 + 2 N(i) + w(0)) x(i)
///               +  ((F - N)(i+1) + w(1)) x(i+1)  +  w(2) x(i+2)  =  r(i)
/// ```
pub struct Pentadiagonal {
    step: Step,
}

impl Pentadiagonal {
    /// The operator for time steps of this kind.
    pub fn new(step: Step) -> Pentadiagonal {
        Pentadiagonal { step }
    }
}

impl Scheme<LOCAL, ROW, REACH> for Pentadiagonal {
    #[inline(always)]
    fn local<const D: usize>(&self, state: State) -> [f64; LOCAL] {
        let flow = Flow::of(state);
        [
            self.step.convection * flow.velocity[D],
            self.step.convection * characteristic::sound(&flow),
            // Heat is what diffuses fastest.
            self.step.diffusion * fused(CONDUCTION, flow.volume, SECOND_ORDER[D]),
        ]
    }

    #[inline(always)]
    fn enter<const D: usize>(&self, state: State, change: State) -> State {
        match D {
            0 => characteristic::to_x(state, change),
            1 => characteristic::x_to_y(change),
            _ => characteristic::y_to_z(change),
        }
    }

    #[inline(always)]
    fn eliminate(
        &self,
        equation: &Equation<LOCAL>,
        [second, first]: &[[f64; ROW]; REACH],
    ) -> [f64; ROW] {
        let Equation {
            before: [convected, sounded, diffused],
            here: [.., diffusion],
            behind: [convection, sound, spread],
            fourth,
            change: [a, b, c, with, against],
        } = *equation;
        let weights = fourth.map(|weight| self.step.dissipation * weight);
        let coefficients = |sign: f64| {
            [
                weights[0],
                weights[1] - fused(sign, sounded, convected) - diffused,
                weights[2] + 1.0 + 2.0 * diffusion,
                weights[3] + fused(sign, sound, convection) - spread,
                weights[4],
            ]
        };
        let mut row = [0.0; ROW];
        wave::<3, 0>(coefficients(0.0), [a, b, c], second, first, &mut row);
        wave::<1, 5>(coefficients(1.0), [with], second, first, &mut row);
        wave::<1, 8>(coefficients(-1.0), [against], second, first, &mut row);
        row
    }

    #[inline(always)]
    fn substitute(&self, row: &[f64; ROW], [first, second]: &[State; REACH]) -> State {
        let mut solution = [0.0; 5];
        for (m, at) in [0, 0, 0, 5, 8].into_iter().enumerate() {
            let value = [2, 3, 4, 7, 10][m];
            solution[m] = fused(-row[at], first[m], row[value]);
            solution[m] = fused(-row[at + 1], second[m], solution[m]);
        }
        solution
    }

    #[inline(always)]
    fn finish(&self, state: State, left: State) -> State {
        characteristic::from_z(state, left)
    }
}

/// Eliminates `N` waves of the same coefficients, from two points before to two behind, which have their place in a
/// row from `AT` on.
#[inline(always)]
fn wave<const N: usize, const AT: usize>(
    [a, b, c, d, e]: [f64; 5],
    change: [f64; N],
    second: &[f64; ROW],
    first: &[f64; ROW],
    row: &mut [f64; ROW],
) {
    let b = fused(-a, second[AT], b);
    let c = fused(-b, first[AT], fused(-a, second[AT + 1], c));
    let d = fused(-b, first[AT + 1], d);
    let inverse = 1.0 / c;
    row[AT] = d * inverse;
    row[AT + 1] = e * inverse;
    for i in 0..N {
        let at = AT + 2 + i;
        let value = fused(-b, first[at], fused(-a, second[at], change[i]));
        row[at] = value * inverse;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npb::adi::trial::{changes, solve, states};
    use crate::npb::flow::fourth_difference;

    const STEP: Step = Step {
        convection: 0.3,
        diffusion: 0.2,
        dissipation: 0.1,
    };

    /// The solution, put into the equation, gives the right-hand side.
    fn check<const D: usize>() {
        const POINTS: usize = 9;
        let states = states(POINTS);
        let scheme = Pentadiagonal::new(STEP);
        let [solution, changes] = solve::<D, LOCAL, ROW, REACH>(&scheme, &states, &changes(POINTS));
        for (m, sign) in [0.0, 0.0, 0.0, 1.0, -1.0].into_iter().enumerate() {
            let terms = |i: usize| {
                let [flow, sound, diffusion] = scheme.local::<D>(states[i]);
                let x = solution[i][m];
                ((flow + sign * sound) * x, diffusion * x)
            };
            for i in 1..POINTS - 1 {
                let (below, before) = terms(i - 1);
                let (above, behind) = terms(i + 1);
                let (x, here) = (solution[i][m], terms(i).1);
                let mut sum = x - below + above - before + 2.0 * here - behind;
                for (s, weight) in fourth_difference(i, POINTS).into_iter().enumerate() {
                    if let Some(x) = (i + s).checked_sub(2).and_then(|i| solution.get(i)) {
                        sum += STEP.dissipation * weight * x[m];
                    }
                }
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

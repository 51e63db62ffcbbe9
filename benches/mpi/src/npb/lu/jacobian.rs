//! How the fluxes answer to a change of the state: products of their Jacobian matrices with a vector, which need
//! fewer operations than the matrices have elements.
//!
//! With v the change, and w and e the velocity and the energy per mass, density times the change of (w, e) is
//! v less v0 (w, e): the `relative` change.

use crate::npb::flow::{CONDUCTION, Flow, GAMMA_1, STOKES, State, VISCOSITY, dot};

/// F'(U) v: the change of [`Flow::convection`] in direction `D`.
#[inline(always)]
pub fn convection<const D: usize>(flow: &Flow, change: State) -> State {
    let speed = flow.velocity[D];
    let (momentum, _) = relative(flow, change);
    let work = dot(flow.velocity, momentum);
    let pressure = GAMMA_1 * (change[4] - work - flow.kinetic * change[0]);
    let [x, y, z] = flow.velocity;
    let carried = [0.0, x, y, z, flow.enthalpy()];
    let mut flux: State = std::array::from_fn(|m| change[m] * speed + carried[m] * momentum[D]);
    flux[0] = change[1 + D];
    flux[1 + D] += pressure;
    flux[4] += pressure * speed;
    flux
}

/// G'(U) v: the change of [`Flow::diffusion`] in direction `D`.
#[inline(always)]
pub fn diffusion<const D: usize>(flow: &Flow, change: State) -> State {
    let (momentum, energy) = relative(flow, change);
    let work = dot(flow.velocity, momentum);
    let viscous = VISCOSITY * flow.volume;
    let [x, y, z] = momentum.map(|momentum| viscous * momentum);
    let mut potential = [
        0.0,
        x,
        y,
        z,
        viscous * (work + STOKES * flow.velocity[D] * momentum[D])
            + CONDUCTION * flow.volume * (energy - work),
    ];
    potential[1 + D] *= 1.0 + STOKES;
    potential
}

/// That of momentum and that of energy.
#[inline(always)]
pub fn relative(flow: &Flow, change: State) -> ([f64; 3], f64) {
    (
        std::array::from_fn(|d| change[1 + d] - flow.velocity[d] * change[0]),
        change[4] - flow.energy * change[0],
    )
}

/// I + s (G'(U) + d I), G summed over the directions and d likewise: the diagonal block of the sweeps.
///
/// It is lower triangular, so that the system is solved by going down its rows.
#[derive(Debug, Clone, Copy)]
pub struct Diagonal {
    density: f64,
    momentum: f64,
    energy: f64,
}

/// What a [`Diagonal`] is divided by at a point.
#[derive(Debug, Clone, Copy)]
pub struct Pivots {
    /// One over the element of the momentum's rows, and over that of energy's.
    pub momentum: f64,
    pub energy: f64,
}

impl Diagonal {
    /// With s, and the sum of d.
    pub fn new(scale: f64, dissipation: f64) -> Diagonal {
        Diagonal {
            density: 1.0 + scale * dissipation,
            momentum: scale * VISCOSITY * (3.0 + STOKES),
            energy: scale * CONDUCTION * 3.0,
        }
    }

    /// Those of a point.
    #[inline(always)]
    pub fn pivots(&self, flow: &Flow) -> Pivots {
        Pivots {
            momentum: 1.0 / (self.density + self.momentum * flow.volume),
            energy: 1.0 / (self.density + self.energy * flow.volume),
        }
    }

    /// The x that makes this block times x `right`.
    #[inline(always)]
    pub fn solve(&self, flow: &Flow, pivots: Pivots, right: State) -> State {
        let density = right[0] * (1.0 / self.density);
        let viscous = self.momentum * flow.volume;
        let conducted = self.energy * flow.volume;
        let [x, y, z] = std::array::from_fn(|d| {
            (right[1 + d] + viscous * flow.velocity[d] * density) * pivots.momentum
        });
        let (momentum, _) = relative(flow, [density, x, y, z, 0.0]);
        let work = dot(flow.velocity, momentum);
        let energy = right[4] - (viscous - conducted) * work + conducted * flow.energy * density;
        [density, x, y, z, energy * pivots.energy]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: State = [1.7, 0.9, -0.4, 1.2, 6.1];
    const CHANGE: State = [0.3, -0.8, 0.5, 0.2, -1.1];

    /// The central difference of a function of the state, along [`CHANGE`].
    fn difference(of: impl Fn(State) -> State) -> State {
        let step = 1e-6;
        let at = |sign: f64| of(std::array::from_fn(|m| STATE[m] + sign * step * CHANGE[m]));
        let (ahead, back) = (at(1.0), at(-1.0));
        std::array::from_fn(|m| (ahead[m] - back[m]) / (2.0 * step))
    }

    fn assert_near(values: State, expected: State) {
        for (value, expected) in values.iter().zip(expected) {
            assert!(
                (value - expected).abs() < 1e-8,
                "{values:?} for {expected:?}"
            );
        }
    }

    fn products_are_derivatives<const D: usize>() {
        let flow = Flow::of(STATE);
        assert_near(
            convection::<D>(&flow, CHANGE),
            difference(|state| Flow::of(state).convection::<D>(state)),
        );
        assert_near(
            diffusion::<D>(&flow, CHANGE),
            difference(|state| Flow::of(state).diffusion::<D>()),
        );
    }

    #[test]
    fn products_are_derivatives_in_every_direction() {
        products_are_derivatives::<0>();
        products_are_derivatives::<1>();
        products_are_derivatives::<2>();
    }

    #[test]
    fn the_diagonal_block_is_solved() {
        let (scale, dissipation) = (0.37, 2.5);
        let flow = Flow::of(STATE);
        let [x, y, z] = [
            diffusion::<0>(&flow, CHANGE),
            diffusion::<1>(&flow, CHANGE),
            diffusion::<2>(&flow, CHANGE),
        ];
        let right = std::array::from_fn(|m| {
            CHANGE[m] + scale * (x[m] + y[m] + z[m] + dissipation * CHANGE[m])
        });
        let block = Diagonal::new(scale, dissipation);
        assert_near(block.solve(&flow, block.pivots(&flow), right), CHANGE);
    }
}

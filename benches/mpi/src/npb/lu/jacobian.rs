//! The answer of the fluxes to a change of the state: products of their Jacobian matrices with a vector, which
//! need about as many operations as one matrix has elements; and the two matrices that a sweep solves with.
//!
//! With v the change, and w and e the velocity and the energy per mass, density times the change of (w, e) is
//! v less v0 (w, e): the `relative` change.

use crate::npb::flow::{CONDUCTION, Flow, GAMMA, GAMMA_1, STOKES, State, VISCOSITY, dot};

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

/// The relative change of velocity and that of energy.
#[inline(always)]
fn relative(flow: &Flow, change: State) -> ([f64; 3], f64) {
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

impl Diagonal {
    /// The block for the factor s and the sum of d.
    pub fn new(scale: f64, dissipation: f64) -> Diagonal {
        Diagonal {
            density: 1.0 + scale * dissipation,
            momentum: scale * VISCOSITY * (3.0 + STOKES),
            energy: scale * CONDUCTION * 3.0,
        }
    }

    /// Its inverse at a point.
    #[inline(always)]
    pub fn inverse(&self, flow: &Flow) -> Inverse {
        let viscous = self.momentum * flow.volume;
        let conducted = self.energy * flow.volume;
        let [x, y, z] = flow.velocity;
        let rest = viscous - conducted;
        Inverse {
            pivots: [
                1.0 / self.density,
                1.0 / (self.density + viscous),
                1.0 / (self.density + conducted),
            ],
            drag: [viscous * x, viscous * y, viscous * z],
            work: [
                2.0 * rest * flow.kinetic + conducted * flow.energy,
                -rest * x,
                -rest * y,
                -rest * z,
            ],
        }
    }
}

/// The inverse of a [`Diagonal`] at a point, by what it takes to go down the rows.
#[derive(Debug, Clone, Copy)]
pub struct Inverse {
    /// One over the elements on the diagonal, of density, momentum and energy.
    pivots: [f64; 3],
    /// The weight of density in momentum.
    drag: [f64; 3],
    /// The weights of density and momentum in energy.
    work: [f64; 4],
}

impl Inverse {
    /// Its product with a vector.
    #[inline(always)]
    pub fn times(&self, right: State) -> State {
        let [of_density, of_momentum, of_energy] = self.pivots;
        let density = of_density * right[0];
        let x = of_momentum * (right[1] + self.drag[0] * density);
        let y = of_momentum * (right[2] + self.drag[1] * density);
        let z = of_momentum * (right[3] + self.drag[2] * density);
        let work = self.work[0] * density + self.work[1] * x + self.work[2] * y + self.work[3] * z;
        [density, x, y, z, of_energy * (right[4] + work)]
    }

    /// Its product with the block of a neighbour in x, which is c F'(U) - s (G'(U) + d I).
    #[inline(always)]
    pub fn transfer(&self, neighbour: &Flow, c: f64, s: f64, d: f64) -> Transfer {
        let [of_density, of_momentum, of_energy] = self.pivots;
        let [x, y, z] = neighbour.velocity;
        let (viscous, conducted) = (
            s * VISCOSITY * neighbour.volume,
            s * CONDUCTION * neighbour.volume,
        );
        let (along, rest, d) = ((1.0 + STOKES) * viscous, viscous - conducted, s * d);
        let pressed = GAMMA_1 * neighbour.kinetic;
        let (enthalpy, twice) = (neighbour.enthalpy(), 2.0 * neighbour.kinetic);
        let across = c * x - viscous;

        let density = [-of_density * d, of_density * c];
        let row = |drag: f64, first: f64, second: f64| {
            [
                of_momentum * (first + drag * density[0]),
                of_momentum * (second + drag * density[1]),
            ]
        };
        let [x0, x1] = row(
            self.drag[0],
            c * (pressed - x * x) + along * x,
            c * (2.0 - GAMMA_1) * x - along - d,
        );
        let momentum_x = [
            x0,
            x1,
            -of_momentum * c * GAMMA_1 * y,
            -of_momentum * c * GAMMA_1 * z,
            of_momentum * c * GAMMA_1,
        ];
        let [y0, y1] = row(self.drag[1], -across * y, c * y);
        let [z0, z1] = row(self.drag[2], -across * z, c * z);
        let own = of_momentum * (across - d);

        let [w0, wx, wy, wz] = self.work;
        let gained = c * GAMMA_1 * x + rest;
        let energy = [
            c * x * (pressed - enthalpy)
                + viscous * (twice + STOKES * x * x)
                + conducted * (neighbour.energy - twice)
                + (w0 * density[0] + wx * x0 + wy * y0 + wz * z0),
            c * (enthalpy - GAMMA_1 * x * x) - x * (along - conducted)
                + (w0 * density[1] + wx * x1 + wy * y1 + wz * z1),
            -gained * y + wx * momentum_x[2] + wy * own,
            -gained * z + wx * momentum_x[3] + wz * own,
            c * GAMMA * x - conducted - d + wx * momentum_x[4],
        ];
        Transfer {
            density,
            momentum_x,
            momentum_y: [y0, y1, own],
            momentum_z: [z0, z1, own],
            energy: std::array::from_fn(|column| of_energy * energy[column]),
        }
    }
}

/// The matrix that takes the change of a neighbour in x to what it makes of a point, by rows; what they lack is zero.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// The inverse's elements for density and momentum in x.
    pub density: [f64; 2],
    pub momentum_x: State,
    /// The inverse's elements for density, momentum in x, and the row's own.
    pub momentum_y: [f64; 3],
    pub momentum_z: [f64; 3],
    pub energy: State,
}

impl Transfer {
    /// Its product with a vector.
    ///
    /// Sums are formed in pairs, since a sweep waits for each before it goes on to the next point.
    #[inline(always)]
    pub fn times(&self, change: State) -> State {
        let [density, x, y, z, energy] = change;
        let full = |row: &State| {
            row[0] * density + row[1] * x + ((row[2] * y + row[3] * z) + row[4] * energy)
        };
        let sparse = |row: &[f64; 3], own: f64| (row[0] * density + row[1] * x) + row[2] * own;
        [
            self.density[0] * density + self.density[1] * x,
            full(&self.momentum_x),
            sparse(&self.momentum_y, y),
            sparse(&self.momentum_z, z),
            full(&self.energy),
        ]
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
    fn the_diagonal_block_is_inverted() {
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
        let inverse = Diagonal::new(scale, dissipation).inverse(&flow);
        assert_near(inverse.times(right), CHANGE);
    }

    #[test]
    fn a_transfer_is_the_product_of_inverse_and_block() {
        let neighbour = Flow::of([1.1, -0.7, 0.6, 0.3, 4.2]);
        let inverse = Diagonal::new(0.37, 2.5).inverse(&Flow::of(STATE));
        let (c, s, d) = (-0.9, 0.4, 0.75);
        let convected = convection::<0>(&neighbour, CHANGE);
        let diffused = diffusion::<0>(&neighbour, CHANGE);
        let product = std::array::from_fn(|m| c * convected[m] - s * (diffused[m] + d * CHANGE[m]));
        let transfer = inverse.transfer(&neighbour, c, s, d);
        assert_near(transfer.times(CHANGE), inverse.times(product));
    }
}

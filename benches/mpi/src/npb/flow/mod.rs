//! The flow that LU, BT and SP compute (RNR-94-007, section 3): the compressible Navier-Stokes equations in a unit
//! cube, with a source term that makes a known polynomial their steady solution.
//!
//! With U the state of a point, h the distance of grid points, and delta the differences of a direction,
//! all three look for the U at which [`Flow::convection`] F, [`Flow::diffusion`] G and the dissipation balance the source:
//!
//! ```text
//! sum over directions of  - F(U)(i+1) - F(U)(i-1)  +  delta^2 (G(U) + d U)  -  e delta^4 U   =  source
//!                         -----------------------     --------------------
//!                                   2 h                        h^2
//! ```

/// Density, the three components of momentum, and total energy, each per unit of volume.
pub type State = [f64; 5];

/// Ratio of specific heats: the report's k1 and the source's c1.
pub const GAMMA: f64 = 1.4;
/// Pressure per internal energy, gamma - 1: the report's k2.
pub const GAMMA_1: f64 = 0.4;
/// Viscosity: the report's k3 k4.
pub const VISCOSITY: f64 = 0.1;
/// Conduction of heat, per unit of [`Flow::energy`] less [`Flow::kinetic`]: the report's k1 k3 k4 k5.
pub const CONDUCTION: f64 = 0.196;
/// The part of viscosity by which a direction's own momentum is diffused more than the others: the third of Stokes.
pub const STOKES: f64 = 1.0 / 3.0;
/// The coefficients d of second-order dissipation in x, y and z, the same for all five components.
pub const SECOND_ORDER: [f64; 3] = [0.75, 0.75, 1.0];
/// The coefficient e of fourth-order dissipation: a quarter of the greatest of [`SECOND_ORDER`].
pub const FOURTH_ORDER: f64 = 0.25;

/// The coefficients of the exact solution, by component (RNR-94-007, table 3.1): the constant, then a row each of
/// the first to the fourth power of x, y and z.
const EXACT: [(f64, [[f64; 3]; 4]); 5] = [
    (
        2.0,
        [
            [0.0, 0.0, 4.0],
            [5.0, 3.0, 0.5],
            [0.02, 0.01, 0.03],
            [0.5, 0.4, 0.3],
        ],
    ),
    (
        1.0,
        [
            [0.0, 0.0, 0.0],
            [1.0, 2.0, 3.0],
            [0.01, 0.03, 0.02],
            [0.4, 0.3, 0.5],
        ],
    ),
    (
        2.0,
        [
            [2.0, 0.0, 0.0],
            [0.0, 2.0, 3.0],
            [0.04, 0.03, 0.05],
            [0.3, 0.5, 0.4],
        ],
    ),
    (
        2.0,
        [
            [2.0, 0.0, 0.0],
            [0.0, 2.0, 3.0],
            [0.03, 0.05, 0.04],
            [0.2, 0.1, 0.3],
        ],
    ),
    (
        5.0,
        [
            [4.0, 3.0, 2.0],
            [0.1, 0.4, 0.3],
            [0.05, 0.04, 0.03],
            [0.1, 0.3, 0.2],
        ],
    ),
];

/// The steady solution at a point (x, y, z) of the unit cube.
pub fn exact(point: [f64; 3]) -> State {
    EXACT.map(|(constant, powers)| {
        let polynomial = |d: usize| {
            let x = point[d];
            powers.iter().rev().fold(0.0, |sum, row| (sum + row[d]) * x)
        };
        constant + polynomial(0) + polynomial(1) + polynomial(2)
    })
}

/// The beginning of the iterations: the exact solution on the faces of the cube, which stays, and within it a
/// blend of the linear interpolations P between opposite faces, 1 - (1 - Px)(1 - Py)(1 - Pz) by component.
pub fn initial(point: [f64; 3]) -> State {
    if point.iter().any(|&x| x == 0.0 || x == 1.0) {
        return exact(point);
    }
    let between = |d: usize| {
        let face = |x: f64| {
            let mut at = point;
            at[d] = x;
            exact(at)
        };
        let (near, far, x) = (face(0.0), face(1.0), point[d]);
        std::array::from_fn::<f64, 5, _>(|m| (1.0 - x) * near[m] + x * far[m])
    };
    let (px, py, pz) = (between(0), between(1), between(2));
    std::array::from_fn(|m| 1.0 - (1.0 - px[m]) * (1.0 - py[m]) * (1.0 - pz[m]))
}

/// The quantities that the fluxes at a point are made of.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// One over the density.
    pub volume: f64,
    /// The velocity in x, y and z.
    pub velocity: [f64; 3],
    /// Kinetic energy per mass, half the square of velocity.
    pub kinetic: f64,
    /// Total energy per mass.
    pub energy: f64,
}

impl Flow {
    /// The flow of a state.
    #[inline(always)]
    pub fn of(state: State) -> Flow {
        let [density, x, y, z, energy] = state;
        let volume = 1.0 / density;
        let velocity = [x * volume, y * volume, z * volume];
        Flow {
            volume,
            velocity,
            kinetic: 0.5 * dot(velocity, velocity),
            energy: energy * volume,
        }
    }

    /// Enthalpy per mass: energy, and pressure over density.
    #[inline(always)]
    pub fn enthalpy(&self) -> f64 {
        GAMMA * self.energy - GAMMA_1 * self.kinetic
    }

    /// The convective flux F in direction `D`: what is carried, and pressure.
    #[inline(always)]
    pub fn convection<const D: usize>(&self, state: State) -> State {
        let speed = self.velocity[D];
        let pressure = pressure(state, self);
        let mut flux = state.map(|carried| carried * speed);
        flux[0] = state[1 + D];
        flux[1 + D] += pressure;
        flux[4] += pressure * speed;
        flux
    }

    /// The potential G of diffusion in direction `D`, whose second difference is the viscous force, its work, and the heat conducted.
    #[inline(always)]
    pub fn diffusion<const D: usize>(&self) -> State {
        let [x, y, z] = self.velocity.map(|speed| VISCOSITY * speed);
        let speed = self.velocity[D];
        let mut potential = [
            0.0,
            x,
            y,
            z,
            CONDUCTION * self.energy
                + (VISCOSITY - CONDUCTION) * self.kinetic
                + 0.5 * STOKES * VISCOSITY * speed * speed,
        ];
        potential[1 + D] *= 1.0 + STOKES;
        potential
    }
}

/// Pressure of a state, whose flow is known.
#[inline(always)]
pub fn pressure(state: State, flow: &Flow) -> f64 {
    GAMMA_1 * (state[4] - state[0] * flow.kinetic)
}

/// The scalar product.
#[inline(always)]
pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The weights of the fourth difference at point `i` of `n` from one face to the other, for the points from i - 2 to i + 2.
///
/// It is meant for inner points. Next to a face it leaves out the face and what is beyond: their weights are zero.
pub fn fourth_difference(i: usize, n: usize) -> [f64; 5] {
    let inside = |weight: f64, is: bool| if is { weight } else { 0.0 };
    let beside = i == 1 || i + 2 == n;
    [
        inside(1.0, i > 2),
        inside(-4.0, i > 1),
        if beside { 5.0 } else { 6.0 },
        inside(-4.0, i + 2 < n),
        inside(1.0, i + 3 < n),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_solution_at_corners_is_the_sum_of_its_coefficients() {
        assert_eq!(exact([0.0; 3]), [2.0, 1.0, 2.0, 2.0, 5.0]);
        let expected = [15.76, 8.26, 10.32, 9.72, 15.52];
        for (value, expected) in exact([1.0; 3]).iter().zip(expected) {
            assert!((value - expected).abs() < 1e-13, "{value} for {expected}");
        }
    }

    #[test]
    fn it_begins_with_the_exact_solution_on_the_faces() {
        for point in [[0.0, 0.3, 0.4], [0.5, 1.0, 0.2], [0.1, 0.9, 0.0]] {
            assert_eq!(initial(point), exact(point));
        }
        assert_ne!(initial([0.5; 3]), exact([0.5; 3]));
    }

    #[test]
    fn the_fourth_difference_leaves_out_the_faces() {
        assert_eq!(fourth_difference(1, 12), [0.0, 0.0, 5.0, -4.0, 1.0]);
        assert_eq!(fourth_difference(2, 12), [0.0, -4.0, 6.0, -4.0, 1.0]);
        assert_eq!(fourth_difference(5, 12), [1.0, -4.0, 6.0, -4.0, 1.0]);
        assert_eq!(fourth_difference(9, 12), [1.0, -4.0, 6.0, -4.0, 0.0]);
        assert_eq!(fourth_difference(10, 12), [1.0, -4.0, 5.0, 0.0, 0.0]);
    }
}

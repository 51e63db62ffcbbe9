//! The characteristic variables of a direction, in which its convection is five separate waves (RNR-94-007, section
//! 3.4.3; Pulliam and Chaussee, "A diagonal form of an implicit approximate-factorization algorithm", 1981).
//!
//! Three waves go with the flow, then one with it and sound, and one with it against sound. The matrices
//! from the waves of x to those of y, and of y to those of z, have constant elements.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::npb::flow::{Flow, GAMMA, GAMMA_1, State, dot};

/// The speed of sound.
#[inline(always)]
pub fn sound(flow: &Flow) -> f64 {
    // Pressure over density is GAMMA_1 times internal energy.
    (GAMMA * GAMMA_1 * (flow.energy - flow.kinetic)).sqrt()
}

/// Turns the change of a state into the waves of x.
#[inline(always)]
pub fn to_x(state: State, change: State) -> State {
    let flow = Flow::of(state);
    let sound = sound(&flow);
    let [x, y, z] = flow.velocity;
    let [density, mx, my, mz, energy] = change;
    let momentum = dot(flow.velocity, [mx, my, mz]);
    let pressure = GAMMA_1 * (flow.kinetic * density - momentum + energy);
    let compression = pressure / (sound * sound);
    let shift = FRAC_1_SQRT_2 * flow.volume * (x * density - mx);
    let swell = FRAC_1_SQRT_2 * flow.volume * sound * compression;
    [
        density - compression,
        flow.volume * (mz - z * density),
        flow.volume * (y * density - my),
        swell - shift,
        swell + shift,
    ]
}

/// Turns the waves of x into those of y.
#[inline(always)]
pub fn x_to_y([a, b, c, with, against]: State) -> State {
    let (mean, turned) = (0.5 * (with + against), FRAC_1_SQRT_2 * c);
    [
        -b,
        a,
        FRAC_1_SQRT_2 * (with - against),
        mean - turned,
        mean + turned,
    ]
}

/// Turns the waves of y into those of z.
#[inline(always)]
pub fn y_to_z([a, b, c, with, against]: State) -> State {
    let (mean, turned) = (0.5 * (with + against), FRAC_1_SQRT_2 * a);
    [
        FRAC_1_SQRT_2 * (with - against),
        -c,
        b,
        mean - turned,
        mean + turned,
    ]
}

/// Turns the waves of z into the change of a state.
#[inline(always)]
pub fn from_z(state: State, [a, b, c, with, against]: State) -> State {
    let flow = Flow::of(state);
    let sound = sound(&flow);
    let [x, y, z] = flow.velocity;
    let density = state[0];
    let swell = FRAC_1_SQRT_2 * density / sound * (with + against);
    let shift = FRAC_1_SQRT_2 * density * (with - against);
    let total = c + swell;
    [
        total,
        x * total - density * b,
        y * total + density * a,
        z * total + shift,
        flow.kinetic * total
            + density * (y * a - x * b)
            + sound * sound / GAMMA_1 * swell
            + z * shift,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn through_all_directions_and_back_nothing_changes() {
        let state = [1.3, 0.7, -0.4, 0.9, 3.1];
        let change = [0.1, -0.2, 0.3, 0.5, -0.7];
        let back = from_z(state, y_to_z(x_to_y(to_x(state, change))));
        for (back, change) in back.iter().zip(change) {
            assert!((back - change).abs() < 1e-14, "{back} for {change}");
        }
    }
}

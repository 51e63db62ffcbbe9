//! The figures that a result is verified by.

use std::ops::RangeInclusive;

use mpi::collective::SystemOperation;

use super::field::Field;
use super::pencil::Pencil;
use crate::comm::Comm;
use crate::npb::flow::{self, Flow, State};

/// The root of the mean square over all inner points of the cube, by component, everywhere.
pub fn norms(comm: &Comm, pencil: &Pencil, of: impl Fn([usize; 3]) -> State) -> State {
    let mut sums: State = [0.0; 5];
    for k in pencil.inner_z() {
        for j in pencil.inner_y() {
            for i in pencil.inner_x() {
                for (sum, value) in sums.iter_mut().zip(of([i, j, k])) {
                    *sum += value * value;
                }
            }
        }
    }
    comm.all_reduce_in_place(&mut sums, SystemOperation::sum());
    let points = (pencil.n - 2).pow(3) as f64;
    sums.map(|sum| (sum / points).sqrt())
}

/// The difference from the exact solution at a point.
pub fn error(pencil: &Pencil, solution: &Field, at: [usize; 3]) -> State {
    let (exact, found) = (flow::exact(pencil.point(at)), solution.state(at));
    std::array::from_fn(|m| exact[m] - found[m])
}

/// The integral of pressure over the surface of a box within the cube, by the trapezoidal rule, everywhere.
pub fn surface_integral(comm: &Comm, pencil: &Pencil, solution: &Field) -> f64 {
    let n = pencil.n;
    let faces: [RangeInclusive<usize>; 3] = [1..=n - 2, 1..=n - 3, 2..=n - 2];
    let mut sum = 0.0;
    for k in pencil.inner_z() {
        for j in pencil.inner_y() {
            for i in pencil.inner_x() {
                let weight = surface_weight(&faces, pencil.place([i, j, k]));
                if weight > 0.0 {
                    let state = solution.state([i, j, k]);
                    sum += weight * flow::pressure(state, &Flow::of(state));
                }
            }
        }
    }
    let mut sum = [sum];
    comm.all_reduce_in_place(&mut sum, SystemOperation::sum());
    sum[0] / ((n - 1) * (n - 1)) as f64
}

/// The weight of a point on the surface of a box: one on a face, half on each of the faces that an edge bounds.
fn surface_weight(faces: &[RangeInclusive<usize>; 3], place: [usize; 3]) -> f64 {
    let ends = |d: usize| place[d] == *faces[d].start() || place[d] == *faces[d].end();
    let along = |d: usize| match (faces[d].contains(&place[d]), ends(d)) {
        (false, _) => 0.0,
        (true, true) => 0.5,
        (true, false) => 1.0,
    };
    (0..3)
        .filter(|&d| ends(d))
        .map(|d| along((d + 1) % 3) * along((d + 2) % 3))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_a_box_are_its_surface() {
        let faces = [1..=4, 2..=4, 0..=5];
        let mut sum = 0.0;
        for x in 0..7 {
            for y in 0..7 {
                for z in 0..7 {
                    sum += surface_weight(&faces, [x, y, z]);
                }
            }
        }
        assert_eq!(sum, 2.0 * (3.0 * 2.0 + 2.0 * 5.0 + 3.0 * 5.0));
    }
}

//! A line to try schemes on.

use super::scheme::{Equation, Scheme};
use crate::npb::flow::{self, State};

/// States from face to face that differ from point to point.
pub fn states(points: usize) -> Vec<State> {
    let state = |i: usize| {
        let x = i as f64 / (points - 1) as f64;
        flow::exact([x, x * x, 1.0 - x])
    };
    (0..points).map(state).collect()
}

/// Right-hand sides of the inner points, zero on the faces.
pub fn changes(points: usize) -> Vec<State> {
    let change = |i: usize| match i {
        0 => [0.0; 5],
        i if i + 1 == points => [0.0; 5],
        i => std::array::from_fn(|m| ((7 * i + 3 * m) % 11) as f64 - 4.5),
    };
    (0..points).map(change).collect()
}

/// Solves a line of direction `D` alone: the solution from face to face, and what it is the solution for.
pub fn solve<const D: usize, const LOCAL: usize, const ROW: usize, const REACH: usize>(
    scheme: &impl Scheme<LOCAL, ROW, REACH>,
    states: &[State],
    changes: &[State],
) -> [Vec<State>; 2] {
    let points = states.len();
    let local = |i: usize| scheme.local::<D>(states[i]);
    let entered: Vec<State> = (states.iter().zip(changes))
        .map(|(&state, &change)| scheme.enter::<D>(state, change))
        .collect();
    let mut rows = vec![[0.0; ROW]; REACH];
    for i in 1..points - 1 {
        let equation = Equation {
            before: local(i - 1),
            here: local(i),
            behind: local(i + 1),
            fourth: flow::fourth_difference(i, points),
            change: entered[i],
        };
        let earlier = rows.last_chunk().expect("those at the face, at least");
        rows.push(scheme.eliminate(&equation, earlier));
    }
    let mut solution = vec![[0.0; 5]; points];
    let mut later = [[0.0; 5]; REACH];
    for i in (1..points - 1).rev() {
        solution[i] = scheme.substitute(&rows[REACH + i - 1], &later);
        later.rotate_right(1);
        later[0] = solution[i];
    }
    [solution, entered]
}

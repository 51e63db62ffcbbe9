//! The scheme of a solver of BT or SP for a line.

use crate::npb::flow::State;

/// An approximate factorisation: how the implicit operator of one direction is made, and solved along a line.
///
/// A line is eliminated from its first point to its last, and substituted back from the last. It has zeros at its
/// ends, on the faces of the cube. All of this is about one line; four are computed at once by those who call it.
///
/// `LOCAL` values at a point make the coefficients of its equation and of those beside it; an eliminated equation
/// has `ROW` values; it is coupled with `REACH` points before it, as with that many behind.
pub trait Scheme<const LOCAL: usize, const ROW: usize, const REACH: usize> {
    /// The contribution of a point to the operator of direction `D`.
    fn local<const D: usize>(&self, state: State) -> [f64; LOCAL];

    /// Makes what the sweep before left into the right-hand side of direction `D`.
    fn enter<const D: usize>(&self, state: State, change: State) -> State {
        let _ = state;
        change
    }

    /// Eliminates a point, when those before it are.
    fn eliminate(&self, equation: &Equation<LOCAL>, earlier: &[[f64; ROW]; REACH]) -> [f64; ROW];

    /// The solution at a point, by its eliminated equation and the solution behind it, nearest first.
    fn substitute(&self, row: &[f64; ROW], later: &[State; REACH]) -> State;

    /// Makes what the sweep of z left into the change of a state.
    fn finish(&self, state: State, left: State) -> State {
        let _ = state;
        left
    }
}

/// The equation of a point of a line.
pub struct Equation<const LOCAL: usize> {
    /// [`Scheme::local`] at the point before.
    pub before: [f64; LOCAL],
    /// [`Scheme::local`] at the point.
    pub here: [f64; LOCAL],
    /// [`Scheme::local`] at the point behind.
    pub behind: [f64; LOCAL],
    /// Weights of the fourth difference.
    pub fourth: [f64; 5],
    /// The right-hand side.
    pub change: State,
}

//! The functions of mathematics that the statistics rest on, by the names that formulas use.
//!
//! Nothing else in the crate calls a library for them. `stats/tests/special.rs` holds each against mpmath over
//! the whole range that samples can reach: 1 to 2e9 degrees of freedom, tails down to 1e-300.

mod binomial;
mod gamma;
mod incomplete_gamma;
mod normal;
mod student;

pub use binomial::binomial;
pub use incomplete_gamma::{digamma, gamma_p, gamma_q, trigamma};
pub use normal::{phi, phi_inverse, two_sided, two_sided_inverse};
pub use student::{two_sided_t, two_sided_t_inverse};

//! Statistics of latency: summaries, histograms, tests, correlations, fits; times of semi-Markov processes, queues.
//!
//! Pure mathematics: slices of `f64` in, named numbers out, no I/O and no `unsafe`. Where a
//! definition is not the only one, the documentation says which it is and whose.

#![forbid(unsafe_code)]

pub mod autocorrelation;
pub mod bootstrap;
pub mod confidence_sequence;
pub mod correlation;
pub mod distribution;
mod error;
pub mod first_passage;
pub mod fit;
pub mod gaps;
pub mod gate;
pub mod grouped;
pub mod histogram;
pub mod hodges_lehmann;
pub mod holm;
pub mod imitation;
pub mod ks;
pub mod mann_whitney;
pub mod moments;
pub mod mva;
pub mod positive;
pub mod power;
pub mod repeated;
pub mod resolution;
mod sort;
pub mod special;
pub mod summary;
pub mod wasserstein;
pub mod welch;

pub use error::Error;
pub use moments::Moments;
pub use sort::sorted;

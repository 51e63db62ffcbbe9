//! Performability: how the time of a transaction grows with failures, by model, simulation and experiment
//! (`docs/amvia-performability.md`).

mod comparison;
mod error;
mod experiment;
mod model;
mod pair;
mod path;
mod report;
mod reward;
mod simulation;
mod stages;
mod steps;
mod throughput;
mod timed;

pub use comparison::{CHANCES, Comparison, Failing, LOSSES, Row, TOLERANCE, fixed};
pub use error::PerformabilityError;
pub use experiment::{Length, Measured, Trial, measure};
pub use model::{Forecast, Frames, Model};
pub use pair::Over;
pub use path::{Component, Costs, Failures, Losses, STATIONS, Stages};
pub use report::{Asked, Report, Reports};
pub use reward::{ASSUMED, Assumed, Performability, performability};
pub use simulation::{Outcome, Plan, simulate};
pub use stages::{Source, Stage, stages};
pub use steps::{Kernel, Passed, Step, Traced, kernel};
pub use throughput::{Throughput, throughput};

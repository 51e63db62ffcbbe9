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
mod throughput;
mod timed;

pub use comparison::{Comparison, LOSSES, Row, TOLERANCE, fixed};
pub use error::PerformabilityError;
pub use experiment::{Measured, Trial, measure};
pub use model::{Forecast, Frames, Model};
pub use pair::Carrier;
pub use path::{Component, Costs, Failures, Losses, STATIONS, Stages};
pub use report::{Asked, Over, Report};
pub use reward::{ASSUMED, Assumed, Performability, compared, performability};
pub use simulation::{Outcome, Plan, simulate};
pub use stages::{Source, Stage, stages};
pub use throughput::{Throughput, throughput};

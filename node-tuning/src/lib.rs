//! Brings a node to a state in which a microsecond can be measured, proves that state, and puts the
//! node back.

#![forbid(unsafe_code)]

pub mod boot;
pub mod cpus;
pub mod journal;
pub mod noise;
pub mod plan;
pub mod privilege;
pub mod profile;
pub mod settings;
pub mod system;
pub mod topology;
pub mod tracing;
pub mod tune;
pub mod validation;
mod values;

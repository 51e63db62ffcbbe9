//! Brings a node to a state in which a microsecond can be measured, proves that state, and puts the
//! node back.

#![forbid(unsafe_code)]

pub mod cpus;
pub mod noise;
pub mod plan;
pub mod topology;
pub mod validation;

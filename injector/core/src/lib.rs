//! The latency injector apart from the hooks: distribution tables and the shapes they are made from,
//! recordings, generators and seeds, the clock that a delay is measured with, and the control page through
//! which a running, injected program is observed and changed.
//!
//! `unsafe` is confined to the report of a process that ends ([`control`]).

#![deny(unsafe_code)]

pub mod check;
pub mod control;
pub mod delay;
pub mod environment;
pub mod family;
pub mod generator;
pub mod netem;
pub mod record;
pub mod recording;
pub mod replay;
pub mod shape;
pub mod table;
pub mod text;

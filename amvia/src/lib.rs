//! Active messages that know what became of them: requests and replies over UDP, shared memory and verbs, each transaction
//! in a known state, also after a crash of either side.
//!
//! The protocol is that of Kaur, "Performability Modeling and Analysis of Fault Tolerance Support in Communication
//! Protocols" (Rutgers, 2000), chapter 3.

#![deny(unsafe_code)]

pub mod endpoint;
pub mod log;
pub mod names;
pub mod protocol;
pub mod transaction;
pub mod transport;
pub mod wire;

/// The program in the chapter for who uses the library.
#[cfg(doctest)]
#[doc = include_str!("../../docs/amvia.md")]
struct Chapter;

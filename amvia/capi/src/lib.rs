//! `libamvia.so`: [`jitterlab_amvia`] for programs in C. `include/amvia.h` is made of this crate by cbindgen.
//!
//! A program in C gets an error for each mistake that can be seen: handles are numbers in a table, tokens hold
//! during their handler alone, and no panic leaves a function. What cannot be seen is its own: that a pointer which is not
//! null points to memory of the size that goes with it, and that a text ends with a zero byte. The functions are `unsafe`
//! for this reason alone.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_camel_case_types, non_snake_case)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the head of amvia.h says it once for all functions"
)]

mod bundle;
mod connect;
mod error;
mod handler;
mod log;
mod memory;
mod names;
mod options;
mod request;
mod status;
mod table;

/// Bytes of a short message at most.
pub const AM_SHORT: u32 = 32;
/// Bytes of a medium message at most.
pub const AM_MEDIUM: u32 = 128;
/// A timeout without end.
pub const AM_FOREVER: u64 = u64::MAX;

//! `libjitterlab_preload.so`: latency injection into unmodified programs.
//!
//! Preloaded into a program, it puts itself before the functions with which the program sends
//! ([`hooks`]), and delays them as the program's control page says. It is configured by the
//! environment ([`config`]), comes up before the program does and cleans up after it
//! ([`lifecycle`]).
//!
//! Everything here runs inside somebody else's program, so it never panics on what it meets,
//! keeps `errno` as it found it, and where it cannot do its work it steps aside.

mod abi;
mod config;
mod confined;
mod defer;
mod hooks;
mod interpose;
mod lifecycle;
mod objects;
mod real;
mod recorder;
mod state;

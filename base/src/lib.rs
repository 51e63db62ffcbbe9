//! The ground floor: what every room uses and none owns.
//!
//! `unsafe` is confined to [`biased`], a lock, [`clock`], which reads the processor's counter, [`fork`], a page that a child
//! finds wiped, [`page`], memory that processes share, and [`ring`], frames in such memory.

#![deny(unsafe_code)]

pub mod biased;
pub mod clock;
pub mod durable;
pub mod fork;
pub mod input;
pub mod named;
pub mod page;
pub mod print;
pub mod ring;
pub mod seed;
pub mod show;
pub mod units;
pub mod yaml;

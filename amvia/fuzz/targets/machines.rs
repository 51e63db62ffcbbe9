#![no_main]

#[path = "../machines.rs"]
mod machines;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| machines::machines(bytes));

//! The rate at which `jitterlab stats compare` says that a system differs from itself: `cargo bench --workspace --bench
//! equal_systems [-- PAIRS]`.
//!
//! Each pair is ten recordings of the same ping-pong over UDP, taken in turn A B A B …, five a side.

#[path = "../tests/common/mod.rs"]
mod common;

use common::Lab;

/// Recordings a side.
const RECORDINGS: u32 = 5;

fn main() {
    // `cargo bench` adds an option of its own.
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let pairs: u32 = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(100);
    let lab = Lab::new();
    let mut rejected = 0;
    for pair in 1..=pairs {
        for recording in 0..RECORDINGS {
            for side in ["a", "b"] {
                lab.done(&format!(
                    "packet run --case rtt --transport udp --cpu 1 --server-cpu 1 --iterations 10k --warmup 20ms --samples {side}{recording}.csv"
                ));
            }
        }
        let side = |name: &str| -> String {
            (0..RECORDINGS)
                .map(|recording| format!(" --{name} {name}{recording}.csv"))
                .collect()
        };
        let compared = lab.json(&format!(
            "stats compare{}{} --format json",
            side("a"),
            side("b")
        ));
        let figures = compared["figures"].as_array().unwrap();
        let median = figures.iter().find(|it| it["figure"] == "median").unwrap();
        let p = median["p"].as_f64().unwrap();
        rejected += u32::from(p < 0.05);
        println!("{pair}: p = {p:.3}; {rejected} rejected");
    }
    println!("{rejected} of {pairs} pairs of equal systems are said to differ");
}

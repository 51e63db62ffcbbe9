//! The time that the rank statistics take on two samples of ten million, in orders that are hard on
//! sorting: `cargo bench -p jitterlab-stats`.

use std::time::Instant;

use jitterlab_stats::{hodges_lehmann, mann_whitney, sorted};

const N: usize = 10_000_000;

fn main() {
    let mut state = 1u64;
    let mut draw = |offset: f64| -> Vec<f64> {
        (0..N)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
                offset + (5_000.0 - 800.0 * (1.0 - uniform).ln()).floor()
            })
            .collect()
    };
    let (a, b) = (draw(0.0), draw(3.0));
    let spread: Vec<f64> = a
        .iter()
        .enumerate()
        .map(|(i, x)| x + i as f64 * 1e-7)
        .collect();
    let ascending = sorted(&spread).unwrap_or_default();
    let descending: Vec<f64> = ascending.iter().rev().copied().collect();
    let equal = vec![5_000.0; N];
    for (name, x, y) in [
        ("whole nanoseconds, ties", &a, &b),
        ("all different", &spread, &b),
        ("ascending and descending", &ascending, &descending),
        ("all equal", &equal, &equal),
    ] {
        let start = Instant::now();
        let test = mann_whitney::test(x, y);
        println!(
            "Mann-Whitney, {N} against {N}, {name}: {:.2?} {test:?}",
            start.elapsed()
        );
        let start = Instant::now();
        let shift = hodges_lehmann::shift(x, y, 0.95);
        println!(
            "  Hodges-Lehmann shift and interval: {:.2?} {shift:?}",
            start.elapsed()
        );
    }
}

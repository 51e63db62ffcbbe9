//! EP, embarrassingly parallel (RNR-94-007, section 2.2.1): pairs of Gaussian deviates by Marsaglia's polar
//! method, counted by square annuli. Ranks talk at the end only.

use std::hint::black_box;

use mpi::collective::SystemOperation;

use super::random::Random;
use super::{Check, Class, Kernel, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: "ep",
    title: "pairs of Gaussian deviates; no messages but at the end",
    ranks: Ranks::ANY,
    run,
};

const SEED: u64 = 271_828_183;
const TOLERANCE: f64 = 1e-8;
/// Binary logarithm of the pairs that are drawn at a time: they stay in the cache.
const BATCH_LOG2: u32 = 10;
const ANNULI: usize = 10;

/// What a rank has found.
#[derive(Default)]
struct Tally {
    /// Sums of the deviates, and how many lie in each annulus.
    sums: [f64; 2],
    counts: [f64; ANNULI],
}

fn run(comm: &Comm, class: Class) -> Outcome {
    let log2 = class.of([24, 25, 28, 30, 32]);
    let expected = class.of([
        [-3.247834652034740e3, -6.958407078382297e3],
        [-2.863319731645753e3, -6.320053679109499e3],
        [-4.295875165629892e3, -1.580732573678431e4],
        [4.033815542441498e4, -2.660669192809235e4],
        [4.764367927995374e4, -8.084072988043731e4],
    ]);
    let batches = 1usize << (log2 - BATCH_LOG2);
    let (rank, size) = (comm.rank(), comm.size());
    let mine = batches * rank / size..batches * (rank + 1) / size;

    // Touches code and memory once, as the original does.
    black_box(tally(0..1));
    let mut result = [0.0; 2 + ANNULI];
    let time_s = comm.timed(|| {
        comm.phase("pairs");
        let found = tally(mine);
        comm.phase("sums");
        let [x, y] = found.sums;
        let mut all = vec![x, y];
        all.extend(found.counts);
        comm.all_reduce(&all, &mut result, SystemOperation::sum());
    });

    let checks = ["sum of X", "sum of Y"]
        .iter()
        .zip(expected)
        .zip(result)
        .map(|((&what, expected), value)| Check {
            what: what.to_owned(),
            value,
            expected,
            tolerance: TOLERANCE,
        })
        .collect();
    Outcome {
        time_s,
        mop: f64::from(log2 + 1).exp2() / 1e6,
        checks,
    }
}

/// Draws batches of pairs.
fn tally(batches: std::ops::Range<usize>) -> Tally {
    const PAIRS: usize = 1 << BATCH_LOG2;
    let mut random = Random::new(SEED);
    random.skip((batches.start * 2 * PAIRS) as u64);
    let mut found = Tally::default();
    let mut drawn = [0.0; 2 * PAIRS];
    for _ in batches {
        drawn.fill_with(|| 2.0 * random.next() - 1.0);
        for pair in drawn.as_chunks::<2>().0 {
            let [x, y] = *pair;
            let square = x * x + y * y;
            if square <= 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                let (x, y) = (x * factor, y * factor);
                found.counts[x.abs().max(y.abs()) as usize] += 1.0;
                found.sums[0] += x;
                found.sums[1] += y;
            }
        }
    }
    found
}

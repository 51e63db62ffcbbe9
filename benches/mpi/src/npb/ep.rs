//! EP, embarrassingly parallel (RNR-94-007, section 2.2.1): pairs of Gaussian deviates by Marsaglia's polar
//! method, counted by square annuli. Ranks talk at the end only.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};
use std::hint::black_box;

use mpi::collective::SystemOperation;

use super::random::Random;
use super::{Check, Class, Kernel, Name, Outcome, Ranks};
use crate::comm::Comm;

pub const KERNEL: Kernel = Kernel {
    name: Name::Ep,
    title: "pairs of Gaussian deviates; messages only at the end",
    ranks: Ranks::ANY,
    run,
};

const SEED: u64 = 271_828_183;
const TOLERANCE: f64 = 1e-8;
/// Binary logarithm of the pairs that are drawn at a time: they stay in the cache.
const BATCH_LOG2: u32 = 9;
const PAIRS: usize = 1 << BATCH_LOG2;
/// Streams of pseudo-random numbers, and sums, that do not wait for each other.
const LANES: usize = 8;
const ANNULI: usize = 10;

/// The findings of a rank, or of all of them.
#[derive(Default)]
struct Tally {
    /// The sums of the deviates: these are verified.
    sums: [f64; 2],
    /// The number of deviates in each annulus: nothing is verified against these.
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
    black_box(tally(0, 0..1));
    let mut found = Tally::default();
    let time_s = comm.timed(|| {
        comm.phase("pairs");
        found = tally(mine.start, comm.iterations(mine));
        comm.phase("sums");
        // One call would do for all; the original has three.
        let sum = |numbers: &mut [f64]| comm.all_reduce_in_place(numbers, SystemOperation::sum());
        sum(&mut found.sums[..1]);
        sum(&mut found.sums[1..]);
        sum(&mut found.counts);
    });

    let checks = ["sum of X", "sum of Y"]
        .iter()
        .zip(expected)
        .zip(found.sums)
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

/// Pairs whose coordinates are side by side, for vector units.
struct Batch {
    x: [f64; PAIRS],
    y: [f64; PAIRS],
    /// The greater one of a pair, without its sign.
    greater: [f64; PAIRS],
}

/// Draws batches of pairs. The first batch has the number `start`.
fn tally(start: usize, batches: impl Iterator<Item = usize>) -> Tally {
    let mut x = streams(2 * PAIRS * start);
    let mut y = streams(2 * PAIRS * start + 1);
    let mut found = Tally::default();
    let mut batch = Batch {
        x: [0.0; PAIRS],
        y: [0.0; PAIRS],
        greater: [0.0; PAIRS],
    };
    for _ in batches {
        draw(&mut x, &mut batch.x);
        draw(&mut y, &mut batch.y);
        let inside = batch.deviate();
        found.sums[0] += sum(&batch.x);
        found.sums[1] += sum(&batch.y);
        count(inside, &batch.greater, &mut found.counts);
    }
    found
}

/// Streams that together have every second number, the first one behind `start` of all.
fn streams(start: usize) -> [Random; LANES] {
    std::array::from_fn(|lane| {
        let mut random = Random::new(SEED);
        random.skip((start + 2 * lane) as u64);
        random.every(2 * LANES as u64)
    })
}

/// Coordinates in (-1, 1).
fn draw(streams: &mut [Random; LANES], coordinates: &mut [f64; PAIRS]) {
    for lanes in coordinates.as_chunks_mut::<LANES>().0 {
        for (coordinate, random) in lanes.iter_mut().zip(&mut *streams) {
            *coordinate = 2.0 * random.next() - 1.0;
        }
    }
}

impl Batch {
    /// Makes deviates of the pairs inside the circle and zeros of others, and says how many are inside.
    fn deviate(&mut self) -> usize {
        let mut inside = 0;
        let pairs = self.x.iter_mut().zip(&mut self.y).zip(&mut self.greater);
        for ((x, y), greater) in pairs {
            let square = *x * *x + *y * *y;
            inside += usize::from(square <= 1.0);
            // The logarithm of 1 is 0.
            let square = if square <= 1.0 { square } else { 1.0 };
            let factor = (-2.0 * logarithm(square) / square).sqrt();
            *x *= factor;
            *y *= factor;
            *greater = if x.abs() > y.abs() { x.abs() } else { y.abs() };
        }
        inside
    }
}

/// ln(x) of a positive number that is not subnormal: x = m 2^e with m from sqrt(1/2) to sqrt(2), and
/// ln(m) = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), so that s^2 < 0.03.
///
/// It has no branch, as a loop over it that is to be made of vector instructions must not have one.
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    const TERMS: usize = 11;
    const LOW: u64 = FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1f64.to_bits();
    const FRACTION: u64 = (1 << 52) - 1;
    const TWO_52: f64 = (1u64 << 52) as f64;
    let bits = x.to_bits() + (ONE - LOW);
    let exponent = f64::from_bits(TWO_52.to_bits() | (bits >> 52)) - (TWO_52 + 1023.0);
    let m = f64::from_bits((bits & FRACTION) + LOW);
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut series = 0.0;
    for term in (0..TERMS).rev() {
        series = series * square + 1.0 / (2 * term + 1) as f64;
    }
    exponent * LN_2 + 2.0 * s * series
}

fn sum(numbers: &[f64; PAIRS]) -> f64 {
    let mut sums = [0.0; LANES];
    for lanes in numbers.as_chunks::<LANES>().0 {
        for (sum, number) in sums.iter_mut().zip(lanes) {
            *sum += number;
        }
    }
    sums.iter().sum()
}

/// Counts numbers by their integer parts. Those that are not inside are zeros.
fn count(inside: usize, numbers: &[f64; PAIRS], counts: &mut [f64; ANNULI]) {
    let mut from_here = inside;
    for (annulus, count) in counts.iter_mut().enumerate() {
        let beyond = numbers
            .iter()
            .filter(|&&number| number >= (annulus + 1) as f64);
        let beyond = beyond.count();
        *count += (from_here - beyond) as f64;
        if beyond == 0 {
            break;
        }
        from_here = beyond;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right_to_the_last_bits() {
        let mut random = Random::new(SEED);
        for scale in [1.0, 1e-3, 1e-9, 1e-28] {
            for _ in 0..10_000 {
                let x = random.next() * scale;
                let (found, right) = (logarithm(x), x.ln());
                assert!(
                    (found - right).abs() <= 4e-16 * (1.0 + right.abs()),
                    "ln {x}: {found}"
                );
            }
        }
        assert_eq!(logarithm(1.0), 0.0);
    }
}

//! The discrete Fourier transform of lines in a cache, by Stockham's fast algorithm: radix 4, and a last step of
//! radix 2 where the length asks for one. Each step reads one line and writes another, in order.

use std::f64::consts::TAU;

use super::lanes::{Lanes, difference, quarter_turn, sum, times};

/// The tables for the transform of a length: X(k) is the sum of x(j) e^(-2 pi i j k / length).
pub struct Fft {
    length: usize,
    steps: Vec<Step>,
    /// True if a step of radix 2 is the last one.
    halves: bool,
}

/// A step of radix 4 over sequences that lie `stride` apart: w, w^2 and w^3 for each w of its butterflies.
struct Step {
    stride: usize,
    twiddles: Vec<[[f64; 2]; 3]>,
}

impl Fft {
    /// The transform of a length that is a power of two, of at least 4.
    pub fn new(length: usize) -> Fft {
        let mut steps = Vec::new();
        let mut stride = 1;
        while 4 * stride <= length {
            let sequence = length / stride;
            let root = |k: usize| {
                let (sin, cos) = (-TAU * k as f64 / sequence as f64).sin_cos();
                [cos, sin]
            };
            steps.push(Step {
                stride,
                twiddles: (0..sequence / 4)
                    .map(|p| [root(p), root(2 * p), root(3 * p)])
                    .collect(),
            });
            stride *= 4;
        }
        Fft {
            length,
            steps,
            halves: stride < length,
        }
    }

    /// The number of elements in a line.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Transforms lines that lie one behind the other, each of its lanes for itself: `fill` writes them, and the
    /// result is in `to`. `spare` is as long as `to`.
    pub fn lines(&self, to: &mut [Lanes], spare: &mut [Lanes], fill: impl FnOnce(&mut [Lanes])) {
        let steps = self.steps.len() + usize::from(self.halves);
        let (first, second) = if steps.is_multiple_of(2) {
            (to, spare)
        } else {
            (spare, to)
        };
        fill(first);
        let others = second.chunks_exact_mut(self.length);
        for (line, other) in first.chunks_exact_mut(self.length).zip(others) {
            self.line(line, other);
        }
    }

    fn line<'a>(&self, mut from: &'a mut [Lanes], mut to: &'a mut [Lanes]) {
        for step in &self.steps {
            step.run(from, to);
            std::mem::swap(&mut from, &mut to);
        }
        if self.halves {
            let (a, b) = from.split_at(self.length / 2);
            let (plus, minus) = to.split_at_mut(self.length / 2);
            for (((plus, minus), &a), &b) in plus.iter_mut().zip(minus).zip(a).zip(b) {
                *plus = sum(a, b);
                *minus = difference(a, b);
            }
        }
    }
}

impl Step {
    fn run(&self, from: &[Lanes], to: &mut [Lanes]) {
        let stride = self.stride;
        let (ab, cd) = from.split_at(from.len() / 2);
        let ((a, b), (c, d)) = (ab.split_at(ab.len() / 2), cd.split_at(cd.len() / 2));
        let rows = |part| <[Lanes]>::chunks_exact(part, stride);
        let inputs = rows(a).zip(rows(b)).zip(rows(c)).zip(rows(d));
        let outputs = to.chunks_exact_mut(4 * stride);
        for ((w, to), (((a, b), c), d)) in self.twiddles.iter().zip(outputs).zip(inputs) {
            butterflies(*w, [a, b, c, d], to);
        }
    }
}

#[inline(always)]
fn butterflies([w, w2, w3]: [[f64; 2]; 3], [a, b, c, d]: [&[Lanes]; 4], to: &mut [Lanes]) {
    let (to01, to23) = to.split_at_mut(2 * a.len());
    let (to0, to1) = to01.split_at_mut(a.len());
    let (to2, to3) = to23.split_at_mut(a.len());
    let outputs = to0.iter_mut().zip(to1).zip(to2).zip(to3);
    let inputs = a.iter().zip(b).zip(c).zip(d);
    for ((((to0, to1), to2), to3), (((&a, &b), &c), &d)) in outputs.zip(inputs) {
        let (ac, bd) = (sum(a, c), sum(b, d));
        let (a_c, ib_d) = (difference(a, c), quarter_turn(difference(b, d)));
        *to0 = sum(ac, bd);
        *to1 = times(difference(a_c, ib_d), w);
        *to2 = times(difference(ac, bd), w2);
        *to3 = times(sum(a_c, ib_d), w3);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::LANES;
    use super::*;
    use crate::npb::random::Random;

    const ZERO: Lanes = [[0.0; LANES]; 2];

    #[test]
    fn every_lane_of_every_line_is_the_sum_that_defines_the_transform() {
        for length in [4, 8, 16, 32, 64, 128] {
            let mut random = Random::new(314_159_265);
            let given: Vec<Lanes> =
                std::iter::repeat_with(|| ZERO.map(|part| part.map(|_| random.next())))
                    .take(2 * length)
                    .collect();
            let (mut found, mut spare) = (vec![ZERO; 2 * length], vec![ZERO; 2 * length]);
            Fft::new(length).lines(&mut found, &mut spare, |lines| {
                lines.copy_from_slice(&given);
            });
            for (given, found) in given.chunks(length).zip(found.chunks(length)) {
                for (k, found) in found.iter().enumerate() {
                    for lane in 0..LANES {
                        let (mut re, mut im) = (0.0, 0.0);
                        for (j, x) in given.iter().enumerate() {
                            let angle = -TAU * (j * k % length) as f64 / length as f64;
                            re += x[0][lane] * angle.cos() - x[1][lane] * angle.sin();
                            im += x[0][lane] * angle.sin() + x[1][lane] * angle.cos();
                        }
                        let (re, im) = (found[0][lane] - re, found[1][lane] - im);
                        let distance = (re * re + im * im).sqrt();
                        assert!(distance < 1e-13 * length as f64, "{length}: {distance}");
                    }
                }
            }
        }
    }
}

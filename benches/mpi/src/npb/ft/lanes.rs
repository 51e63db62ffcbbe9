//! Complex numbers, four side by side, as vector units like to have them.

use std::array;
use std::ops::{Deref, DerefMut};

/// The number of complex numbers side by side.
pub const LANES: usize = 4;

/// Complex numbers side by side: their real parts, then their imaginary parts. They fill a cache line.
pub type Lanes = [[f64; LANES]; 2];

#[inline(always)]
pub fn sum(a: Lanes, b: Lanes) -> Lanes {
    array::from_fn(|part| array::from_fn(|lane| a[part][lane] + b[part][lane]))
}

#[inline(always)]
pub fn difference(a: Lanes, b: Lanes) -> Lanes {
    array::from_fn(|part| array::from_fn(|lane| a[part][lane] - b[part][lane]))
}

/// i a.
#[inline(always)]
pub fn quarter_turn([re, im]: Lanes) -> Lanes {
    [im.map(|im| -im), re]
}

/// Every lane times the same complex number.
#[inline(always)]
pub fn times([re, im]: Lanes, [cos, sin]: [f64; 2]) -> Lanes {
    [
        array::from_fn(|lane| re[lane] * cos - im[lane] * sin),
        array::from_fn(|lane| re[lane] * sin + im[lane] * cos),
    ]
}

/// Rows become lanes, and lanes rows.
#[inline(always)]
pub fn turned(rows: &[Lanes; LANES]) -> [Lanes; LANES] {
    array::from_fn(|lane| array::from_fn(|part| array::from_fn(|row| rows[row][part][lane])))
}

/// Memory for lanes that begins with a cache line, all zero.
pub struct Array {
    numbers: Vec<f64>,
    start: usize,
    length: usize,
}

const NUMBERS: usize = 2 * LANES;

impl Array {
    pub fn new(length: usize) -> Array {
        let numbers = vec![0.0; NUMBERS * length + NUMBERS - 1];
        let start = numbers.as_ptr().align_offset(64).min(NUMBERS - 1);
        Array {
            numbers,
            start,
            length,
        }
    }
}

impl Deref for Array {
    type Target = [Lanes];

    fn deref(&self) -> &[Lanes] {
        let numbers = &self.numbers[self.start..][..NUMBERS * self.length];
        numbers.as_chunks().0.as_chunks().0
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut [Lanes] {
        let numbers = &mut self.numbers[self.start..][..NUMBERS * self.length];
        numbers.as_chunks_mut().0.as_chunks_mut().0
    }
}

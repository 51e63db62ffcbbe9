//! Sorting of samples, the cost of every rank statistic.

use crate::error::{Error, check};

/// Digits of the radix sort: 11 bits, so that six passes cover 64 bits and a histogram fits the
/// first-level cache.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;
const PASSES: usize = 6;
/// Below this the comparison sort of the standard library is faster.
const RADIX_FROM: usize = 1 << 14;

/// The samples in ascending order.
///
/// Large slices are sorted by radix on the order-preserving bits of the number, in linear time
/// whatever their order; passes in which all samples agree are left out, and latencies agree in
/// most of their high bits.
///
/// # Errors
/// A sample is not finite.
pub fn sorted(samples: &[f64]) -> Result<Vec<f64>, Error> {
    check(samples, "sorting", 0)?;
    if samples.len() < RADIX_FROM {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        return Ok(sorted);
    }
    let mut keys: Vec<u64> = samples.iter().map(|&x| to_key(x)).collect();
    radix_sort(&mut keys);
    Ok(keys.into_iter().map(from_key).collect())
}

/// A number whose unsigned order is the order of the samples. Negative zero counts as zero, so
/// that the two are ties.
fn to_key(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 0 {
        bits ^ (1 << 63)
    } else {
        !bits
    }
}

fn from_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 {
        key ^ (1 << 63)
    } else {
        !key
    })
}

fn digit(key: u64, pass: usize) -> usize {
    (key >> (pass as u32 * DIGIT_BITS)) as usize & (DIGITS - 1)
}

fn radix_sort(keys: &mut Vec<u64>) {
    let mut histograms = vec![[0usize; DIGITS]; PASSES];
    for &key in keys.iter() {
        for (pass, histogram) in histograms.iter_mut().enumerate() {
            histogram[digit(key, pass)] += 1;
        }
    }
    let mut scratch = vec![0; keys.len()];
    for (pass, histogram) in histograms.iter_mut().enumerate() {
        if histogram[digit(keys[0], pass)] == keys.len() {
            continue;
        }
        let mut start = 0;
        for count in histogram.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &key in keys.iter() {
            let place = &mut histogram[digit(key, pass)];
            scratch[*place] = key;
            *place += 1;
        }
        std::mem::swap(keys, &mut scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn radix_and_comparison_agree() {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 11) as f64 - 2f64.powi(52)) * 1e-9
        };
        let samples: Vec<f64> = (0..2 * RADIX_FROM).map(|_| next()).collect();
        let mut expected = samples.clone();
        expected.sort_unstable_by(f64::total_cmp);
        assert_eq!(sorted(&samples).unwrap(), expected);
        let equal = vec![5.0; RADIX_FROM];
        assert_eq!(sorted(&equal).unwrap(), equal);
    }

    proptest! {
        #[test]
        fn keys_keep_the_order(a in -1e300f64..1e300, b in -1e300f64..1e300) {
            prop_assert_eq!(a < b, to_key(a) < to_key(b));
            prop_assert_eq!(from_key(to_key(a)), a);
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        assert!(matches!(
            sorted(&[1.0, f64::NAN]),
            Err(Error::NotFinite { index: 1, .. })
        ));
    }
}

//! Vectors of numbers.

/// Numbers that are summed side by side: a sum that waits for the one before it would take as long as an addition does.
const LANES: usize = 8;

/// The scalar product of two vectors of one length.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// The greatest of some numbers, their signs left aside; 0 of none.
pub fn greatest(numbers: &[f64]) -> f64 {
    let greater = |a: f64, b: f64| if a > b { a } else { b };
    let (lanes, rest) = numbers.as_chunks::<LANES>();
    let mut most = [0.0; LANES];
    for lanes in lanes {
        for (most, number) in most.iter_mut().zip(lanes) {
            *most = greater(number.abs(), *most);
        }
    }
    let rest = rest.iter().map(|number| number.abs());
    most.into_iter().chain(rest).fold(0.0, greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_has_all_its_terms() {
        for length in 0..40 {
            let a: Vec<f64> = (0..length).map(f64::from).collect();
            let squares: i32 = (0..length).map(|x| x * x).sum();
            assert_eq!(dot(&a, &a), f64::from(squares));
        }
    }

    #[test]
    fn the_greatest_may_be_anywhere_and_negative() {
        assert_eq!(greatest(&[]), 0.0);
        for length in 1..40 {
            for place in 0..length {
                let mut numbers = vec![1.0; length];
                numbers[place] = -2.0;
                assert_eq!(greatest(&numbers), 2.0);
            }
        }
    }
}

use thiserror::Error as ThisError;

/// Samples that a statistic cannot be computed of.
#[derive(Debug, Clone, PartialEq, ThisError)]
pub enum Error {
    /// Too few samples.
    #[error("{statistic} needs at least {needed} samples; there are {given}")]
    TooFew {
        /// The statistic that was to be computed.
        statistic: &'static str,
        /// The number that it takes.
        needed: usize,
        /// The number that there are.
        given: usize,
    },
    /// A sample that is not a finite number.
    #[error("sample {index} is {value}, not a finite number")]
    NotFinite {
        /// Its place, counted from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Samples that do not vary, where the statistic divides by their variation.
    #[error("{statistic} is not defined for samples that are all equal")]
    NoVariation {
        /// The statistic that was to be computed.
        statistic: &'static str,
    },
    /// The least value occurs so often that what lies below it cannot be told.
    #[error(
        "{statistic} is not defined for these samples: {tied} of {n} equal the smallest one; \
         measure with a finer clock"
    )]
    Ties {
        /// The statistic that was to be computed.
        statistic: &'static str,
        /// The number of those that equal the least.
        tied: usize,
        /// The number of all.
        n: usize,
    },
    /// Two lists of values that belong to one another in pairs differ in length.
    #[error("the lists hold {left} and {right} values; each value needs its partner")]
    Unpaired {
        /// Length of the first.
        left: usize,
        /// Length of the second.
        right: usize,
    },
    /// A family that fits best where it has no mean.
    #[error(
        "cannot compute {statistic}: the fitted distribution has no mean, because its tail is too heavy"
    )]
    NoMean {
        /// The statistic that was to be computed.
        statistic: &'static str,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}; it has to be {expected}")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The values that are allowed.
        expected: &'static str,
    },
}

/// Checks that there are `needed` samples at least, all finite.
pub(crate) fn check(samples: &[f64], statistic: &'static str, needed: usize) -> Result<(), Error> {
    if samples.len() < needed {
        return Err(Error::TooFew {
            statistic,
            needed,
            given: samples.len(),
        });
    }
    match samples.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(Error::NotFinite {
            index,
            value: samples[index],
        }),
        None => Ok(()),
    }
}

/// A level of confidence or significance: strictly between 0 and 1.
pub(crate) fn check_level(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(Error::Parameter {
            name,
            value,
            expected: "between 0 and 1",
        })
    }
}

/// The findings of a benchmark, the same on every rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Time of the part that is measured, of the slowest rank, in seconds.
    pub time_s: f64,
    /// Millions of operations in it, as the benchmark counts them.
    pub mop: f64,
    /// The checks of the result.
    pub checks: Vec<Check>,
}

impl Outcome {
    /// Millions of operations a second, of all ranks together.
    pub fn mops(&self) -> f64 {
        self.mop / self.time_s
    }

    /// True if every check was passed; a result without checks is not verified.
    pub fn verified(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(Check::passed)
    }
}

/// A number of the result beside the one that is published for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The name of it.
    pub what: String,
    /// The computed value.
    pub value: f64,
    /// The published value.
    pub expected: f64,
    /// The distance that they may have: see [`Check::error`].
    pub tolerance: f64,
}

impl Check {
    /// The distance, as a part of the published number; as it is, if that is zero.
    pub fn error(&self) -> f64 {
        let distance = (self.value - self.expected).abs();
        if self.expected == 0.0 {
            distance
        } else {
            distance / self.expected.abs()
        }
    }

    /// True if it is near enough. NaN never is.
    pub fn passed(&self) -> bool {
        self.error() <= self.tolerance
    }
}

//! The time to wait for an answer: RFC 6298.

use super::{Config, Nanos};

/// The estimator of RFC 6298, section 2, in nanoseconds. Each answer echoes its attempt, so it is a valid sample
/// after a retransmission, too. A message that the target repeats by itself answers no attempt, and is no sample (Karn's rule).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Timeout {
    smoothed: Option<Nanos>,
    variation: Nanos,
    floor: Nanos,
    ceiling: Nanos,
    initial: Nanos,
    granularity: Nanos,
}

impl Timeout {
    /// An estimator without samples, with the limits of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            smoothed: None,
            variation: 0,
            floor: config.min_rto,
            ceiling: config.max_rto,
            initial: config.initial_rto,
            granularity: config.granularity,
        }
    }

    /// Takes a round trip, in nanoseconds (RFC 6298, 2.2 and 2.3).
    #[inline]
    pub fn sample(&mut self, round_trip: Nanos) {
        match self.smoothed {
            None => {
                self.smoothed = Some(round_trip);
                self.variation = round_trip / 2;
            }
            Some(smoothed) => {
                self.variation = (3 * self.variation + smoothed.abs_diff(round_trip)) / 4;
                self.smoothed = Some((7 * smoothed + round_trip) / 8);
            }
        }
    }

    /// The smoothed round trip, in nanoseconds; none before the first sample.
    pub fn smoothed(&self) -> Option<Nanos> {
        self.smoothed
    }

    /// The wait after `tries` retransmissions without an answer, in nanoseconds: doubled for each (RFC 6298, 5.5).
    #[inline]
    pub fn after(&self, tries: u16) -> Nanos {
        let first = match self.smoothed {
            None => self.initial,
            Some(smoothed) => smoothed.saturating_add(self.granularity.max(4 * self.variation)),
        };
        let factor = 1_u64.checked_shl(u32::from(tries)).unwrap_or(Nanos::MAX);
        first
            .max(self.floor)
            .saturating_mul(factor)
            .min(self.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout() -> Timeout {
        Timeout::new(&Config {
            min_rto: 1,
            max_rto: 1_000_000,
            initial_rto: 7_000,
            granularity: 0,
            ..Config::default()
        })
    }

    #[test]
    fn the_estimate_is_that_of_the_rfc() {
        let mut timeout = timeout();
        assert_eq!(timeout.after(0), 7_000);
        timeout.sample(800);
        assert_eq!(timeout.after(0), 800 + 4 * 400);
        timeout.sample(1_600);
        // The variation uses the smoothed round trip from before the sample.
        assert_eq!(timeout.after(0), 900 + 4 * 500);
    }

    #[test]
    fn each_retransmission_doubles_the_wait_up_to_the_ceiling() {
        let timeout = timeout();
        assert_eq!(timeout.after(3), 56_000);
        assert_eq!(timeout.after(10), 1_000_000);
        assert_eq!(timeout.after(200), 1_000_000);
    }

    #[test]
    fn floor_and_granularity_bound_it_from_below() {
        let config = Config {
            min_rto: 1_000,
            granularity: 300,
            ..Config::default()
        };
        let mut timeout = Timeout::new(&config);
        for _ in 0..100 {
            timeout.sample(100);
        }
        assert_eq!(timeout.after(0), 1_000);
        for _ in 0..200 {
            timeout.sample(2_000);
        }
        assert!(
            (2_250..2_350).contains(&timeout.after(0)),
            "{}",
            timeout.after(0)
        );
    }
}

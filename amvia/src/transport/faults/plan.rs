//! The faults that are made, as people write them.

use std::fmt;
use std::str::FromStr;

use jitterlab_base::seed;
use jitterlab_base::units::{Nanos, Percent};
use thiserror::Error;

/// The faults that a [`Faulty`](super::Faulty) transport makes. Each befalls a frame, or a bit, independently of all others.
///
/// Reads `ber=1e-6,loss=1%,duplicate=0.5%,reorder=1%,delay=2ms,seed=7`. Any part may be left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// The chance that a bit of a frame is flipped, head and payload alike.
    pub bit_error_rate: f64,
    /// The chance that a frame is lost, from 0 to 1.
    pub loss: f64,
    /// The chance that a frame is sent twice, from 0 to 1.
    pub duplicate: f64,
    /// The chance that a frame goes out behind the one after it, or after a millisecond if none comes; from 0 to 1.
    pub reorder: f64,
    /// The time that each frame is held back.
    pub delay: Nanos,
    /// Draws the faults. Each endpoint has a stream of its own.
    pub seed: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Faults {
            bit_error_rate: 0.0,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            delay: Nanos(0),
            seed: seed::DEFAULT,
        }
    }
}

/// A text that says of no faults.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{part}` is not one of {expected}")]
pub struct FaultsError {
    /// The part of the text that cannot be read.
    pub part: String,
    /// The text that would have been accepted.
    pub expected: &'static str,
}

const KNOWN: &str = "ber=RATE (0 to 1), loss=PERCENT, duplicate=PERCENT, reorder=PERCENT, delay=TIME, seed=NUMBER, \
     as in `ber=1e-6,loss=1%`";

impl FromStr for Faults {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<Self, FaultsError> {
        let mut faults = Faults::default();
        for part in text.split(',') {
            let wrong = || FaultsError {
                part: part.into(),
                expected: KNOWN,
            };
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let share = || {
                let share: Percent = value.parse().map_err(|_| wrong())?;
                Ok(share.fraction())
            };
            match key.trim() {
                "ber" => {
                    let rate = value.trim().parse().ok();
                    let rate = rate.filter(|rate| (0.0..=1.0).contains(rate));
                    faults.bit_error_rate = rate.ok_or_else(wrong)?;
                }
                "loss" => faults.loss = share()?,
                "duplicate" => faults.duplicate = share()?,
                "reorder" => faults.reorder = share()?,
                "delay" => faults.delay = value.parse().map_err(|_| wrong())?,
                "seed" => faults.seed = value.trim().parse().map_err(|_| wrong())?,
                _ => return Err(wrong()),
            }
        }
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bit_error_rate > 0.0 {
            write!(f, "ber={:e},", self.bit_error_rate)?;
        }
        for (key, share) in [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
        ] {
            if share > 0.0 {
                write!(f, "{key}={}%,", 100.0 * share)?;
            }
        }
        if self.delay > Nanos(0) {
            write!(f, "delay={},", self.delay)?;
        }
        write!(f, "seed={}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let faults = "ber=1e-6,loss=1%,duplicate=0.5%,reorder=25%,delay=2ms,seed=7";
        let read: Faults = faults.parse().unwrap();
        assert_eq!(read.bit_error_rate, 1e-6);
        assert_eq!((read.loss, read.reorder), (0.01, 0.25));
        assert_eq!((read.delay, read.seed), (Nanos(2_000_000), 7));
        assert_eq!(read.to_string(), faults);
        assert_eq!("seed=1".parse(), Ok(Faults::default()));
    }

    #[test]
    fn what_is_no_fault_is_refused_by_its_name() {
        for (text, part) in [
            ("", ""),
            ("loss", "loss"),
            ("ber=2", "ber=2"),
            ("ber=NaN", "ber=NaN"),
            ("ber=-1e-6", "ber=-1e-6"),
            ("loss=1%,lose=1%", "lose=1%"),
            ("loss=101%", "loss=101%"),
            ("delay=2", "delay=2"),
            ("seed=x", "seed=x"),
        ] {
            let error = text.parse::<Faults>().unwrap_err();
            assert_eq!(error.part, part);
        }
    }
}

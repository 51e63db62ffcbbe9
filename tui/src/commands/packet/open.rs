//! The options of an open loop.

use jitterlab_base::seed;
use jitterlab_base::units::Rate;
use jitterlab_packet::cases::open_loop::{Spacing, Timetable, WINDOW};

use crate::outcome::Failure;

/// The greatest rate: a message each 100 ns.
const MOST: u64 = 10_000_000;

/// When messages are due.
#[derive(clap::Args, Clone)]
pub struct OpenLoop {
    /// rtt: send this many messages a second, such as 20k, without waiting for answers (an open loop). The time of each round trip
    /// starts at the planned send time [default: send each message when the previous answer has come]
    #[arg(long, value_parser = rate)]
    rate: Option<Rate>,
    /// With --rate: the gaps between messages: fixed or exponential [default: fixed]
    #[arg(long, requires = "rate")]
    gaps: Option<Spacing>,
    /// Seed of the exponential gaps [default: 1]
    #[arg(long, requires = "rate")]
    seed: Option<u64>,
}

impl OpenLoop {
    /// True if it is asked for.
    pub fn is_given(&self) -> bool {
        self.rate.is_some()
    }

    /// The timetable that is asked for, if one is; `window` is how many messages may be under way.
    pub fn timetable(&self, window: Option<u32>) -> Result<Option<Timetable>, Failure> {
        let Some(rate) = self.rate else {
            return Ok(None);
        };
        let gaps = self.gaps.unwrap_or_default();
        if self.seed.is_some() && gaps == Spacing::Fixed {
            return Err(Failure::input(
                "--seed is for --gaps exponential: fixed gaps have nothing random",
            ));
        }
        Ok(Some(Timetable {
            rate,
            gaps,
            seed: self.seed.unwrap_or(seed::DEFAULT),
            window: window.unwrap_or(WINDOW),
        }))
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    if rate.0 > MOST {
        return Err(format!("at most {} messages a second", Rate(MOST)));
    }
    Ok(rate)
}

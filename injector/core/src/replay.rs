//! The order in which delays come, and the beginning of a stretch in a recording.

use jitterlab_base::named;
use jitterlab_base::seed;

use crate::recording::Recording;

/// The order in which delays come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Order {
    /// Each is drawn from the table, and knows nothing of the one before it.
    #[default]
    Drawn,
    /// The order as they were recorded: each message has the delay of the recorded message after the last one's.
    ByMessage,
    /// The order as they were recorded: each message has the delay of the recorded message that was sent nearest to it in time, however
    /// fast the program sends.
    ByTime,
}

named!(Order, serde, "an order of delays", Drawn => "drawn", ByMessage => "by-message", ByTime => "by-time");

/// The stretches of a recording that the ranks of a program replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stretch {
    /// All the same: what one rank meets the others meet.
    #[default]
    All,
    /// Each has its own.
    Each,
}

named!(Stretch, serde, "a choice of stretches", All => "all", Each => "each");

/// The place of a thread in a recording that is replayed by message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The stretch that comes after this one.
    stretch: u32,
    /// The next delay.
    next: u32,
    /// The number of delays that are left of this stretch.
    left: u32,
}

impl Place {
    /// Before the first message.
    pub(crate) const START: Place = Place {
        stretch: 0,
        next: 0,
        left: 0,
    };

    /// The delay of the next message, and the place after it. A stretch has as many messages as the recording. It begins
    /// somewhere in it, which follows from `seed` and its number, and goes on at the beginning of the recording after its end.
    #[inline]
    pub(crate) fn next(mut self, recording: &Recording, seed: u64) -> (u32, Place) {
        let delays = recording.delays();
        let n = delays.len() as u32;
        if self.left == 0 {
            self = Place {
                stretch: self.stretch.wrapping_add(1),
                next: start(seed, self.stretch.into(), n.into()) as u32,
                left: n,
            };
        }
        let delay = delays.get(self.next as usize).copied().unwrap_or(0);
        self.next = if self.next + 1 < n { self.next + 1 } else { 0 };
        self.left -= 1;
        (delay, self)
    }
}

/// The delay of a message that is sent `elapsed` nanoseconds after the replay began. A stretch is as long as the recording. It begins
/// somewhere in it, which follows from `seed` and its number, and goes on at the beginning of the recording after its end.
#[inline]
pub(crate) fn at_time(recording: &Recording, elapsed: u64, seed: u64) -> u32 {
    let span = recording.span_ns();
    let time = start(seed, elapsed / span, span) + elapsed % span;
    recording.at(if time < span { time } else { time - span })
}

/// The beginning of a stretch, from 0 up to `length`, each as likely.
fn start(seed: u64, stretch: u64, length: u64) -> u64 {
    let drawn = seed::child(seed, stretch);
    ((u128::from(drawn) * u128::from(length)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_stats::autocorrelation::{self, LAGS};
    use jitterlab_stats::distribution::Distribution;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn recording(n: u32) -> Recording {
        let times = (0..u64::from(n)).map(|i| 10 * i).collect();
        Recording::new(times, (0..n).collect(), 10 * u64::from(n), "").unwrap()
    }

    #[test]
    fn a_stretch_is_the_recording_in_its_order_from_a_place_of_its_own() {
        let recording = recording(1_000);
        let mut place = Place::START;
        let mut stretch = || -> Vec<u32> {
            let mut next = || {
                let (delay, after) = place.next(&recording, 7);
                place = after;
                delay
            };
            (0..1_000).map(|_| next()).collect()
        };
        let (first, second) = (stretch(), stretch());
        assert_ne!(first[0], second[0]);
        for stretch in [first, second] {
            let follows = |pair: &[u32]| pair[1] == (pair[0] + 1) % 1_000;
            assert!(stretch.windows(2).all(follows));
        }
    }

    #[test]
    fn by_time_a_delay_is_there_for_as_long_as_it_was_recorded() {
        let recording = recording(1_000);
        let stretch = |number: u64| -> Vec<u32> {
            let times = (0..1_000).map(|i| number * 10_000 + 10 * i);
            times.map(|time| at_time(&recording, time, 7)).collect()
        };
        assert_ne!(stretch(0)[0], stretch(1)[0]);
        assert!(
            stretch(1)
                .windows(2)
                .all(|pair| pair[1] == (pair[0] + 1) % 1_000)
        );
        // All that is sent while a delay lasts has that same delay.
        let slow = (0..10_000).map(|time| at_time(&recording, time, 7));
        let mut counts = vec![0; 1_000];
        slow.for_each(|delay| counts[delay as usize] += 1);
        assert!(counts.iter().all(|&n| n == 10), "{counts:?}");
    }

    /// Round trips of 20 us in a closed loop for five seconds, the longer for what `delay` says of a message and of when it is sent.
    fn round_trips(mut delay: impl FnMut(u64) -> f64) -> Vec<f64> {
        let (mut now, mut round_trips) = (0.0, Vec::new());
        while now < 5e9 {
            let round_trip = 20_000.0 + delay(now as u64);
            now += round_trip;
            round_trips.push(round_trip);
        }
        round_trips
    }

    /// A load that is there for 50 ms and gone for 150 ms.
    #[test]
    fn replay_keeps_the_bursts_that_draws_lose() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let noise = |random: &mut Xoshiro256PlusPlus| random.random_range(0.0..500.0);
        let burst = Distribution::LogNormal {
            shape: 0.3,
            location: 0.0,
            scale: 10_000.0,
        };
        let background = round_trips(|now| {
            let load = match now % 200_000_000 < 50_000_000 {
                true => burst.quantile(random.random_range(0.0..1.0)),
                false => 0.0,
            };
            load + noise(&mut random)
        });
        let recording = Recording::of_samples(&background, None, 20_250.0, "").unwrap();
        let by_time =
            round_trips(|now| f64::from(at_time(&recording, now, 7)) + noise(&mut random));
        let mut place = Place::START;
        let by_message = round_trips(|_| {
            let (delay, after) = place.next(&recording, 7);
            place = after;
            f64::from(delay) + noise(&mut random)
        });
        let n = recording.delays().len();
        let drawn = round_trips(|_| {
            f64::from(recording.delays()[random.random_range(0..n)]) + noise(&mut random)
        });
        let of = |samples: &[f64]| autocorrelation::of_ranks(samples, &LAGS).unwrap();
        let background = of(&background);
        for replayed in [by_time, by_message] {
            let near = |(ours, theirs): (&f64, &f64)| (ours - theirs).abs() < 0.1;
            let replayed = of(&replayed);
            assert!(
                replayed.iter().zip(&background).all(near),
                "{replayed:?} is not {background:?}"
            );
        }
        for (drawn, background) in of(&drawn).iter().zip(&background) {
            assert!(drawn.abs() < 0.1 && *background > 0.3, "{background}");
        }
    }
}

//! A recording: delays in the order in which they came, and the times at which they did.
//!
//! Its file is binary, because every process of a program loads it: the word `jlabrec` and the version, then, as little-endian
//! integers of 64 bits, the number of delays, the time that they span, and the length of the origin; the origin in UTF-8; the
//! time of each delay since the first, in 64 bits; and each delay, in 32. All times are nanoseconds.

use std::io::Read;
use std::path::{Path, PathBuf};

use jitterlab_base::input::{self, Source};
use jitterlab_base::units::Nanos;
use thiserror::Error;

use crate::generator::TABLE_ENTRIES;
use crate::table::{MAX_DELAY_NS, TableSource};

const MAGIC: [u8; 8] = *b"jlabrec\x01";
/// The most delays of a recording: with their places they take 256 MiB of memory.
const MOST: usize = 1 << 24;
const BACK: &str = "times begin with 0 and never go back";
const MOST_ORIGIN: usize = 1 << 12;
/// The longest time that is spanned, a year.
const LONGEST_NS: u64 = 365 * 86_400 * 1_000_000_000;

/// A recording that cannot be used.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot read recording {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is no recording.
    #[error("{path}: {problem}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
}

/// Delays with their times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    origin: String,
    /// When each came, in nanoseconds since the first, ascending.
    times: Box<[u64]>,
    /// The delays, in nanoseconds.
    delays: Box<[u32]>,
    /// The time from the first to the end of the last, in nanoseconds.
    span: u64,
    /// The last delay that came before each part of that time, or with its beginning. There are as many equal parts as delays.
    parts: Box<[u32]>,
}

impl Recording {
    /// A recording of these delays, each with its time since the first, that spans `span` (all in nanoseconds). `origin` says where they
    /// come from, on one line.
    ///
    /// # Errors
    /// What is wrong with them, for people.
    pub fn new(times: Vec<u64>, delays: Vec<u32>, span: u64, origin: &str) -> Result<Self, String> {
        let n = delays.len();
        if n == 0 || n > MOST {
            return Err(format!(
                "a recording has 1 to {MOST} delays, and this has {n}"
            ));
        }
        if times.len() != n {
            return Err(format!(
                "{n} delays have {} times of sending; both must be equally many",
                times.len()
            ));
        }
        if times[0] != 0 || times.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(BACK.into());
        }
        if span <= times[n - 1] || span > LONGEST_NS {
            return Err(format!(
                "the last of the delays came after {}, and the recording ends after {}",
                Nanos(times[n - 1]),
                Nanos(span)
            ));
        }
        if let Some(delay) = delays.iter().find(|&&delay| delay > MAX_DELAY_NS) {
            return Err(format!(
                "a delay of {} is beyond 1 s",
                Nanos(u64::from(*delay))
            ));
        }
        let mut last = 0;
        let parts = (0..n).map(|part| {
            let begins = (span as u128 * part as u128 / n as u128) as u64;
            while last + 1 < n && times[last + 1] <= begins {
                last += 1;
            }
            last as u32
        });
        Ok(Recording {
            origin: origin.replace(['\n', '\r'], " ").trim().to_string(),
            parts: parts.collect(),
            times: times.into(),
            delays: delays.into(),
            span,
        })
    }

    /// A recording of what samples were longer than `less`, in their order; what was shorter is no delay. Each came at its place of
    /// `times`;
    /// without times each came when the one before it was over, as in a ping-pong. All are nanoseconds.
    ///
    /// # Errors
    /// As those of [`Recording::new`].
    pub fn of_samples(
        samples: &[f64],
        times: Option<&[f64]>,
        less: f64,
        origin: &str,
    ) -> Result<Self, String> {
        let delay = |sample: &f64| (sample - less).round().max(0.0) as u32;
        let delays = samples.iter().map(delay).collect();
        let begins: Vec<f64> = match times {
            Some(times) => times.iter().map(|time| time - times[0]).collect(),
            None => samples
                .iter()
                .scan(0.0, |next, sample| {
                    Some(std::mem::replace(next, *next + sample))
                })
                .collect(),
        };
        if begins.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(BACK.into());
        }
        let last = begins.last().copied().unwrap_or(0.0);
        // The last of the times lasts as long as the others do on average.
        let ends = match times {
            Some(times) => last + last / (times.len() - 1).max(1) as f64,
            None => last + samples.last().copied().unwrap_or(0.0),
        };
        let times = begins.iter().map(|time| time.round() as u64).collect();
        Recording::new(times, delays, (ends.round() as u64).max(1), origin)
    }

    /// Reads the file of a recording, which is a regular one: an injected program waits for nobody.
    ///
    /// # Errors
    /// The file cannot be read, or is no recording.
    pub fn load(path: &Path) -> Result<Self, RecordingError> {
        const MOST_BYTES: u64 = (32 + MOST_ORIGIN + 12 * MOST) as u64;
        let read = |source| RecordingError::Read {
            path: path.into(),
            source,
        };
        let mut bytes = Vec::new();
        let file = input::open(path, Source::File).map_err(read)?;
        file.take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(read)?;
        Recording::from_bytes(&bytes).map_err(|problem| RecordingError::Content {
            path: path.into(),
            problem,
        })
    }

    /// The recording that a file holds.
    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        const NONE: &str = "this is not a recording; `jitterlab dist record` makes one";
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| {
            match bytes.starts_with(&MAGIC[..7]) {
                true => "another version of recordings than this program reads; make it again with `jitterlab dist record`",
                false => NONE,
            }
        })?;
        let (head, rest) = rest.split_at_checked(24).ok_or(NONE)?;
        let word = |i: usize| words(head).nth(i).unwrap_or(0);
        let cut_off = || "the recording is not as long as its beginning says".to_string();
        let n = usize::try_from(word(0)).ok().filter(|&n| n <= MOST);
        let n = n.ok_or_else(cut_off)?;
        let origin = usize::try_from(word(2)).map_err(|_| cut_off())?;
        let (origin, rest) = rest.split_at_checked(origin).ok_or_else(cut_off)?;
        if rest.len() != 12 * n {
            return Err(cut_off());
        }
        let (times, delays) = rest.split_at(8 * n);
        let delays = delays.as_chunks().0.iter();
        Recording::new(
            words(times).collect(),
            delays.map(|&delay| u32::from_le_bytes(delay)).collect(),
            word(1),
            &String::from_utf8_lossy(origin),
        )
    }

    /// The content of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let origin = self.origin.as_bytes();
        let origin = &origin[..origin.len().min(MOST_ORIGIN)];
        let head = [self.delays.len() as u64, self.span, origin.len() as u64];
        let times = self.times.iter();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(head.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(origin);
        bytes.extend(times.flat_map(|time| time.to_le_bytes()));
        bytes.extend(self.delays.iter().flat_map(|delay| delay.to_le_bytes()));
        bytes
    }

    /// The origin of its delays; empty if nobody said.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The delays in nanoseconds, in their order.
    pub fn delays(&self) -> &[u32] {
        &self.delays
    }

    /// The time from the first delay to the end of the last, in nanoseconds.
    pub fn span_ns(&self) -> u64 {
        self.span
    }

    /// The delay that came nearest to `time` (nanoseconds since the first). The last one before it will not do: a message that took long
    /// was the last for as long as it took. A send at any time would meet it the more often the longer it was, each time in its
    /// whole length.
    #[inline]
    pub fn at(&self, time: u64) -> u32 {
        let n = self.delays.len();
        let part = (u128::from(time) * n as u128 / u128::from(self.span)) as usize;
        let mut last = self.parts.get(part).map_or(n - 1, |&last| last as usize);
        while self.times.get(last + 1).is_some_and(|&next| next <= time) {
            last += 1;
        }
        let before = self.times.get(last).copied().unwrap_or(0);
        // After the last comes the first again.
        let after = self.times.get(last + 1).copied().unwrap_or(self.span);
        let nearest = match after.saturating_sub(time) < time.saturating_sub(before) {
            true if last + 1 < n => last + 1,
            true => 0,
            false => last,
        };
        self.delays.get(nearest).copied().unwrap_or(0)
    }

    /// The part that a control page shows: 4,096 of its delays, at even distances, and its origin behind the file's name.
    pub fn shown(&self, path: &Path) -> TableSource {
        let n = self.delays.len();
        TableSource {
            entries: Box::new(std::array::from_fn(|i| self.delays[i * n / TABLE_ENTRIES])),
            origin: format!("{} {}", path.display(), self.origin)
                .trim_end()
                .to_string(),
            times: 1.0,
        }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.as_chunks().0.iter();
    words.map(|&word| u64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back_and_each_time_has_the_nearest_delay(
            gaps in proptest::collection::vec((0u64..1_000_000, 0u32..=MAX_DELAY_NS), 1..300), rest in 1u64..1_000_000, origin in "[a-z ]{0,20}"
        ) {
            let mut times = vec![0];
            times.extend(gaps[1..].iter().scan(0, |at, &(gap, _)| { *at += gap; Some(*at) }));
            let delays: Vec<u32> = gaps.iter().map(|&(_, delay)| delay).collect();
            let span = times[times.len() - 1] + rest;
            let recording = Recording::new(times.clone(), delays.clone(), span, &origin).unwrap();
            prop_assert_eq!(Recording::from_bytes(&recording.to_bytes()), Ok(recording.clone()));
            for time in (0..100).map(|i| span * i / 100).chain(times.iter().copied()).chain([span - 1]) {
                let all: Vec<(u64, u32)> = times.iter().chain([&span]).copied().zip(delays.iter().chain([&delays[0]]).copied()).collect();
                let nearest = all.iter().map(|(other, _)| other.abs_diff(time)).min().unwrap();
                let mut near = all.iter().filter(|(other, _)| other.abs_diff(time) == nearest);
                prop_assert!(near.any(|&(_, delay)| recording.at(time) == delay), "at {}", time);
            }
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let headed = [&MAGIC[..], &bytes].concat();
            prop_assert!(Recording::from_bytes(&bytes).is_err());
            let _ = Recording::from_bytes(&headed);
        }
    }

    #[test]
    fn samples_come_one_after_the_other_or_at_their_times() {
        let samples = [10.0, 25.0, 12.0, 40.0];
        let closed = Recording::of_samples(&samples, None, 12.0, "").unwrap();
        let expected = Recording::new(vec![0, 10, 35, 47], vec![0, 13, 0, 28], 87, "");
        assert_eq!(Ok(closed), expected);
        let times = [5.0, 105.0, 205.0, 305.0];
        let open = Recording::of_samples(&samples, Some(&times), 12.0, "").unwrap();
        let expected = Recording::new(vec![0, 100, 200, 300], vec![0, 13, 0, 28], 400, "");
        assert_eq!(Ok(open), expected);
        let back = [5.0, 4.0, 205.0, 305.0];
        assert!(Recording::of_samples(&samples, Some(&back), 12.0, "").is_err());
        assert!(Recording::of_samples(&samples, Some(&times[..2]), 12.0, "").is_err());
        assert!(Recording::of_samples(&[2e9], None, 12.0, "").is_err());
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let refused = |times: &[u64], delays: &[u32], span| {
            Recording::new(times.into(), delays.into(), span, "").unwrap_err()
        };
        assert!(refused(&[], &[], 1).contains("1 to"));
        assert!(refused(&[0, 1], &[5], 2).contains("2 times"));
        assert!(refused(&[1], &[5], 2).contains("begin with 0"));
        assert!(refused(&[0, 3, 2], &[5, 5, 5], 9).contains("never go back"));
        assert!(refused(&[0, 3], &[5, 5], 3).contains("after 3"));
        assert!(refused(&[0], &[MAX_DELAY_NS + 1], 3).contains("beyond 1 s"));
        let whole = Recording::new(vec![0, 4], vec![1, 2], 9, "here").unwrap();
        let mut bytes = whole.to_bytes();
        bytes.pop();
        let cut_off = Recording::from_bytes(&bytes).unwrap_err();
        assert!(cut_off.contains("not as long"), "{cut_off}");
        bytes[7] = 2;
        let newer = Recording::from_bytes(&bytes).unwrap_err();
        assert!(newer.contains("another version"), "{newer}");
    }
}

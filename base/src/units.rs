//! Units that do not mix by accident: [`Nanos`], [`Bytes`], [`Bandwidth`], [`Count`], [`Rate`] and [`Percent`], read from and
//! written as what people type (`250us`, `64KiB`, `10Gbit`, `20k`, `60%`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::input::shortened;

/// A quantity that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{}` is not {expected}", shortened(text))]
pub struct UnitError {
    /// The text as it was given.
    pub text: String,
    /// The text that would have been accepted, with an example.
    pub expected: &'static str,
}

/// A duration in nanoseconds.
///
/// Reads a number with one of the units `ns`, `us`, `ms`, `s`; the unit is required, because a
/// bare number has been somebody's microseconds and somebody else's seconds.
///
/// ```
/// use jitterlab_base::units::Nanos;
/// assert_eq!("2.5us".parse(), Ok(Nanos(2500)));
/// assert_eq!(Nanos(2500).to_string(), "2.5us");
/// assert!("250".parse::<Nanos>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

const DURATION: &str = "a duration; write a number and one of ns, us, ms, s, min, h, as in `250us`";
const TIME_UNITS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];

impl Nanos {
    /// The same duration in microseconds, the unit that people are shown.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The same duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The same duration as the standard library's type.
    pub fn as_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = |expected| UnitError {
            text: text.into(),
            expected,
        };
        if is_negative(text) {
            return Err(wrong("a duration of 0 or more, as in `250us`"));
        }
        let nanos = parse_scaled(text, &TIME_UNITS, None).ok_or_else(|| wrong(DURATION))?;
        // Less than half a nanosecond is something else than nothing.
        if nanos == 0 && text.contains(|c| matches!(c, '1'..='9')) {
            return Err(wrong("0, or a duration of at least 1ns"));
        }
        Ok(Nanos(nanos))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            0..1_000 => format!("{}ns", self.0),
            1_000..1_000_000 => format!("{}us", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => format!("{}ms", self.0 as f64 / 1e6),
            _ => format!("{}s", self.0 as f64 / 1e9),
        };
        f.pad(&text)
    }
}

/// A size in bytes. Reads `64`, `64B`, `64KiB`, `1MiB`, `2GiB`; in files only with the unit. `K`, `M` and `G` are short for
/// KiB, MiB and GiB, as perftest, the OSU benchmarks and iperf have it; `kB` and the like are refused.
///
/// ```
/// use jitterlab_base::units::Bytes;
/// assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
/// assert_eq!(Bytes(65_536).to_string(), "64KiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

const SIZE: &str =
    "a size; write a number of bytes, or a number and one of B, KiB, MiB, GiB (or K, M, G)";
const SIZE_WITH_UNIT: &str =
    "a size; write a number and one of B, KiB, MiB, GiB (or K, M, G), as in `64KiB`";
const SIZE_UNITS: [(&str, f64); 7] = [
    ("GiB", (1u64 << 30) as f64),
    ("MiB", (1u64 << 20) as f64),
    ("KiB", 1024.0),
    ("B", 1.0),
    ("G", (1u64 << 30) as f64),
    ("M", (1u64 << 20) as f64),
    ("K", 1024.0),
];

impl Bytes {
    fn with_unit(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, &SIZE_UNITS, None)
            .map(Bytes)
            .ok_or_else(|| no_size(text, SIZE_WITH_UNIT))
    }
}

/// The error of a size. `kB` is 1,000 to some and 1,024 to others: the unit that says which is named.
fn no_size(text: &str, otherwise: &'static str) -> UnitError {
    let number_of = |unit: &str| {
        let number = text.trim().to_ascii_lowercase();
        let number = number.strip_suffix(unit).map(str::trim_end);
        number.is_some_and(|number| number.parse::<f64>().is_ok_and(f64::is_finite))
    };
    let expected = if is_negative(text) {
        "a size of 0 or more, as in `64KiB`"
    } else if ["k", "kb", "ki", "kib"].into_iter().any(number_of) {
        "a size; write KiB or K for 1,024 bytes, as in `64KiB`, or the number of bytes, as in `64000B`"
    } else if ["m", "mb", "mi", "mib"].into_iter().any(number_of) {
        "a size; write MiB or M for 1,048,576 bytes, as in `64MiB`, or the number of bytes, as in `64000000B`"
    } else if ["g", "gb", "gi", "gib"].into_iter().any(number_of) {
        "a size; write GiB or G for 1,073,741,824 bytes, as in `2GiB`, or the number of bytes, as in `2000000000B`"
    } else {
        otherwise
    };
    UnitError {
        text: text.into(),
        expected,
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, &SIZE_UNITS, Some(1.0))
            .map(Bytes)
            .ok_or_else(|| no_size(text, SIZE))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = SIZE_UNITS
            .into_iter()
            .find(|&(_, scale)| self.0 > 0 && self.0.is_multiple_of(scale as u64))
            .unwrap_or(("B", 1.0));
        f.pad(&format!("{}{unit}", self.0 / scale as u64))
    }
}

/// A rate in bytes a second. Reads bits, in the powers of 1,000 that links are sold by (`10Gbit`), bytes as they are shown
/// (`118.4MB/s`), and a size (`125MiB`), which is what goes over it in a second; in files only with the unit.
///
/// ```
/// use jitterlab_base::units::Bandwidth;
/// assert_eq!("10Gbit".parse(), Ok(Bandwidth(1_250_000_000)));
/// assert_eq!("1.5 MB/s".parse(), Ok(Bandwidth(1_500_000)));
/// assert_eq!("1MiB".parse(), Ok(Bandwidth(1_048_576)));
/// assert!("10Gbps".parse::<Bandwidth>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bandwidth(pub u64);

const RATE: &str = "a bandwidth; write a number and one of kbit, Mbit, Gbit, or of kB/s, MB/s, GB/s, KiB, MiB, GiB, as in `10Gbit`";
const RATE_UNITS: [(&str, f64); 10] = [
    ("Gbit", 1e9 / 8.0),
    ("Mbit", 1e6 / 8.0),
    ("kbit", 1e3 / 8.0),
    ("GB/s", 1e9),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("GiB", (1u64 << 30) as f64),
    ("MiB", (1u64 << 20) as f64),
    ("KiB", 1024.0),
    ("B", 1.0),
];

impl Bandwidth {
    fn read(text: &str, bare: Option<f64>) -> Result<Self, UnitError> {
        let rate = parse_scaled(text, &RATE_UNITS, bare).map(Bandwidth);
        rate.ok_or_else(|| UnitError {
            text: text.into(),
            expected: RATE,
        })
    }

    fn with_unit(text: &str) -> Result<Self, UnitError> {
        Bandwidth::read(text, None)
    }
}

impl FromStr for Bandwidth {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Bandwidth::read(text, Some(1.0))
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(self.0).fmt(f)
    }
}

/// A count. Reads `10000`, `10k`, `1.5M`: whole numbers.
///
/// ```
/// use jitterlab_base::units::Count;
/// assert_eq!("10k".parse(), Ok(Count(10_000)));
/// assert_eq!(Count(10_000).to_string(), "10k");
/// assert!("0.5".parse::<Count>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(pub u64);

const HOW_MANY: &str =
    "a count; write a whole number, with or without k (1,000) or M (1,000,000), as in `10k`";
const COUNT_SCALES: [(&str, u64); 2] = [("M", 1_000_000), ("k", 1_000)];

impl FromStr for Count {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        whole(text.trim()).map(Count).ok_or_else(|| UnitError {
            text: text.into(),
            expected: HOW_MANY,
        })
    }
}

/// A number that is whole when its k or M is multiplied out.
fn whole(text: &str) -> Option<u64> {
    let scaled = COUNT_SCALES
        .into_iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?.trim_end(), scale)));
    let (number, scale) = scaled.unwrap_or((text, 1));
    let (digits, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_number = [digits, decimals]
        .iter()
        .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    if !is_number || digits.is_empty() || number.ends_with('.') {
        return None;
    }
    let decimals = decimals.trim_end_matches('0');
    let tenths = 10u64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let number = format!("{digits}{decimals}").parse::<u64>().ok()?;
    match scale.checked_rem(tenths)? {
        0 => number.checked_mul(scale / tenths),
        _ => None,
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = COUNT_SCALES
            .into_iter()
            .find(|&(_, scale)| self.0 > 0 && self.0.is_multiple_of(scale))
            .unwrap_or(("", 1));
        f.pad(&format!("{}{unit}", self.0 / scale))
    }
}

/// A rate of messages: so many a second. Reads `20000`, `20k`, `1.5M`.
///
/// ```
/// use jitterlab_base::units::Rate;
/// assert_eq!("20k".parse(), Ok(Rate(20_000)));
/// assert_eq!(Rate(20_000).to_string(), "20k");
/// assert!("20 k/min".parse::<Rate>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

const PER_SECOND: &str =
    "a rate; write how many a second, as a number with or without k or M, as in `20k`";
const RATE_SCALES: [(&str, f64); 2] = [("M", 1e6), ("k", 1e3)];

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let rate = parse_scaled(text, &RATE_SCALES, Some(1.0)).filter(|&rate| rate > 0);
        rate.map(Rate).ok_or_else(|| UnitError {
            text: text.into(),
            expected: PER_SECOND,
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = RATE_SCALES
            .into_iter()
            .find(|&(_, scale)| self.0.is_multiple_of(scale as u64))
            .unwrap_or(("", 1.0));
        f.pad(&format!("{}{unit}", self.0 / scale as u64))
    }
}

/// A share from 0 to 100 %. Reads `60` and `60%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Percent(f64);

const SHARE: &str = "a percentage from 0 to 100, as in `60` or `60%`";

impl Percent {
    /// A percentage; `None` outside 0 to 100.
    pub fn new(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then_some(Percent(percent))
    }

    /// The value, from 0 to 100.
    pub fn value(self) -> f64 {
        self.0
    }

    /// The fraction, from 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Percent {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let number = text.trim().strip_suffix('%').unwrap_or(text.trim());
        number
            .trim_end()
            .parse()
            .ok()
            .and_then(Percent::new)
            .ok_or_else(|| UnitError {
                text: text.into(),
                expected: SHARE,
            })
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", self.0))
    }
}

/// A number with a sign, whatever its unit.
fn is_negative(text: &str) -> bool {
    let unsigned = text.trim().strip_prefix(['-', '\u{2212}']);
    unsigned.is_some_and(|rest| {
        rest.trim_start()
            .starts_with(|c: char| c.is_ascii_digit() || c == '.')
    })
}

/// A non-negative number with one of `units` behind it, in the base unit, rounded.
/// `bare` is the scale of a number without a unit; `None` refuses it.
fn parse_scaled(text: &str, units: &[(&str, f64)], bare: Option<f64>) -> Option<u64> {
    let text = text.trim();
    let (number, scale) = units
        .iter()
        .find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .or(bare.map(|scale| (text, scale)))?;
    let number = number.trim_end();
    // f64's own syntax also knows `inf`, `nan` and exponents, which are no quantities here.
    if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let value = (number.parse::<f64>().ok()? * scale).round();
    (value < u64::MAX as f64).then_some(value as u64)
}

macro_rules! serde_as_text {
    ($($type:ty => $read:path),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor($read))
            }
        }
    )*};
}

serde_as_text!(
    Nanos => Nanos::from_str,
    Bytes => Bytes::with_unit,
    Bandwidth => Bandwidth::with_unit,
    Count => Count::from_str,
    Rate => Rate::from_str,
    Percent => Percent::from_str
);

/// Reads a quantity from a string, or from a bare number where the quantity allows one: YAML
/// gives `minimum_effect: 5` as a number.
struct TextVisitor<T>(fn(&str) -> Result<T, UnitError>);

impl<T> serde::de::Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity with its unit")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        self.0(text).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_read_with_their_unit_and_only_so() {
        for (text, expected) in [
            ("200ns", 200),
            ("50us", 50_000),
            ("50 µs", 50_000),
            ("1.5ms", 1_500_000),
            ("20min", 1_200_000_000_000),
            ("2h", 7_200_000_000_000),
            ("10s", 10_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(expected)), "{text}");
        }
        for text in [
            "",
            "10",
            "us",
            "-1us",
            "1e3us",
            "nan s",
            "infs",
            "10 m",
            "99999999999999s",
        ] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_and_shares_refuse_what_they_are_not() {
        assert_eq!("64".parse(), Ok(Bytes(64)));
        for (text, bytes) in [("64K", 65_536), ("1.5M", 1_572_864), ("2 G", 2 << 30)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["64KB", "64kB", "64k", "K", "64Ki"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        assert!("-1".parse::<Bytes>().is_err());
        assert_eq!("60%".parse(), Ok(Percent(60.0)));
        assert!("101".parse::<Percent>().is_err());
        assert!("nan".parse::<Percent>().is_err());
        for text in ["0", "0.1", "20K", "-1", "k", "20k/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn counts_are_whole() {
        for (text, count) in [
            ("0", 0),
            ("100000", 100_000),
            ("10k", 10_000),
            ("1 M", 1_000_000),
            ("1.5k", 1_500),
            ("0.25M", 250_000),
            ("2.0", 2),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Count(count)), "{text}");
        }
        for text in [
            "",
            "k",
            "1.",
            ".5k",
            "0.5",
            "1.2345k",
            "10K",
            "10m",
            "1e3",
            "-1",
            "+1",
            "1_000",
            "1,000",
            "18446744073709551616",
            "18446744073710M",
        ] {
            let error = text.parse::<Count>().unwrap_err().to_string();
            assert!(error.contains("whole number"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ns in 0u64..1 << 50, bytes in 0u64..1 << 50, rate in 1u64..1 << 40) {
            prop_assert_eq!(Nanos(ns).to_string().parse(), Ok(Nanos(ns)));
            prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
            prop_assert_eq!(Rate(rate).to_string().parse(), Ok(Rate(rate)));
            prop_assert_eq!(Count(ns).to_string().parse(), Ok(Count(ns)));
        }
    }
}

//! Figures as people are shown them: four significant digits, in the unit that suits their magnitude.
//!
//! What is written to be read back goes by the `Display` of [`units`](crate::units), which is exact.

/// An error and its causes, in one line.
///
/// ```
/// let error = std::io::Error::other("the disk is full");
/// assert_eq!(jitterlab_base::show::causes(&error), "the disk is full");
/// ```
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}

/// A number with four significant digits, and all digits of its whole part, the thousands apart; with an exponent below
/// 0.00001 and from 1,000,000,000 on. `-` for what is no number.
///
/// ```
/// use jitterlab_base::show::number;
/// assert_eq!([12.3456, 123456.7, 0.5, -0.0].map(number), ["12.35", "123,457", "0.5", "0"]);
/// ```
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "-".into();
    }
    if value.is_infinite() {
        return value.to_string();
    }
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..9.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let digits = (3.0 - magnitude).clamp(0.0, 8.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        thousands_apart(&text)
    }
}

/// A time in nanoseconds.
///
/// ```
/// use jitterlab_base::show::time;
/// assert_eq!([17.25, 90_000.0, 1.5e6, 2e9].map(time), ["17.25 ns", "90 us", "1.5 ms", "2 s"]);
/// ```
pub fn time(ns: f64) -> String {
    scaled(ns, 1e3, &["ns", "us", "ms", "s"])
}

/// Bytes a second, in the powers of 1,000 that network rates are told in.
///
/// ```
/// assert_eq!(jitterlab_base::show::bandwidth(118.42e6), "118.4 MB/s");
/// ```
pub fn bandwidth(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, 1e3, &["B/s", "kB/s", "MB/s", "GB/s"])
}

/// Bits a second, as links are sold.
///
/// ```
/// assert_eq!(jitterlab_base::show::bit_rate(2.5e9), "2.5 Gbit/s");
/// ```
pub fn bit_rate(bits_per_second: f64) -> String {
    scaled(
        bits_per_second,
        1e3,
        &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"],
    )
}

/// Bytes, in the powers of 1,024 that [`units`](crate::units) reads sizes in.
///
/// ```
/// use jitterlab_base::show::size;
/// assert_eq!([999.0, 65_536.0, 1.5 * f64::from(1 << 30)].map(size), ["999 B", "64 KiB", "1.5 GiB"]);
/// ```
pub fn size(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB"])
}

/// A share, from 0 to 1, in percent.
///
/// ```
/// assert_eq!(jitterlab_base::show::percent(0.000_123), "0.0123 %");
/// ```
pub fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// A share, from 0 to 1, in percent, for a sentence: from 10 % on without a fraction, below with one digit of it.
///
/// ```
/// use jitterlab_base::show::rounded_percent;
/// assert_eq!([0.031, 0.97, 102.93].map(rounded_percent), ["3.1 %", "97 %", "10,293 %"]);
/// ```
pub fn rounded_percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.abs() < 9.95 {
        // Adding 0 takes the sign off a zero.
        format!("{:.1} %", (10.0 * percent).round() / 10.0 + 0.0)
    } else {
        format!("{} %", thousands_apart(&format!("{percent:.0}")))
    }
}

/// A change by a share, with its sign, as [`rounded_percent`] has it.
///
/// ```
/// use jitterlab_base::show::change;
/// assert_eq!([0.12, -0.031, 0.0001].map(change), ["+12 %", "-3.1 %", "0.0 %"]);
/// ```
pub fn change(share: f64) -> String {
    let plus = if share >= 0.0005 { "+" } else { "" };
    format!("{plus}{}", rounded_percent(share))
}

/// Below this a p value is rounding.
const LEAST_P: f64 = 1e-300;

/// A p value in a column of them. That of a small one tells, too, where several tests are corrected together.
///
/// ```
/// use jitterlab_base::show::p_value;
/// assert_eq!([0.0342, 7.21e-6, 0.0].map(p_value), ["0.034", "7.2e-6", "< 1e-300"]);
/// ```
pub fn p_value(p: f64) -> String {
    match p {
        p if p < LEAST_P => format!("< {LEAST_P:e}"),
        p if p < 0.001 => format!("{p:.1e}"),
        p if p.is_nan() => "unknown".into(),
        p => format!("{p:.3}"),
    }
}

/// A p value in a sentence.
///
/// ```
/// use jitterlab_base::show::p_is;
/// assert_eq!([0.0342, 0.0, f64::NAN].map(p_is), ["p = 0.034", "p < 1e-300", "p unknown"]);
/// ```
pub fn p_is(p: f64) -> String {
    let equals = if p >= LEAST_P { "= " } else { "" };
    format!("p {equals}{}", p_value(p))
}

/// A value and the ends of its interval, as they are shown.
///
/// ```
/// use jitterlab_base::show::{time, with_interval};
/// assert_eq!(with_interval([12e3, 11e3, 14e3].map(time)), "12 us (11 us to 14 us)");
/// ```
pub fn with_interval([value, low, high]: [String; 3]) -> String {
    format!("{value} ({low} to {high})")
}

/// A change with its interval: with as few digits as [`change`] has, and one more where the ends of the interval would read
/// the same.
///
/// ```
/// use jitterlab_base::show::change_within;
/// assert_eq!(change_within([0.3, 0.2, 0.4]), "+30 % (+20 % to +40 %)");
/// assert_eq!(change_within([0.129, 0.126, 0.134]), "+12.9 % (+12.6 % to +13.4 %)");
/// ```
pub fn change_within(shares: [f64; 3]) -> String {
    let [value, low, high] = shares.map(change);
    match low == high {
        true => with_interval(shares.map(|share| format!("{:+.1} %", 100.0 * share))),
        false => with_interval([value, low, high]),
    }
}

/// A whole number with its thousands apart.
///
/// ```
/// assert_eq!(jitterlab_base::show::count(1_234_567), "1,234,567");
/// ```
pub fn count(n: u64) -> String {
    thousands_apart(&n.to_string())
}

/// A count in few characters.
///
/// ```
/// use jitterlab_base::show::short_count;
/// assert_eq!([999.0, 12_000.0, 1.5e6].map(short_count), ["999", "12k", "1.5M"]);
/// ```
pub fn short_count(n: f64) -> String {
    scaled(n, 1e3, &["", "k", "M", "G"]).replace(' ', "")
}

/// A number of things, whose plural has an s.
///
/// ```
/// use jitterlab_base::show::counted;
/// assert_eq!([1, 2_000].map(|n| counted(n, "run")), ["1 run", "2,000 runs"]);
/// ```
pub fn counted(n: usize, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(n as u64))
}

/// A name that others have given, on a terminal of ours: whatever would act on the terminal, or
/// make a line of its own, is escaped.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

/// The digits of a whole number, which may have a sign, with its thousands apart.
fn thousands_apart(number: &str) -> String {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number),
    };
    let mut text = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The value in the largest unit that it shows at least one of. The units are `step` apart.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    // 999.96 is shown as 1,000 of a unit, so it is 1 of the next.
    while unit + 1 < units.len() && value.abs() >= step * (1.0 - 0.5e-4) {
        (value, unit) = (value / step, unit + 1);
    }
    // Less than can be told of the least unit is nothing.
    if unit == 0 && value.abs() < 0.5e-3 {
        value = 0.0;
    }
    format!("{} {}", number(value), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in [
            (1e-30, "1.000e-30"),
            (0.00012357, "0.0001236"),
            (1.0, "1"),
            (-1234.5, "-1,234"),
            (12_345.6, "12,346"),
            (99.996, "100"),
            (2.5e12, "2.500e12"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn the_unit_follows_the_magnitude() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (-0.0001, "0 ns"),
            (0.35, "0.35 ns"),
            (999.94, "999.9 ns"),
            (999.96, "1 us"),
            (-12_345.6, "-12.35 us"),
            (999_999.0, "1 ms"),
            (59.9e9, "59.9 s"),
            (7200e9, "7,200 s"),
            (-123_456.0e9, "-123,456 s"),
            (f64::NAN, "- ns"),
        ] {
            assert_eq!(time(ns), text);
        }
        assert_eq!(bandwidth(1.25e9), "1.25 GB/s");
        assert_eq!([0, 999, 1000].map(count), ["0", "999", "1,000"]);
        assert_eq!(bit_rate(100e6), "100 Mbit/s");
    }

    #[test]
    fn a_change_has_its_sign_where_it_is_shown() {
        for (share, text) in [
            (0.0, "0.0 %"),
            (-0.0001, "0.0 %"),
            (-0.0006, "-0.1 %"),
            (0.0994, "+9.9 %"),
            (0.0996, "+10 %"),
            (-0.5, "-50 %"),
            (2469.13, "+246,913 %"),
        ] {
            assert_eq!(change(share), text, "{share}");
        }
    }
}

//! Numbers and findings in words. Every limit that decides between two words is stated here, and
//! the report prints [`LIMITS`].

use jitterlab_base::show;

/// The level of significance of every test in the report.
pub const ALPHA: f64 = 0.05;

/// The limits, as the report states them.
pub const LIMITS: &str = "An effect is called negligible below a rank-biserial correlation of 0.1, \
    small below 0.3, medium below 0.5, and large from there on (Cohen 1988, section 3.2). An \
    emulation is called close if the effect is negligible, the Wasserstein-1 distance is at most \
    10 % of the background's mean RTT, and neither standard deviation is more than 1.25 times the \
    other; fair if the effect is at most small, the distance at most 25 % and that factor at most \
    1.5; and poor otherwise. Of distributions with heavy tails, standard deviations of tens of \
    thousands of samples differ by a tenth or two by chance alone, and those of neighbours among \
    the five shapes by a quarter or more.";

/// A number with four significant digits, without an exponent where people do without.
pub fn short(value: f64) -> String {
    if value.is_nan() {
        "–".into()
    } else if value.is_infinite() {
        if value > 0.0 { "∞" } else { "−∞" }.into()
    } else {
        minus(show::number(value))
    }
}

/// A time in nanoseconds, in the unit of its size: `12.5 µs`.
pub fn time(ns: f64) -> String {
    match ns.is_finite() {
        true => minus(show::time(ns)).replace("us", "µs"),
        false => short(ns),
    }
}

/// A coefficient of correlation: `−0.18`.
pub fn coefficient(r: f64) -> String {
    minus(format!("{r:.2}"))
}

/// A number with the minus sign of print, and none before 0: `-1.5` as `−1.5`, `-0.00` as `0.00`.
pub fn minus(number: String) -> String {
    let is_zero = !number.contains(|digit| ('1'..='9').contains(&digit));
    number.replace('-', if is_zero { "" } else { "−" })
}

/// The unit in which people read a time of so many seconds, after how many of it there are in a second.
pub fn unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        s if s >= 1.0 || s == 0.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    }
}

/// A p value in a sentence.
pub fn p(p: f64) -> String {
    minus(show::p_is(p))
}

/// The quality of an emulation, after [`LIMITS`]; `distance` in proportion to the background's
/// mean, and the standard deviation to the background's.
pub fn emulation(rank_biserial: f64, distance: f64, std_ratio: f64) -> &'static str {
    match (
        rank_biserial.abs(),
        distance,
        std_ratio.max(1.0 / std_ratio),
    ) {
        (r, d, f) if r < 0.1 && d <= 0.10 && f <= 1.25 => "close",
        (r, d, f) if r < 0.3 && d <= 0.25 && f <= 1.5 => "fair",
        _ => "poor",
    }
}

/// A factor on a time, as a change: `12 % longer`, `3 % shorter`, `no different`.
pub fn change(ratio: f64) -> String {
    in_words(ratio, "no different", ["longer", "shorter"])
}

/// A factor on a time, as how much time it takes: `12 % more`, `3.1 % less`, `as much`.
pub fn more_or_less(ratio: f64) -> String {
    in_words(ratio, "as much", ["more", "less"])
}

fn in_words(ratio: f64, none: &str, [more, less]: [&str; 2]) -> String {
    let change = show::change(ratio - 1.0);
    match (change.strip_prefix('+'), change.strip_prefix('-')) {
        (Some(change), _) => format!("{change} {more}"),
        (_, Some(change)) => format!("{change} {less}"),
        _ => none.into(),
    }
}

/// The words around those of [`more_or_less`].
pub fn conjunction(ratio: f64) -> &'static str {
    match more_or_less(ratio).as_str() {
        "as much" => "as",
        _ => "than",
    }
}

/// A factor as a signed percentage: `+12 %`, `−3.1 %`.
pub fn signed_percent(ratio: f64) -> String {
    minus(show::change(ratio - 1.0))
}

/// A share as a percentage: `97 %`, `3.1 %`.
pub fn percent_of(share: f64) -> String {
    minus(show::rounded_percent(share))
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A paragraph in lines that a terminal holds, all but the first indented.
pub fn wrapped(text: &str) -> String {
    const WIDTH: usize = 100;
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            out.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
    out
}

/// The words for what cannot be said from so many runs, since no interval could be given: `cannot be said from 2 runs: they
/// differ too much`.
pub fn not_said(runs: usize, noun: &str) -> String {
    match runs {
        0 | 1 => "cannot be said without repeated runs".into(),
        _ => format!(
            "cannot be said from {}: they differ too much",
            show::counted(runs, noun)
        ),
    }
}

/// A transport in a sentence, by its name in a file.
pub fn transport(name: &str) -> String {
    match name {
        "udp" | "tcp" => name.to_uppercase(),
        "shm" => "shared memory".into(),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use jitterlab_stats::mann_whitney::size_of_effect;

    use super::*;

    #[test]
    fn words_change_at_their_limits_and_nowhere_else() {
        for (r, word) in [
            (0.0, "negligible"),
            (0.0999, "negligible"),
            (-0.1, "small"),
            (0.2999, "small"),
            (0.3, "medium"),
            (-0.4999, "medium"),
            (0.5, "large"),
            (-1.0, "large"),
        ] {
            assert_eq!(size_of_effect(r), word, "{r}");
        }
        for (r, d, std, word) in [
            (0.05, 0.10, 1.0, "close"),
            (0.05, 0.10, 0.8, "close"),
            (0.05, 0.10, 1.25, "close"),
            (0.05, 0.101, 1.0, "fair"),
            (0.1, 0.05, 1.0, "fair"),
            (-0.2999, 0.25, 1.0, "fair"),
            (0.05, 0.10, 1.26, "fair"),
            (0.05, 0.10, 0.79, "fair"),
            (0.05, 0.26, 1.0, "poor"),
            (0.3, 0.0, 1.0, "poor"),
            (0.05, 0.10, 1.58, "poor"),
            (0.05, 0.10, 0.0, "poor"),
            (0.05, 0.10, f64::NAN, "poor"),
        ] {
            assert_eq!(emulation(r, d, std), word, "{r} {d} {std}");
        }
        for (ratio, word) in [
            (1.0004, "no different"),
            (1.0006, "0.1 % longer"),
            (0.9994, "0.1 % shorter"),
            (1.0994, "9.9 % longer"),
            (1.0996, "10 % longer"),
            (3.5, "250 % longer"),
        ] {
            assert_eq!(change(ratio), word, "{ratio}");
        }
        for (ratio, words) in [
            (0.964, "3.6 % less than"),
            (1.5, "50 % more than"),
            (1.0001, "as much as"),
        ] {
            let said = format!("{} {}", more_or_less(ratio), conjunction(ratio));
            assert_eq!(said, words, "{ratio}");
        }
    }

    #[test]
    fn numbers_are_printed_as_people_read_them() {
        for (value, text) in [
            (0.0, "0"),
            (12.3456, "12.35"),
            (123_456.0, "123,456"),
            (0.000_123_45, "0.0001234"),
            (-1.5, "−1.5"),
            (1e-30, "1.000e−30"),
            (f64::INFINITY, "∞"),
            (100.0, "100"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(
            [1e7, -12_345.6, 0.0, f64::NAN].map(time),
            ["10 ms", "−12.35 µs", "0 ns", "–"]
        );
        assert_eq!(
            [-0.184, -0.001, 0.9].map(coefficient),
            ["−0.18", "0.00", "0.90"]
        );
        assert_eq!(p(0.0009), "p = 9.0e−4");
        assert_eq!(p(0.049_96), "p = 0.050");
        assert_eq!(signed_percent(103.93), "+10,293 %");
        assert_eq!(signed_percent(0.969), "−3.1 %");
        assert_eq!(signed_percent(1.0001), "0.0 %");
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(not_said(1, "run"), "cannot be said without repeated runs");
        assert_eq!(
            not_said(2, "pair"),
            "cannot be said from 2 pairs: they differ too much"
        );
        assert_eq!(wrapped("a b"), "a b\n");
        let long = wrapped(&"word ".repeat(40));
        assert!(
            long.lines().all(|line| line.chars().count() <= 100),
            "{long}"
        );
        assert_eq!(long.split_whitespace().count(), 40);
    }
}

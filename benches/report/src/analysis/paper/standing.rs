//! Whether a finding holds: comparisons of figures with intervals, and how they are told.

use std::cmp::Ordering;

use jitterlab_base::named;
use serde::Serialize;

use crate::analysis::slowdown::{Slowdown, correct};
use crate::table::Estimate;
use crate::words;

/// What became of a finding of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is so here.
    Holds,
    /// It is the other way round here.
    DoesNotHold,
    /// Neither can be shown with these runs.
    Undecided,
}

named!(Standing, Holds => "holds", DoesNotHold => "does not hold", Undecided => "undecided");

/// What counts as one mean: emulations are exact to a few percent at best.
const ALIKE: f64 = 0.10;
/// Whether the first is less or more than the second, if that can be said.
fn order(first: Estimate, second: Estimate) -> Option<Ordering> {
    let ((low, high), (other_low, other_high)) = (first.interval()?, second.interval()?);
    if high < other_low {
        Some(Ordering::Less)
    } else if low > other_high {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// The standing of a claim that two figures stand in an order.
pub fn ordered(first: Estimate, second: Estimate, claimed: Ordering) -> Standing {
    match order(first, second) {
        Some(found) if found == claimed => Standing::Holds,
        Some(_) => Standing::DoesNotHold,
        None => Standing::Undecided,
    }
}

/// The standing of a claim that two figures are one. That they were not seen to differ is not enough: what they may
/// differ by, with the errors of both, has to be little.
pub fn alike(first: Estimate, second: Estimate) -> Standing {
    let reach = |of: Estimate| {
        let (low, high) = of.interval()?;
        (low > 0.0).then(|| (high / low).ln() / 2.0)
    };
    let Some((reach, other)) = reach(first).zip(reach(second)) else {
        return Standing::Undecided;
    };
    // Without `hypot`, which would need a newer glibc than RHEL 9 has.
    let (ratio, both) = (
        first.value / second.value,
        (reach * reach + other * other).sqrt(),
    );
    let factor = both.exp();
    let (low, high) = (ratio / factor, ratio * factor);
    if low >= 1.0 - ALIKE && high <= 1.0 + ALIKE {
        Standing::Holds
    } else if low > 1.0 + ALIKE || high < 1.0 - ALIKE {
        Standing::DoesNotHold
    } else {
        Standing::Undecided
    }
}

/// The standing of a claim that a figure is at most so much: its whole interval is.
pub fn at_most(figure: Estimate, limit: f64) -> Standing {
    match figure.interval() {
        Some((_, high)) if high <= limit => Standing::Holds,
        Some((low, _)) if low > limit => Standing::DoesNotHold,
        _ => Standing::Undecided,
    }
}

/// The standing of a claim that a figure is above so much: its whole interval is.
pub fn above(figure: Estimate, limit: f64) -> Standing {
    match at_most(figure, limit) {
        Standing::Holds => Standing::DoesNotHold,
        Standing::DoesNotHold => Standing::Holds,
        Standing::Undecided => Standing::Undecided,
    }
}

/// The standing of a claim of which all parts have to hold.
pub fn all(parts: impl IntoIterator<Item = Standing>) -> Standing {
    use Standing::{DoesNotHold, Holds, Undecided};
    parts
        .into_iter()
        .reduce(|first, second| match (first, second) {
            (Holds, Holds) => Holds,
            (DoesNotHold, _) | (_, DoesNotHold) => DoesNotHold,
            _ => Undecided,
        })
        .unwrap_or(Undecided)
}

/// The standing of a claim that a ratio is above 1.
pub fn above_one(ratio: f64, p: Option<f64>) -> Standing {
    match p {
        Some(p) if p < words::ALPHA && ratio > 1.0 => Standing::Holds,
        Some(p) if p < words::ALPHA => Standing::DoesNotHold,
        _ => Standing::Undecided,
    }
}

/// `12.5 µs [11 to 14]`.
pub fn time(ns: Estimate) -> String {
    match ns.time() {
        (value, Some(interval)) => format!("{value} [{interval}]"),
        (value, None) => value,
    }
}

/// `+12 % [+10 % to +14 %]`.
pub fn change(ratio: Estimate) -> String {
    let value = words::signed_percent(ratio.value);
    match ratio.interval() {
        Some((low, high)) => {
            let (low, high) = (words::signed_percent(low), words::signed_percent(high));
            format!("{value} [{low} to {high}]")
        }
        None => value,
    }
}

/// `; +12 % [+10 % to +14 %], p < 0.001`, with what it takes where nothing is shown. One that was not corrected is read alone.
pub fn compared(mut slowdown: Slowdown) -> String {
    if slowdown.holm_p.is_none() {
        correct([&mut slowdown].into_iter());
    }
    let p = slowdown.p_in_words();
    let p = p.map(|p| format!(", {p}")).unwrap_or_default();
    format!(
        "; {}{p}{}",
        change(slowdown.ratio),
        slowdown
            .more_in_words()
            .map_or(String::new(), |more| format!("; {more}"))
    )
}

#[cfg(test)]
mod tests {
    use super::Standing::{DoesNotHold, Holds, Undecided};
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn not_to_be_seen_to_differ_is_not_to_be_one() {
        let narrow = |value: f64| estimate(value, value / 1.01, value * 1.01);
        let wide = |value: f64| estimate(value, value / 2.0, value * 2.0);
        for (first, second, standing) in [
            (narrow(10.0), narrow(10.5), Holds),
            (narrow(10.0), narrow(13.0), DoesNotHold),
            (narrow(10.0), narrow(11.0), Undecided),
            (wide(10.0), wide(10.0), Undecided),
            (Estimate::alone(10.0), narrow(10.0), Undecided),
        ] {
            assert_eq!(alike(first, second), standing, "{first:?} {second:?}");
        }
        assert_eq!(at_most(estimate(1.0, 0.9, 1.04), 1.05), Holds);
        assert_eq!(at_most(estimate(1.2, 1.1, 1.3), 1.05), DoesNotHold);
        assert_eq!(at_most(estimate(1.0, 0.8, 1.2), 1.05), Undecided);
        assert_eq!(above(estimate(0.9, 0.8, 0.95), 0.7), Holds);
        assert_eq!(above(Estimate::alone(0.9), 0.7), Undecided);
        assert_eq!(all([Holds, Holds, Undecided]), Undecided);
        assert_eq!(all([Holds, DoesNotHold, Undecided]), DoesNotHold);
        assert_eq!(all([]), Undecided);
    }
}

//! Whether a finding holds: comparisons of figures with intervals, and how they are told.

use std::cmp::Ordering;

use serde::Serialize;

use crate::analysis::applications::Slowdown;
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

impl Standing {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Holds => "holds",
            Standing::DoesNotHold => "does not hold",
            Standing::Undecided => "undecided",
        }
    }
}

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

/// The standing of a claim that two figures are one.
pub fn alike(first: Estimate, second: Estimate) -> Standing {
    if (first.value / second.value - 1.0).abs() <= ALIKE {
        Standing::Holds
    } else if order(first, second).is_some() {
        Standing::DoesNotHold
    } else {
        Standing::Undecided
    }
}

/// The standing of a claim of which both parts have to hold.
pub fn both(first: Standing, second: Standing) -> Standing {
    use Standing::{DoesNotHold, Holds, Undecided};
    match (first, second) {
        (Holds, Holds) => Holds,
        (DoesNotHold, _) | (_, DoesNotHold) => DoesNotHold,
        _ => Undecided,
    }
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
pub fn us(ns: Estimate) -> String {
    let value = format!("{} µs", words::short(ns.value / 1e3));
    match ns.interval() {
        Some((low, high)) => {
            let (low, high) = (words::short(low / 1e3), words::short(high / 1e3));
            format!("{value} [{low} to {high}]")
        }
        None => value,
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

/// `; +12 % [+10 % to +14 %], p < 0.001`.
pub fn compared(slowdown: Slowdown) -> String {
    let p = slowdown.holm_p.or(slowdown.p);
    let p = p.map(|p| format!(", {}", words::p(p))).unwrap_or_default();
    format!("; {}{p}", change(slowdown.ratio))
}

//! Whether a finding holds: comparisons of figures with intervals, and how they are told.

use std::cmp::Ordering;

use jitterlab_base::{named, show};
use serde::Serialize;

use crate::analysis::slowdown::{Slowdown, correct};
use crate::table::Estimate;
use crate::words;

/// The standing of a finding of the paper.
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

/// The distance that counts as one mean: emulations are exact to a few percent at best.
const ALIKE: f64 = 0.10;

/// The judgement of a claim about figures with intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The standing of the claim.
    pub standing: Standing,
    /// The number of times as many runs that an undecided one takes, if figures stay what they are; none where that is not known.
    pub times: Option<f64>,
}

impl From<Standing> for Judged {
    fn from(standing: Standing) -> Self {
        Judged {
            standing,
            times: None,
        }
    }
}

impl Judged {
    /// An undecided claim: intervals reach so far towards what decides it, which is at such a distance. They shrink with the root of the
    /// number of runs.
    fn undecided(reach: f64, distance: f64) -> Self {
        Judged {
            standing: Standing::Undecided,
            times: Some((reach / distance).powi(2)),
        }
    }

    /// The runs that it takes, to follow the evidence: `; about 3 times as many runs would tell, if figures stay what they are`.
    pub fn takes(&self) -> String {
        match self.times {
            None => String::new(),
            Some(times) if times <= MOST_TIMES => format!(
                "; about {} times as many runs would tell, if figures stay what they are",
                show::count(times.ceil().max(2.0) as u64)
            ),
            Some(_) => "; too near for any number of runs".into(),
        }
    }
}

/// More than so many times as many runs are not told.
const MOST_TIMES: f64 = 1_000.0;

/// Whether a claim holds that two figures stand in an order.
pub fn ordered(first: Estimate, second: Estimate, claimed: Ordering) -> Judged {
    let Some(((low, high), (other_low, other_high))) = first.found().zip(second.found()) else {
        return Standing::Undecided.into();
    };
    let found = if high < other_low {
        Ordering::Less
    } else if low > other_high {
        Ordering::Greater
    } else {
        let distance = (second.value - first.value).abs();
        return Judged::undecided(
            match first.value < second.value {
                true => (high - first.value) + (second.value - other_low),
                false => (first.value - low) + (other_high - second.value),
            },
            distance,
        );
    };
    match found == claimed {
        true => Standing::Holds.into(),
        false => Standing::DoesNotHold.into(),
    }
}

/// Whether a claim holds that two figures are one. That they were not seen to differ is not enough: what they may
/// differ by, with the errors of both, has to be little.
pub fn alike(first: Estimate, second: Estimate) -> Judged {
    let reach = |of: Estimate| {
        let (low, high) = of.found()?;
        (low > 0.0).then(|| (high / low).ln() / 2.0)
    };
    let Some((reach, other)) = reach(first).zip(reach(second)) else {
        return Standing::Undecided.into();
    };
    // Without `hypot`, which would need a newer glibc than RHEL 9 has.
    let (ratio, both) = (
        first.value / second.value,
        (reach * reach + other * other).sqrt(),
    );
    let factor = both.exp();
    let (low, high) = (ratio / factor, ratio * factor);
    if low >= 1.0 - ALIKE && high <= 1.0 + ALIKE {
        Standing::Holds.into()
    } else if low > 1.0 + ALIKE || high < 1.0 - ALIKE {
        Standing::DoesNotHold.into()
    } else {
        let to = |limit: f64| (ratio / limit).ln().abs();
        Judged::undecided(both, to(1.0 + ALIKE).min(to(1.0 - ALIKE)))
    }
}

/// Whether a claim holds that a figure is at most so much: its whole interval is.
pub fn at_most(figure: Estimate, limit: f64) -> Judged {
    match figure.found() {
        Some((_, high)) if high <= limit => Standing::Holds.into(),
        Some((low, _)) if low > limit => Standing::DoesNotHold.into(),
        Some((low, high)) => Judged::undecided(
            match figure.value <= limit {
                true => high - figure.value,
                false => figure.value - low,
            },
            (figure.value - limit).abs(),
        ),
        None => Standing::Undecided.into(),
    }
}

/// Whether a claim holds that a figure is above so much: its whole interval is.
pub fn above(figure: Estimate, limit: f64) -> Judged {
    let judged = at_most(figure, limit);
    Judged {
        standing: match judged.standing {
            Standing::Holds => Standing::DoesNotHold,
            Standing::DoesNotHold => Standing::Holds,
            Standing::Undecided => Standing::Undecided,
        },
        ..judged
    }
}

/// Judges a claim that needs all of its parts. It takes as many runs as the part that takes most.
pub fn all(parts: impl IntoIterator<Item = impl Into<Judged>>) -> Judged {
    use Standing::{DoesNotHold, Holds, Undecided};
    let parts = parts.into_iter().map(Into::into);
    let both = |first: Judged, second: Judged| match (first.standing, second.standing) {
        (DoesNotHold, _) | (_, DoesNotHold) => DoesNotHold.into(),
        (Holds, _) => second,
        (_, Holds) => first,
        (Undecided, Undecided) => Judged {
            standing: Undecided,
            times: first.times.zip(second.times).map(|(a, b)| a.max(b)),
        },
    };
    parts.reduce(both).unwrap_or(Undecided.into())
}

/// Judges a claim that needs most of its parts. Where neither most hold nor most do not, it takes as many runs as the part that takes
/// most.
pub fn most(parts: &[Judged]) -> Judged {
    let is_most = |standing| {
        let count = parts
            .iter()
            .filter(|part| part.standing == standing)
            .count();
        2 * count > parts.len()
    };
    if is_most(Standing::Holds) {
        return Standing::Holds.into();
    }
    if is_most(Standing::DoesNotHold) {
        return Standing::DoesNotHold.into();
    }
    let undecided = parts
        .iter()
        .filter(|part| part.standing == Standing::Undecided);
    Judged {
        standing: Standing::Undecided,
        times: undecided
            .map(|part| part.times)
            .reduce(|a, b| Some(a?.max(b?)))
            .flatten(),
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

/// `; +12 % (+10 % to +14 %), p = 0.012`, with what it takes where nothing is shown. One that was not corrected is read alone.
pub fn compared(mut slowdown: Slowdown) -> String {
    if slowdown.holm_p.is_none() {
        correct([&mut slowdown].into_iter());
    }
    let p = slowdown.p_in_words();
    let p = p.map(|p| format!(", {p}")).unwrap_or_default();
    format!(
        "; {}{p}{}",
        slowdown.ratio.in_percent(),
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
        Estimate::within(value, (low, high))
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
            assert_eq!(
                alike(first, second).standing,
                standing,
                "{first:?} {second:?}"
            );
        }
        assert_eq!(at_most(estimate(1.0, 0.9, 1.04), 1.05).standing, Holds);
        assert_eq!(at_most(estimate(1.2, 1.1, 1.3), 1.05).standing, DoesNotHold);
        assert_eq!(at_most(estimate(1.0, 0.8, 1.2), 1.05).standing, Undecided);
        assert_eq!(above(estimate(0.9, 0.8, 0.95), 0.7).standing, Holds);
        assert_eq!(above(Estimate::alone(0.9), 0.7).standing, Undecided);
        assert_eq!(all([Holds, Holds, Undecided]).standing, Undecided);
        assert_eq!(all([Holds, DoesNotHold, Undecided]).standing, DoesNotHold);
        assert_eq!(all([Standing::Undecided; 0]).standing, Undecided);
        let parts = |standings: &[Standing]| -> Vec<Judged> {
            standings.iter().map(|&standing| standing.into()).collect()
        };
        assert_eq!(most(&parts(&[Holds, Undecided, Holds])).standing, Holds);
        let no = parts(&[DoesNotHold, DoesNotHold, Holds]);
        assert_eq!(most(&no).standing, DoesNotHold);
        assert_eq!(most(&parts(&[DoesNotHold, Holds])).standing, Undecided);
        // An interval that is too wide to be drawn decides all the same.
        let wide = estimate(40.0, 3.0, 500.0).positive();
        assert_eq!(wide.interval(), None);
        assert_eq!(at_most(wide, 1.05).standing, DoesNotHold);
        assert_eq!(at_most(wide.inverse(), 1.05).standing, Holds);
        let below = estimate(6.0, -2.0, 14.0).positive();
        assert_eq!(ordered(below, narrow(20.0), Ordering::Less).standing, Holds);
        // Intervals a third as wide, and half as wide, decide them.
        let [three, two] =
            [0.3, 0.2].map(|reach| at_most(estimate(1.0, 1.0 - reach, 1.0 + reach), 1.1));
        let undecided = most(&[Holds.into(), two, three]);
        assert_eq!(undecided.times.map(f64::round), Some(9.0));
        assert_eq!(most(&[Standing::Undecided.into(), two]).times, None);
    }
    #[test]
    fn an_undecided_claim_says_how_many_times_as_many_runs_it_takes() {
        let of = |value: f64, reach: f64| estimate(value, value - reach, value + reach);
        // Intervals half as wide do not overlap any more.
        let apart = ordered(of(10.0, 2.0), of(12.0, 2.0), Ordering::Less);
        assert_eq!(apart.times, Some(4.0));
        assert_eq!(
            apart.takes(),
            "; about 4 times as many runs would tell, if figures stay what they are"
        );
        assert_eq!(
            ordered(of(10.0, 1.0), of(20.0, 1.0), Ordering::Less).takes(),
            ""
        );
        let near = ordered(of(10.0, 2.0), of(10.0, 2.0), Ordering::Less);
        assert_eq!(near.takes(), "; too near for any number of runs");
        assert_eq!(at_most(of(1.0, 0.3), 1.1).times.map(f64::round), Some(9.0));
        assert_eq!(above(of(1.2, 0.3), 1.1).times.map(f64::round), Some(9.0));
        let wide = alike(estimate(10.0, 5.0, 20.0), estimate(10.0, 5.0, 20.0));
        assert!((wide.times.unwrap() - 105.8).abs() < 0.1, "{wide:?}");
        // The part that takes most, and only where all parts say what they take.
        assert_eq!(all([apart, near]).times, near.times);
        assert_eq!(all([apart, Undecided.into()]).times, None);
        assert_eq!(all([apart, Holds.into()]), apart);
    }
}

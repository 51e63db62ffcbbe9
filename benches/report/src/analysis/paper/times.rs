//! Findings on packets and on operations of MPI: figures 2 to 10.

use std::cmp::Ordering;

use jitterlab_experiment::level::{Level, Member};

use super::Finding;
use super::standing::{Standing, above_one, alike, both, compared, ordered, us};
use crate::analysis::Analysis;
use crate::analysis::latency::Latency;
use crate::analysis::library::at_highest;
use crate::table::Estimate;
use crate::words;

/// The round trips over the first link without load.
fn unloaded_row(analysis: &Analysis) -> Option<&Latency> {
    let mut rows = analysis.latency.iter();
    rows.find(|row| row.level == Level::None)
}

/// Figures 2 and 3.
pub fn load(analysis: &Analysis) -> Option<Finding> {
    let none = unloaded_row(analysis)?;
    let loaded = analysis
        .latency
        .iter()
        .filter(|row| row.link == none.link && matches!(row.level, Level::Load { .. }));
    let highest = loaded.max_by_key(|row| row.level)?;
    let rises = |figure: fn(&Latency) -> Estimate| {
        ordered(figure(highest), figure(none), Ordering::Greater)
    };
    Some(Finding {
        place: "figures 2 and 3",
        claim: "background load raises mean and standard deviation of a round trip".into(),
        standing: both(rises(|row| row.mean_ns), rises(|row| row.std_ns)),
        evidence: format!(
            "{}: mean {} without load and {} at {}, standard deviation {} and {}; n = {} and {} runs",
            none.link,
            us(none.mean_ns),
            us(highest.mean_ns),
            highest.level,
            us(none.std_ns),
            us(highest.std_ns),
            none.runs,
            highest.runs
        ),
    })
}

/// Figure 4.
pub fn unloaded(analysis: &Analysis) -> Option<Finding> {
    let none = unloaded_row(analysis)?;
    Some(Finding {
        place: "figure 4",
        claim: "without load the distribution of round trips is skewed to the right".into(),
        standing: if none.skew > 0.0 {
            Standing::Holds
        } else {
            Standing::DoesNotHold
        },
        evidence: format!(
            "{}: skewness {}, mean {}, median {}; n = {} round trips",
            none.link,
            words::short(none.skew),
            us(none.mean_ns),
            us(none.median_ns),
            words::count(none.n as u64)
        ),
    })
}

/// Mean, median and number of runs of one shape at the highest mean.
type Centre = (Estimate, Estimate, usize);

/// Figures 5 and 6.
pub fn packets(analysis: &Analysis) -> Vec<Finding> {
    // Delays were fitted over one transport, and there they are to be alike.
    let fitted = analysis.tables.first().map(|table| table.transport);
    let of_link = |row: &&Latency| Some(row.link.transport) == fitted;
    let at = |wanted: Member| -> Option<(u8, Centre)> {
        let rows = analysis.latency.iter().filter(of_link);
        let injected = rows.filter_map(|row| match row.level {
            Level::Injected { percent, shape } if shape == wanted => Some((percent, row)),
            _ => None,
        });
        let (percent, row) = injected.max_by_key(|(percent, _)| *percent)?;
        Some((percent, (row.mean_ns, row.median_ns, row.runs)))
    };
    let (Some((percent, constant)), Some((_, varied))) =
        (at(Member::Uniform), at(Member::Lognormal))
    else {
        return Vec::new();
    };
    centres(
        "packets",
        percent,
        constant,
        varied,
        ["figure 5", "figure 6"],
    )
}

/// Figures 7 and 8.
pub fn ping_pong(analysis: &Analysis) -> Vec<Finding> {
    let Some((percent, constant, varied)) = operation(analysis, "ping-pong") else {
        return Vec::new();
    };
    centres(
        "MPI ping-pong",
        percent,
        constant,
        varied,
        ["figure 7", "figure 8"],
    )
}

fn operation(analysis: &Analysis, case: &str) -> Option<(u8, Centre, Centre)> {
    let constant = at_highest(&analysis.library, case, Member::Uniform)?;
    let varied = at_highest(&analysis.library, case, Member::Lognormal)?;
    let (percent, _) = constant.injected()?;
    Some((
        percent,
        (constant.mean_ns, constant.median_ns, constant.runs),
        (varied.mean_ns, varied.median_ns, varied.runs),
    ))
}

/// One mean, and a lower median under the lognormal.
fn centres(
    what: &str,
    percent: u8,
    constant: Centre,
    varied: Centre,
    places: [&'static str; 2],
) -> Vec<Finding> {
    let evidence = |figure: &str, constant_ns, varied_ns| {
        format!(
            "{figure} {} with constant and {} with lognormal delays of load {percent} %; n = {} and {} runs",
            us(constant_ns),
            us(varied_ns),
            constant.2,
            varied.2
        )
    };
    vec![
        Finding {
            place: places[0],
            claim: format!("constant and lognormal delays made for one load give {what} one mean"),
            standing: alike(varied.0, constant.0),
            evidence: evidence("mean", constant.0, varied.0),
        },
        Finding {
            place: places[1],
            claim: format!(
                "the median of {what} is lower under lognormal than under constant delays"
            ),
            standing: ordered(varied.1, constant.1, Ordering::Less),
            evidence: evidence("median", constant.1, varied.1),
        },
    ]
}

/// Figures 9 and 10.
pub fn barrier(analysis: &Analysis) -> Vec<Finding> {
    let row = at_highest(&analysis.library, "barrier", Member::Lognormal);
    let (Some((percent, constant, varied)), Some(ratio)) = (
        operation(analysis, "barrier"),
        row.and_then(|row| row.to_constant),
    ) else {
        return Vec::new();
    };
    let mut findings = centres(
        "barriers",
        percent,
        constant,
        varied,
        ["figure 9", "figure 10"],
    );
    // A barrier waits for the slowest: here the paper finds that means part.
    findings[0].claim =
        "a barrier takes longer on the mean under lognormal than under constant delays".into();
    findings[0].standing = above_one(ratio.ratio.value, ratio.holm_p);
    findings[0].evidence.push_str(&compared(ratio));
    findings
}

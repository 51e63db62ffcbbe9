//! Which of the paper's findings hold here (latency-variation, sections 5 to 7): each as a question
//! with two answers, asked of the tables.
//!
//! Two figures differ if their 95 % intervals do not overlap, which is a stricter test than a
//! comparison of the two; ratios of runs have their own test. What is neither shown nor refuted is
//! undecided.

use std::cmp::Ordering;

use jitterlab_experiment::level::{Level, Member};
use jitterlab_stats::repeated;
use serde::Serialize;

use super::Analysis;
use super::applications::{FixedMean, Group, Slowdown, names};
use super::condition::CONFIDENCE;
use super::correlation::Verdict;
use super::latency::Latency;
use super::library::at_highest;
use crate::table::{Column, Estimate, Row, Value, column};
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

/// A finding of the paper, asked of this experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Where it stands in the paper: `figure 9`.
    pub place: &'static str,
    /// What the paper found.
    pub claim: String,
    /// Whether it is so here.
    pub standing: Standing,
    /// By which figures.
    pub evidence: String,
}

/// What counts as one mean: emulations are exact to a few percent at best.
const ALIKE: f64 = 0.10;
/// A slowdown below this is a limited one, as the paper calls that at its lower mean.
const LIMITED: f64 = 1.05;

/// Every finding that this experiment can be asked about, in the order of the paper.
pub fn findings(analysis: &Analysis) -> Vec<Finding> {
    let of_packets = [load(analysis), unloaded(analysis)];
    let mut findings: Vec<Finding> = of_packets.into_iter().flatten().collect();
    findings.extend(packets(analysis));
    findings.extend(ping_pong(analysis));
    findings.extend(barrier(analysis));
    findings.extend(most_slowed(analysis));
    findings.extend(applications(analysis));
    findings
}

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
fn ordered(first: Estimate, second: Estimate, claimed: Ordering) -> Standing {
    match order(first, second) {
        Some(found) if found == claimed => Standing::Holds,
        Some(_) => Standing::DoesNotHold,
        None => Standing::Undecided,
    }
}

/// The standing of a claim that two figures are one.
fn alike(first: Estimate, second: Estimate) -> Standing {
    if (first.value / second.value - 1.0).abs() <= ALIKE {
        Standing::Holds
    } else if order(first, second).is_some() {
        Standing::DoesNotHold
    } else {
        Standing::Undecided
    }
}

/// The standing of a claim of which both parts have to hold.
fn both(first: Standing, second: Standing) -> Standing {
    use Standing::{DoesNotHold, Holds, Undecided};
    match (first, second) {
        (Holds, Holds) => Holds,
        (DoesNotHold, _) | (_, DoesNotHold) => DoesNotHold,
        _ => Undecided,
    }
}

/// The standing of a claim that a ratio is above 1.
fn above_one(ratio: f64, p: Option<f64>) -> Standing {
    match p {
        Some(p) if p < words::ALPHA && ratio > 1.0 => Standing::Holds,
        Some(p) if p < words::ALPHA => Standing::DoesNotHold,
        _ => Standing::Undecided,
    }
}

/// `12.5 µs [11 to 14]`.
fn us(ns: Estimate) -> String {
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
fn change(ratio: Estimate) -> String {
    let value = words::signed_percent(ratio.value);
    match ratio.interval() {
        Some((low, high)) => {
            let (low, high) = (words::signed_percent(low), words::signed_percent(high));
            format!("{value} [{low} to {high}]")
        }
        None => value,
    }
}

/// Figures 2 and 3.
fn load(analysis: &Analysis) -> Option<Finding> {
    let percent = |row: &Latency| match row.level {
        Level::Load { percent } => Some(percent),
        _ => None,
    };
    let highest = analysis.latency.iter().filter(|row| percent(row).is_some());
    let highest = highest.max_by_key(|row| (percent(row), std::cmp::Reverse(&row.link.case)))?;
    let none = analysis.latency.iter();
    let none = none
        .clone()
        .find(|row| row.link == highest.link && row.level == Level::None)?;
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
fn unloaded(analysis: &Analysis) -> Option<Finding> {
    let none = analysis
        .latency
        .iter()
        .find(|row| row.level == Level::None)?;
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
fn packets(analysis: &Analysis) -> Vec<Finding> {
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
fn ping_pong(analysis: &Analysis) -> Vec<Finding> {
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
fn barrier(analysis: &Analysis) -> Vec<Finding> {
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

/// `; +12 % [+10 % to +14 %], p < 0.001`.
fn compared(slowdown: Slowdown) -> String {
    let p = slowdown.holm_p.or(slowdown.p);
    let p = p.map(|p| format!(", {}", words::p(p))).unwrap_or_default();
    format!("; {}{p}", change(slowdown.ratio))
}

/// Figures 11 and 12: LU against the rest.
fn most_slowed(analysis: &Analysis) -> Vec<Finding> {
    let kernel = |name: &str| {
        analysis
            .groups
            .iter()
            .find(|group| group.kernel.as_deref() == Some(name))
    };
    let Some(lu) = kernel("lu").map(|group| group.application.as_str()) else {
        return Vec::new();
    };
    let others = names(&analysis.groups)
        .into_iter()
        .filter(|&name| name != lu);
    // Of the others the one that is slowed most: if LU is slowed more than it, it is slowed most.
    let next = others.max_by(|a, b| {
        let slowdown =
            |name: &str| ratio_at_highest(analysis, name, Member::Uniform).unwrap_or(0.0);
        slowdown(a).total_cmp(&slowdown(b))
    });
    let of_constant = next.and_then(|next| {
        let claim = format!("constant delays slow {lu} most, here compared with {next}");
        more(analysis, lu, next, Member::Uniform, "figure 11", claim)
    });
    let ep = kernel("ep").map(|group| group.application.as_str());
    let of_varied = ep.and_then(|ep| {
        let claim = format!("under the same lognormal delays {lu} slows down more than {ep}");
        more(analysis, lu, ep, Member::Lognormal, "figure 12", claim)
    });
    of_constant.into_iter().chain(of_varied).collect()
}

/// The runs of an application without injection, and at the highest mean with a shape.
fn at_ends<'a>(
    analysis: &'a Analysis,
    name: &str,
    shape: Member,
) -> Option<(&'a Group, &'a Group)> {
    let groups = || {
        analysis
            .groups
            .iter()
            .filter(|group| group.application == name)
    };
    let none = groups().find(|group| group.level == Level::None)?;
    let injected = groups()
        .filter(|group| matches!(group.level, Level::Injected { shape: of, .. } if of == shape));
    Some((none, injected.max_by_key(|group| group.level)?))
}

fn ratio_at_highest(analysis: &Analysis, name: &str, shape: Member) -> Option<f64> {
    let (none, injected) = at_ends(analysis, name, shape)?;
    Some(Slowdown::of(&injected.runtimes, &none.runtimes).ratio.value)
}

/// Whether one application is slowed more than another by a shape at the highest mean.
fn more(
    analysis: &Analysis,
    name: &str,
    other: &str,
    shape: Member,
    place: &'static str,
    claim: String,
) -> Option<Finding> {
    let ((none, injected), (other_none, other_injected)) = (
        at_ends(analysis, name, shape)?,
        at_ends(analysis, other, shape)?,
    );
    let ratio = repeated::ratio_of_products(
        &[&injected.runtimes, &other_none.runtimes],
        &[&none.runtimes, &other_injected.runtimes],
        CONFIDENCE,
    );
    let standing = ratio.as_ref().map_or(Standing::Undecided, |found| {
        above_one(found.ratio.estimate, Some(found.p))
    });
    let one = |none: &Group, injected: &Group| {
        format!(
            "{} {} (n = {} and {} runs{})",
            none.application,
            change(Slowdown::of(&injected.runtimes, &none.runtimes).ratio),
            none.runtimes.len(),
            injected.runtimes.len(),
            delayed(analysis, injected)
        )
    };
    let together = ratio.map_or(String::new(), |found| {
        format!(
            "; one slowdown over the other {}, {}",
            change(found.ratio.into()),
            words::p(found.p)
        )
    });
    Some(Finding {
        place,
        claim,
        standing,
        evidence: format!(
            "at {}: {} and {}{together}",
            injected.level,
            one(none, injected),
            one(other_none, other_injected)
        ),
    })
}

/// How often a run was delayed, which is most of why it is slowed: `; 1,200 delays of 8 µs`.
fn delayed(analysis: &Analysis, group: &Group) -> String {
    let rows = analysis.injector.iter();
    let row = rows
        .clone()
        .find(|row| row.subject == group.application && row.level == group.level);
    let Some(row) = row.filter(|row| row.runs > 0) else {
        return String::new();
    };
    format!(
        "; {} delays a run of {} µs on the mean",
        words::count(row.delayed / row.runs as u64),
        words::short(row.asked_mean_ns / 1e3)
    )
}

/// Figure 12, table 4, and figures 15 and 16: each application for itself. The paper says nothing of
/// that for EP, which hardly communicates.
fn applications(analysis: &Analysis) -> Vec<Finding> {
    let is_ep = |name: &str| {
        let mut groups = analysis.groups.iter();
        groups.any(|group| group.application == name && group.kernel.as_deref() == Some("ep"))
    };
    let asked: Vec<&str> = names(&analysis.groups)
        .into_iter()
        .filter(|name| !is_ep(name))
        .collect();
    let varied = asked.iter().filter_map(|name| longer(analysis, name));
    let correlated = analysis.correlations.iter().filter(|row| !is_ep(&row.application)).map(|row| Finding {
        place: "table 4",
        claim: format!(
            "the runtime of {} is more highly correlated with the standard deviation of the delays than \
             with their mean",
            row.application
        ),
        standing: match row.verdict() {
            Verdict::Variation => Standing::Holds,
            Verdict::Mean => Standing::DoesNotHold,
            Verdict::Undecided | Verdict::Untested => Standing::Undecided,
        },
        evidence: format!(
            "r = {:.2} [{:.2} to {:.2}] with the mean and {:.2} [{:.2} to {:.2}] with the standard deviation; \
             n = {} runs{}",
            row.mean.r.estimate,
            row.mean.r.low,
            row.mean.r.high,
            row.std.r.estimate,
            row.std.r.low,
            row.std.r.high,
            row.mean.n,
            row.steiger_holm_p.map(|p| format!(", {}", words::p(p))).unwrap_or_default()
        ),
    });
    let means = asked
        .iter()
        .filter_map(|name| only_at_high_means(analysis, name));
    varied.chain(correlated).chain(means).collect()
}

/// The lognormal against constant delays at each mean, in the order of means.
fn lognormal<'a>(analysis: &'a Analysis, name: &str) -> Vec<&'a FixedMean> {
    let rows = analysis.fixed_mean.iter();
    rows.filter(|row| row.application == name && row.shape == Member::Lognormal)
        .collect()
}

/// Figure 12 against figure 11.
fn longer(analysis: &Analysis, name: &str) -> Option<Finding> {
    let row = lognormal(analysis, name).pop()?;
    Some(Finding {
        place: "figures 11 and 12",
        claim: format!(
            "{name} runs longer under lognormal than under constant delays of the same mean"
        ),
        standing: above_one(row.slowdown.ratio.value, row.slowdown.holm_p),
        evidence: format!(
            "at the mean of load {} %{}; n = {} and {} runs",
            row.percent,
            compared(row.slowdown),
            row.runs.0,
            row.runs.1
        ),
    })
}

/// Figures 15 and 16.
fn only_at_high_means(analysis: &Analysis, name: &str) -> Option<Finding> {
    let rows = lognormal(analysis, name);
    let [low, .., high] = rows[..] else {
        return None;
    };
    let limited = match (
        low.slowdown.is_significant(),
        low.slowdown.ratio.value < LIMITED,
    ) {
        (false, _) | (true, true) => Standing::Holds,
        (true, false) => Standing::DoesNotHold,
    };
    Some(Finding {
        place: "figures 15 and 16",
        claim: format!("variation slows {name} at a high mean, and hardly at a low one"),
        standing: both(
            limited,
            above_one(high.slowdown.ratio.value, high.slowdown.holm_p),
        ),
        evidence: format!(
            "lognormal against constant delays at the mean of load {} %{}; at that of load {} %{}; n = {} \
             and {} runs",
            low.percent,
            compared(low.slowdown),
            high.percent,
            compared(high.slowdown),
            high.runs.0,
            high.runs.1
        ),
    })
}

impl Row for Finding {
    const ID: &'static str = "paper";
    const TITLE: &'static str = "The paper's findings, asked of this experiment";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column(
                "place",
                "In the paper",
                "figure or table of the paper",
                |row: &Finding| Value::Text(row.place.into()),
            ),
            column(
                "finding",
                "Finding",
                "what the paper found",
                |row: &Finding| Value::Text(row.claim.clone()),
            ),
            column(
                "here",
                "Here",
                "holds, does not hold, or undecided",
                |row: &Finding| Value::Text(row.standing.name().into()),
            ),
            column(
                "evidence",
                "By",
                "the figures, with 95 % intervals in brackets",
                |row: &Finding| Value::Text(row.evidence.clone()),
            ),
        ]
    }
}

/// A paragraph: how many findings hold, which do not, and which cannot be decided.
pub fn in_words(findings: &[Finding]) -> Vec<String> {
    let of = |standing: Standing| -> Vec<&Finding> {
        findings
            .iter()
            .filter(|finding| finding.standing == standing)
            .collect()
    };
    let places = |findings: &[&Finding]| -> Vec<String> {
        findings
            .iter()
            .map(|f| format!("{} ({}: {})", f.claim, f.place, f.evidence))
            .collect()
    };
    let (holds, does_not, undecided) = (
        of(Standing::Holds),
        of(Standing::DoesNotHold),
        of(Standing::Undecided),
    );
    if findings.is_empty() {
        return Vec::new();
    }
    let mut paragraph = vec![format!(
        "Of {} of the paper that this experiment asks about, {} hold here, {} not, and {} cannot be \
         decided with these runs.",
        words::counted(findings.len(), "finding"),
        holds.len(),
        match does_not.len() {
            1 => "1 does".into(),
            n => format!("{n} do"),
        },
        undecided.len()
    )];
    if !holds.is_empty() {
        let claims: Vec<String> = holds
            .iter()
            .map(|f| format!("{} ({})", f.claim, f.place))
            .collect();
        paragraph.push(format!("It holds that {}.", claims.join("; that ")));
    }
    if !does_not.is_empty() {
        paragraph.push(format!(
            "It does not hold that {}.",
            places(&does_not).join("; that ")
        ));
    }
    if !undecided.is_empty() {
        paragraph.push(format!(
            "Whether the following hold cannot be decided: that {}.",
            places(&undecided).join("; that ")
        ));
    }
    vec![paragraph.join(" ")]
}

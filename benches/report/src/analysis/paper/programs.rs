//! Findings on applications: figures 11 to 16, and table 4.

use jitterlab_experiment::level::{Level, Member};
use jitterlab_stats::repeated;

use super::Finding;
use super::standing::{Standing, above_one, both, change, compared};
use crate::analysis::Analysis;
use crate::analysis::applications::{FixedMean, Group, Slowdown, names};
use crate::analysis::condition::CONFIDENCE;
use crate::analysis::correlation::Verdict;
use crate::words;

/// A slowdown below this is a limited one, as the paper calls that at its lower mean.
const LIMITED: f64 = 1.05;

/// Figures 11 and 12: LU against the rest.
pub fn most_slowed(analysis: &Analysis) -> Vec<Finding> {
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
    let mut rows = analysis.injector.iter();
    let Some(row) = rows.find(|row| row.subject == group.application && row.level == group.level)
    else {
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
pub fn applications(analysis: &Analysis) -> Vec<Finding> {
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

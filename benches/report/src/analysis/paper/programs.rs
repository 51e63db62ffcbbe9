//! Findings on applications: figures 11 to 16, and table 4.

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, Member};
use jitterlab_stats::correlation::Pearson;

use super::Finding;
use super::slowed::{Slowed, of_kernel, shown};
use super::standing::{Judged, Standing, above, above_one, all, at_most, compared, most};
use crate::analysis::application::correlation::{Correlation, Verdict};
use crate::analysis::application::groups::names;
use crate::analysis::application::runtimes::FixedMean;
use crate::analysis::results::Results;
use crate::analysis::slowdown::{Slowdown, correct};
use crate::words;

/// A slowdown below this is a limited one, as the paper calls that at its lower mean.
const LIMITED: f64 = 1.05;
/// The correlation that the paper takes for evidence of a linear relation (section 7, after Kendall).
const LINEAR: f64 = 0.7;

/// Every finding on applications but those that stand for themselves. The paper says nothing of correlations of EP, which
/// hardly communicates.
pub fn findings(results: &Results) -> Vec<Finding> {
    let (lu, ep) = (of_kernel(results, "lu"), of_kernel(results, "ep"));
    let asked = || {
        names(&results.suites.application.groups)
            .into_iter()
            .filter(move |&name| Some(name) != ep)
    };
    let mut findings = Vec::new();
    if let Some(lu) = lu {
        findings.extend(most_slowed(results, lu, Member::Uniform, "figure 11"));
        findings.extend(most_slowed(
            results,
            lu,
            results.suites.packet.imitation(),
            "figure 12",
        ));
        findings.extend(others_unaffected(results, lu));
    }
    findings.extend(ep.and_then(|ep| hardly_slowed(results, ep)));
    // LU is asked alone, as the experiment was made for it.
    let others = asked().filter(|&name| Some(name) != lu);
    findings.extend(others.filter_map(|name| longer(results, name)));
    let correlations: Vec<&Correlation> = results
        .suites
        .application
        .correlations
        .iter()
        .filter(|row| Some(row.application.as_str()) != ep)
        .collect();
    findings.extend(linear("figure 13", "mean", &correlations, |row| row.mean));
    findings.extend(linear(
        "figure 14",
        "standard deviation",
        &correlations,
        |row| row.std,
    ));
    findings.extend(correlations.iter().map(|row| more_correlated(row)));
    findings.extend(asked().filter_map(|name| only_at_high_means(results, name)));
    findings
}

/// Figures 11 and 12: LU against the rest.
fn most_slowed(results: &Results, lu: &str, shape: Member, place: &'static str) -> Option<Finding> {
    let of_lu = Slowed::at_highest(results, lu, shape)?;
    // One that is slowed no less by chance is among many: corrected over all of them.
    let mut others: Vec<(Slowed, Slowdown)> = names(&results.suites.application.groups)
        .into_iter()
        .filter(|&name| name != lu)
        .filter_map(|name| {
            let slowed = Slowed::at(results, name, of_lu.injected.level)?;
            Some((slowed, of_lu.more_than(&slowed)?))
        })
        .collect();
    correct(others.iter_mut().map(|(_, found)| found));
    let standings = others
        .iter()
        .map(|(_, found)| above_one(found.ratio.value, found.holm_p));
    let standing = all(standings);
    let (next, found) = others
        .iter()
        .min_by(|(_, a), (_, b)| a.ratio.value.total_cmp(&b.ratio.value))?;
    Some(Finding::new(
        place,
        format!(
            "{} delays slow {lu} most",
            if shape == Member::Uniform {
                "constant"
            } else {
                "varied"
            },
        ),
        standing,
        format!(
            "at {}: {} and, the most slowed of {}, {}{}",
            results.suites.packet.level_called(of_lu.injected.level),
            of_lu.told(),
            show::counted(others.len(), "other"),
            next.told(),
            compared(*found)
        ),
    ))
}

/// Figure 11: most programs but LU.
fn others_unaffected(results: &Results, lu: &str) -> Option<Finding> {
    let level = Slowed::at_highest(results, lu, Member::Uniform)?
        .injected
        .level;
    let others: Vec<(Slowed, Judged)> = names(&results.suites.application.groups)
        .into_iter()
        .filter(|&name| name != lu)
        .filter_map(|name| {
            let slowed = Slowed::at(results, name, level)?;
            Some((slowed, at_most(slowed.slowdown()?.ratio, LIMITED)))
        })
        .collect();
    others.first()?;
    let told: Vec<String> = others.iter().map(|(slowed, _)| slowed.told()).collect();
    let judged: Vec<Judged> = others.iter().map(|(_, judged)| *judged).collect();
    Some(Finding::new(
        "figure 11",
        format!("constant delays hardly slow most programs other than {lu}"),
        most(&judged),
        format!(
            "at {}: {}",
            results.suites.packet.level_called(level),
            words::list(&told)
        ),
    ))
}

/// The abstract: who does not communicate is not slowed.
fn hardly_slowed(results: &Results, ep: &str) -> Option<Finding> {
    let slowed = Slowed::at_highest(results, ep, results.suites.packet.imitation())?;
    let limit = words::percent_of(LIMITED - 1.0);
    Some(Finding::new(
        "abstract",
        format!("varied delays slow {ep}, which hardly communicates, by less than {limit}"),
        at_most(slowed.slowdown()?.ratio, LIMITED),
        format!(
            "at {}: {}",
            results.suites.packet.level_called(slowed.injected.level),
            slowed.told()
        ),
    ))
}

/// Figures 13 and 14: whether runtimes lie on a line.
fn linear(
    place: &'static str,
    moment: &str,
    rows: &[&Correlation],
    of: fn(&Correlation) -> Pearson,
) -> Option<Finding> {
    rows.first()?;
    let standings = rows.iter().map(|row| above(of(row).r.into(), LINEAR));
    let told: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "{} {}, n = {}",
                row.application,
                r(of(row)),
                show::counted(of(row).n, "run")
            )
        })
        .collect();
    Some(Finding::new(
        place,
        format!(
            "the runtime of every program rises linearly with the {moment} of the delays (r above {LINEAR})"
        ),
        all(standings),
        format!("r of {}", told.join("; ")),
    ))
}

/// `0.89 (0.81 to 0.94)`.
fn r(of: Pearson) -> String {
    show::with_interval([of.r.estimate, of.r.low, of.r.high].map(words::coefficient))
}

/// Table 4.
fn more_correlated(row: &Correlation) -> Finding {
    Finding::new(
        "table 4",
        format!(
            "the runtime of {} is more highly correlated with the standard deviation of the delays than \
             with their mean",
            row.application
        ),
        match row.verdict() {
            Verdict::Variation => Standing::Holds,
            Verdict::Mean => Standing::DoesNotHold,
            Verdict::Undecided | Verdict::Untested => Standing::Undecided,
        },
        format!(
            "r = {} with the mean and {} with the standard deviation; n = {}{}",
            r(row.mean),
            r(row.std),
            show::counted(row.mean.n, "run"),
            row.steiger_holm_p
                .map(|p| format!(", {}", words::p(p)))
                .unwrap_or_default()
        ),
    )
}

/// Varied against constant delays at each mean, in the order of means.
fn varied<'a>(results: &'a Results, name: &str) -> Vec<&'a FixedMean> {
    let rows = results.suites.application.fixed_mean.iter();
    let imitates = |level: Level| matches!(level, Level::Injected { shape, .. } if shape == results.suites.packet.imitation());
    rows.filter(|row| row.application == name && imitates(row.level))
        .collect()
}

/// Figure 12 against figure 11.
fn longer(results: &Results, name: &str) -> Option<Finding> {
    let row = varied(results, name).pop()?;
    let percent = row.level.percent()?;
    let at = |shape: Member| Slowed::at(results, name, Level::Injected { percent, shape });
    let shows = at(results.suites.packet.imitation())
        .zip(at(Member::Uniform))
        .and_then(|(varied, constant)| shown(&varied, &constant));
    Some(Finding::new(
        "figures 11 and 12",
        format!("{name} runs longer under varied than under constant delays of the same mean"),
        above_one(row.slowdown.ratio.value, row.slowdown.holm_p),
        format!(
            "at the mean of {}{}; n = {} of runs{}",
            results.suites.packet.load_called(percent),
            compared(row.slowdown),
            show::counted(row.slowdown.blocks, "pair"),
            shows.map(|shows| format!("; {shows}")).unwrap_or_default()
        ),
    ))
}

/// Figures 15 and 16.
fn only_at_high_means(results: &Results, name: &str) -> Option<Finding> {
    let rows = varied(results, name);
    let [low, .., high] = rows[..] else {
        return None;
    };
    let load = |row: &FixedMean| {
        let percent = row.level.percent();
        percent.map(|percent| results.suites.packet.load_called(percent))
    };
    Some(Finding::new(
        "figures 15 and 16",
        format!("variation slows {name} at a high mean, and hardly at a low one"),
        all([
            at_most(low.slowdown.ratio, LIMITED),
            above_one(high.slowdown.ratio.value, high.slowdown.holm_p).into(),
        ]),
        format!(
            "varied against constant delays at the mean of {}{}; at that of {}{}; n = {} and {} of \
             runs",
            load(low)?,
            compared(low.slowdown),
            load(high)?,
            compared(high.slowdown),
            show::counted(low.slowdown.blocks, "pair"),
            show::counted(high.slowdown.blocks, "pair")
        ),
    ))
}

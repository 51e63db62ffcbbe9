//! Findings on what latencies and runtimes are like: sections 3.2, 5.3 and 6.

use jitterlab_base::show;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::holm;
use jitterlab_stats::positive::Positive;

use super::Finding;
use super::standing::{Standing, all, at_most};
use crate::analysis::normality::{Figures, Normality, figures_named};
use crate::analysis::packet::emulation::Emulation;
use crate::analysis::packet::fits::{Alternative, unfitted};
use crate::analysis::results::Results;
use crate::words;

/// The greatest distance of the mean under injected delays from that under load at which they are called the same.
const CLOSE: f64 = 0.10;

/// Every finding on distributions.
pub fn findings(results: &Results) -> Vec<Finding> {
    let found = [
        emulated(results),
        best_fit(results),
        normal(results, Figures::are_samples),
        normal(results, |figures| !figures.are_samples()),
    ];
    found.into_iter().flatten().collect()
}

/// Section 3.2: the mean under delays that imitate a load against that under the load, over the link that was fitted.
fn emulated(results: &Results) -> Option<Finding> {
    let rows: Vec<&Emulation> = results
        .suites
        .packet
        .emulation
        .iter()
        .filter(|row| row.shape == results.suites.packet.imitation())
        .filter(|row| row.fitted_over.as_ref() == Some(&row.link) && row.mean_ratio.is_some())
        .collect();
    rows.first()?;
    let told: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            Some(format!(
                "{} at {}",
                row.mean_ratio?.in_percent(),
                results.suites.packet.load_called(row.percent)
            ))
        })
        .collect();
    // Both ends: that it is neither more nor less by much.
    let standings = rows.iter().filter_map(|row| {
        let ratio = row.mean_ratio?;
        let inverse = ratio.inverse();
        Some(all([
            at_most(ratio, 1.0 + CLOSE),
            at_most(inverse, 1.0 / (1.0 - CLOSE)),
        ]))
    });
    Some(Finding::new(
        "section 3.2",
        "the mean with delays that imitate a load is close to that under the load",
        all(standings),
        format!(
            "mean round trip against that under load: {}",
            words::list(&told)
        ),
    ))
}

/// Section 5.3: which family describes the excess under load.
fn best_fit(results: &Results) -> Option<Finding> {
    let is_lognormal = |fit: &&Alternative| {
        matches!(
            fit.distribution,
            Distribution::LogNormal { .. }
                | Distribution::WithZeros {
                    rest: Positive::LogNormal { .. },
                    ..
                }
        )
    };
    let closest: Vec<&Alternative> = results
        .suites
        .packet
        .fits
        .iter()
        .filter(|fit| fit.chosen)
        .collect();
    let unfitted = unfitted(
        &results.suites.packet.fits,
        &results.suites.packet.latency,
        &|percent| results.suites.packet.load_called(percent),
    );
    if closest.is_empty() && unfitted.is_empty() {
        return None;
    }
    let lognormal = closest.iter().copied().filter(is_lognormal).count();
    let standing = if lognormal < closest.len() {
        Standing::DoesNotHold
    } else if unfitted.is_empty() {
        Standing::Holds
    } else {
        Standing::Undecided
    };
    let mut evidence = format!(
        "by distance, beside gamma, Weibull, generalised Pareto and mixtures of two and three lognormals, at {lognormal} of {}",
        show::counted(closest.len(), "condition")
    );
    if !unfitted.is_empty() {
        evidence.push_str(&format!(
            "; none could be fitted to the {}",
            words::list(&unfitted)
        ));
    }
    Some(Finding::new(
        "section 5.3",
        "what load adds to a round trip is described best by a lognormal distribution",
        standing,
        evidence,
    ))
}

/// Section 6: packets and operations are not normally distributed, runtimes are.
fn normal(results: &Results, is_asked: fn(Figures) -> bool) -> Option<Finding> {
    let rows: Vec<&Normality> = results
        .normality
        .iter()
        .filter(|row| is_asked(row.figures))
        .collect();
    let of_samples = rows.first()?.figures.are_samples();
    // One rejection among many tests of runtimes refutes the claim: it must not be one by chance.
    let p: Vec<f64> = rows.iter().map(|row| row.lilliefors_p).collect();
    let p = if of_samples { p } else { holm::adjust(&p) };
    let rejected = p.iter().filter(|&&p| p < words::ALPHA).count();
    let least = rows.iter().map(|row| row.n).min()?;
    let (claim, standing) = if of_samples {
        let claim = format!("{} are not normally distributed", figures_named(&rows));
        let all_rejected = rejected == rows.len();
        let standing = if all_rejected {
            Standing::Holds
        } else {
            Standing::Undecided
        };
        (claim, standing)
    } else {
        // A test that does not reject shows nothing: what it can do is to refute.
        let claim = "runtimes of programs are normally distributed".into();
        let standing = if rejected > 0 {
            Standing::DoesNotHold
        } else {
            Standing::Undecided
        };
        (claim, standing)
    };
    Some(Finding::new(
        "section 6",
        claim,
        standing,
        format!(
            "the Lilliefors test{} rejects a normal distribution in {rejected} of {}, of n = {} or more",
            if of_samples {
                ""
            } else {
                ", corrected after Holm,"
            },
            show::counted(rows.len(), "case"),
            show::count(least as u64)
        ),
    ))
}

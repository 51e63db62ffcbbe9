//! Recordings of noise held against each other: before and after.

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_stats::mann_whitney;
use jitterlab_stats::summary::Summary;
use jitterlab_stats::welch::{self, Welch};
use jitterlab_stats::{hodges_lehmann, holm, resolution, sorted};
use serde::Serialize;

use super::error::Error;
use super::report::{Core, NoiseReport};
use crate::cpus::{Cpu, CpuSet};

/// B compared with A. Differences are B − A.
///
/// What is measured within a recording depends on itself, and recordings of one node differ from each other. So one recording of each is
/// described; several of each are tested, each recording being one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The level of significance; intervals have the confidence 1 − alpha, each by itself.
    pub alpha: f64,
    /// One row for each figure of each CPU that all recordings have measured.
    pub rows: Vec<Row>,
    /// CPUs that only A has measured.
    pub only_a: CpuSet,
    /// CPUs that only B has measured.
    pub only_b: CpuSet,
    /// The other things that a reader has to know.
    pub notes: Vec<String>,
}

/// The figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The lengths of the gaps, in nanoseconds.
    Length,
    /// Gaps a second, in the intervals of each run.
    Rate,
    /// The share of time lost, from 0 to 1, in the intervals of each run.
    Lost,
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B has less.
    Less,
    /// B has more.
    More,
    /// They differ by less than the resolution of the lengths.
    BelowResolution,
    /// No difference is shown.
    NotShown,
}

/// A figure of B beside that of A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    /// The CPU.
    pub cpu: Cpu,
    /// The figure.
    pub figure: Figure,
    /// The figure of A: the median length, the rate, or the share lost; its mean over recordings.
    pub a: f64,
    /// The same of B.
    pub b: f64,
    /// The least difference of two lengths that the clock shows; rates and shares have none, since they are means of a recording.
    pub resolution: Option<f64>,
    /// The difference.
    pub found: Found,
}

/// The difference of two figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// One recording of each.
    Described {
        /// Gaps or intervals of A.
        n_a: usize,
        /// Gaps or intervals of B.
        n_b: usize,
        /// The distance by which a gap or an interval of B is more than one of A: Hodges-Lehmann.
        shift: f64,
        /// The size of the effect, from −1 (all of B is less than all of A) to 1.
        rank_biserial: f64,
    },
    /// Several of each: Welch's t test of the recordings' figures.
    Tested {
        /// Recordings of A that have the figure.
        n_a: usize,
        /// Recordings of B that have it.
        n_b: usize,
        /// The difference with its interval, and p of the test by itself; none where no recording differs from another of its side.
        welch: Welch,
        /// p, corrected by Holm over all tests of the comparison.
        p_corrected: Option<f64>,
        /// The direction, if `p_corrected` is below alpha.
        verdict: Verdict,
    },
}

impl Comparison {
    /// Compares.
    ///
    /// # Errors
    /// The recordings have different thresholds or intervals, or no CPU in common; one side has one recording and the other several; or
    /// alpha
    /// is not between 0 and 1.
    pub fn of(a: &[NoiseReport], b: &[NoiseReport], alpha: f64) -> Result<Self, Error> {
        let first = check(a, b)?;
        let cpus = |side: &[NoiseReport]| {
            let of_one = |report: &NoiseReport| report.cores.iter().map(|core| core.cpu).collect();
            let common = |cpus: CpuSet, report| cpus.and(&of_one(report));
            side[1..].iter().fold(of_one(&side[0]), common)
        };
        let (cpus_a, cpus_b) = (cpus(a), cpus(b));
        let common: Vec<Cpu> = cpus_a.and(&cpus_b).iter().collect();
        if common.is_empty() {
            return Err(Error::Incomparable(
                "A and B have no CPU in common: measure both on the same CPUs".into(),
            ));
        }
        let mut rows = Vec::new();
        for &cpu in &common {
            for figure in [Figure::Length, Figure::Rate, Figure::Lost] {
                rows.extend(figure.row(cpu, a, b, alpha)?);
            }
        }
        correct(&mut rows, alpha);
        Ok(Comparison {
            alpha,
            rows,
            only_a: cpus_a.without(&cpus_b),
            only_b: cpus_b.without(&cpus_a),
            notes: notes(first, a, b, &common),
        })
    }
}

fn core(report: &NoiseReport, cpu: Cpu) -> Option<&Core> {
    report.cores.iter().find(|core| core.cpu == cpu)
}

/// Refuses recordings that cannot be compared; gives the first one.
fn check<'a>(a: &'a [NoiseReport], b: &[NoiseReport]) -> Result<&'a NoiseReport, Error> {
    let (Some(first), false) = (a.first(), b.is_empty()) else {
        return Err(Error::Incomparable("a side has no recording".into()));
    };
    if (a.len() == 1) != (b.len() == 1) {
        return Err(Error::Incomparable(
            "one side has one recording and the other several; a test needs at least 2 of each"
                .into(),
        ));
    }
    for (name, report) in named(a, b) {
        if report.threshold_ns != first.threshold_ns {
            return Err(Error::Incomparable(format!(
                "A counts gaps above {}, {name} above {}: measure both with the same threshold",
                Nanos(first.threshold_ns),
                Nanos(report.threshold_ns)
            )));
        }
        // Interval lengths differ by up to a twentieth where a duration is no multiple of them.
        let ratio = first.interval_ns as f64 / report.interval_ns as f64;
        if !(0.9..1.1).contains(&ratio) {
            return Err(Error::Incomparable(format!(
                "A is divided into intervals of {}, {name} of {}: measure both for 1s to 500s",
                show::time(first.interval_ns as f64),
                show::time(report.interval_ns as f64)
            )));
        }
    }
    Ok(first)
}

/// All recordings by the name of their side, and their number where it has several.
fn named<'a>(
    a: &'a [NoiseReport],
    b: &'a [NoiseReport],
) -> impl Iterator<Item = (String, &'a NoiseReport)> {
    [("A", a), ("B", b)]
        .into_iter()
        .flat_map(|(side, reports)| {
            let several = reports.len() > 1;
            reports.iter().enumerate().map(move |(i, report)| {
                let name = if several {
                    format!("{side}{}", i + 1)
                } else {
                    side.to_string()
                };
                (name, report)
            })
        })
}

fn notes(first: &NoiseReport, a: &[NoiseReport], b: &[NoiseReport], common: &[Cpu]) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, report) in named(a, b) {
        if report.host != first.host {
            notes.push(format!(
                "different nodes: A is {}, {name} is {}",
                first.host, report.host
            ));
        }
    }
    for (name, report) in named(a, b) {
        for core in &report.cores {
            if !core.recorded.complete {
                notes.push(format!(
                    "{name}, CPU {}: the lengths are those of the first {} of {} gaps",
                    core.cpu,
                    core.recorded.lengths_ns.len(),
                    core.gaps
                ));
            }
        }
    }
    for &cpu in common {
        let gaps = |side: &[NoiseReport]| {
            let gaps = side.iter().filter_map(|report| core(report, cpu));
            gaps.map(|core| core.gaps).sum::<u64>()
        };
        let (of_a, of_b) = (gaps(a), gaps(b));
        if of_a.min(of_b) == 0 {
            notes.push(format!(
                "CPU {cpu}: lengths are not compared: {of_a} gaps in A, {of_b} in B"
            ));
        }
    }
    notes
}

impl Figure {
    /// `None` where a side has too little of it.
    fn row(
        self,
        cpu: Cpu,
        a: &[NoiseReport],
        b: &[NoiseReport],
        alpha: f64,
    ) -> Result<Option<Row>, Error> {
        let figures = |side: &[NoiseReport]| -> Vec<f64> {
            let cores = side.iter().filter_map(|report| core(report, cpu));
            cores.filter_map(|core| self.whole(core)).collect()
        };
        let within = |side: &[NoiseReport]| {
            let all = side.iter().flat_map(|report| {
                core(report, cpu).map_or(Vec::new(), |core| self.values(report, core))
            });
            sorted(&all.collect::<Vec<f64>>())
        };
        let (of_a, of_b) = (figures(a), figures(b));
        let several = a.len() > 1;
        if of_a.len().min(of_b.len()) < if several { 2 } else { 1 } {
            return Ok(None);
        }
        let (values_a, values_b) = (within(a)?, within(b)?);
        let resolution = match self {
            Figure::Length => resolution::of_two_sorted(&values_a, &values_b),
            Figure::Rate | Figure::Lost => None,
        };
        let (whole_a, whole_b) = (Summary::of(&of_a)?, Summary::of(&of_b)?);
        let found = if several {
            Found::Tested {
                n_a: of_a.len(),
                n_b: of_b.len(),
                welch: welch::test(&whole_b, &whole_a, 1.0 - alpha)?,
                p_corrected: None,
                verdict: Verdict::NotShown,
            }
        } else {
            Found::Described {
                n_a: values_a.len(),
                n_b: values_b.len(),
                shift: hodges_lehmann::shift(&values_b, &values_a, 1.0 - alpha)?
                    .interval
                    .estimate,
                rank_biserial: mann_whitney::test_sorted(&values_b, &values_a).rank_biserial,
            }
        };
        Ok(Some(Row {
            cpu,
            figure: self,
            a: whole_a.mean,
            b: whole_b.mean,
            resolution,
            found,
        }))
    }

    /// The figure of a recording as a whole; a recording without gaps has no length.
    fn whole(self, core: &Core) -> Option<f64> {
        match self {
            Figure::Length => core
                .lengths_ns
                .filter(|_| !core.recorded.lengths_ns.is_empty())
                .map(|lengths| lengths.median),
            Figure::Rate => Some(core.gaps_per_s),
            Figure::Lost => Some(core.lost_share),
        }
    }

    fn values(self, report: &NoiseReport, core: &Core) -> Vec<f64> {
        let interval = report.interval_ns as f64;
        let scaled =
            |values: &[u64], scale: f64| values.iter().map(|&v| v as f64 * scale).collect();
        match self {
            Figure::Length => scaled(&core.recorded.lengths_ns, 1.0),
            Figure::Rate => scaled(&core.intervals.gaps, 1e9 / interval),
            Figure::Lost => scaled(&core.intervals.lost_ns, 1.0 / interval),
        }
    }
}

fn correct(rows: &mut [Row], alpha: f64) {
    let of = |row: &Row| match row.found {
        Found::Tested { welch, .. } => welch.p,
        Found::Described { .. } => None,
    };
    let p: Vec<f64> = rows.iter().filter_map(of).collect();
    let tested = rows.iter_mut().filter(|row| of(row).is_some());
    for (row, corrected) in tested.zip(holm::adjust(&p)) {
        let step = row.resolution;
        if let Found::Tested {
            welch,
            p_corrected,
            verdict,
            ..
        } = &mut row.found
        {
            let by = welch.difference.estimate;
            *p_corrected = Some(corrected);
            *verdict = match corrected < alpha {
                true if step.is_some_and(|step| by.abs() < step) => Verdict::BelowResolution,
                true if by < 0.0 => Verdict::Less,
                true => Verdict::More,
                false => Verdict::NotShown,
            };
        }
    }
}

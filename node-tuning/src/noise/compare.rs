//! Two runs held against each other: before and after.

use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::mann_whitney::{self, MannWhitney};
use jitterlab_stats::{hodges_lehmann, holm, resolution, sorted};
use serde::Serialize;

use super::error::Error;
use super::report::{Core, NoiseReport};
use crate::cpus::{Cpu, CpuSet};

/// Run B compared with run A. Differences are B − A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The level of significance; intervals have the confidence 1 − alpha, each by itself.
    pub alpha: f64,
    /// One test for each figure of each CPU that both have measured.
    pub tests: Vec<Test>,
    /// CPUs that only A has measured.
    pub only_a: CpuSet,
    /// CPUs that only B has measured.
    pub only_b: CpuSet,
    /// What else a reader has to know.
    pub notes: Vec<String>,
}

/// What is compared.
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

/// What a test shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B tends to have less.
    Less,
    /// B tends to have more.
    More,
    /// They differ by less than the resolution of the lengths.
    BelowResolution,
    /// No difference is shown.
    NotShown,
}

/// A Mann-Whitney test of B against A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Test {
    /// Where.
    pub cpu: Cpu,
    /// Of what.
    pub figure: Figure,
    /// Gaps or intervals of A.
    pub n_a: usize,
    /// Gaps or intervals of B.
    pub n_b: usize,
    /// The figure of all of A: the median length, the rate, or the share lost.
    pub a: f64,
    /// The same of B.
    pub b: f64,
    /// By how much B is more than A: Hodges-Lehmann, with its interval.
    pub shift: Interval,
    /// The least difference of two lengths that the clock shows; rates and shares have none, since they are means of
    /// an interval and of a run.
    pub resolution: Option<f64>,
    /// The size of the effect, from −1 (all of B is less than all of A) to 1.
    pub rank_biserial: f64,
    /// Two-sided p of the test by itself.
    pub p: f64,
    /// The same, corrected by Holm over all tests of the comparison.
    pub p_corrected: f64,
    /// Which way, if `p_corrected` is below alpha.
    pub verdict: Verdict,
}

/// Two lists of a figure, and the figure of each run as a whole.
struct Sides {
    a: Vec<f64>,
    b: Vec<f64>,
    of_a: f64,
    of_b: f64,
}

impl Comparison {
    /// Compares.
    ///
    /// # Errors
    /// The runs have different thresholds or intervals, or no CPU in common; or alpha is not between 0
    /// and 1.
    pub fn of(a: &NoiseReport, b: &NoiseReport, alpha: f64) -> Result<Self, Error> {
        check(a, b)?;
        let cpus = |report: &NoiseReport| report.cores.iter().map(|core| core.cpu).collect();
        let (cpus_a, cpus_b): (CpuSet, CpuSet) = (cpus(a), cpus(b));
        let mut tests = Vec::new();
        for (core_a, core_b) in common(a, b) {
            for figure in [Figure::Length, Figure::Rate, Figure::Lost] {
                let sides = figure.sides((a, core_a), (b, core_b));
                if !sides.a.is_empty() && !sides.b.is_empty() {
                    tests.push(sides.test(core_a.cpu, figure, alpha)?);
                }
            }
        }
        correct(&mut tests, alpha);
        Ok(Comparison {
            alpha,
            tests,
            only_a: cpus_a.without(&cpus_b),
            only_b: cpus_b.without(&cpus_a),
            notes: notes(a, b),
        })
    }
}

fn common<'a>(
    a: &'a NoiseReport,
    b: &'a NoiseReport,
) -> impl Iterator<Item = (&'a Core, &'a Core)> {
    let partner = |core_a: &'a Core| {
        let core_b = b.cores.iter().find(|core| core.cpu == core_a.cpu)?;
        Some((core_a, core_b))
    };
    a.cores.iter().filter_map(partner)
}

/// Whether a comparison would mean something.
fn check(a: &NoiseReport, b: &NoiseReport) -> Result<(), Error> {
    if a.threshold_ns != b.threshold_ns {
        return Err(Error::Incomparable(format!(
            "A counts gaps above {} ns, B above {} ns: measure both with the same threshold",
            a.threshold_ns, b.threshold_ns
        )));
    }
    // Interval lengths differ by up to a twentieth where a duration is no multiple of them.
    let ratio = a.interval_ns as f64 / b.interval_ns as f64;
    if !(0.9..1.1).contains(&ratio) {
        return Err(Error::Incomparable(format!(
            "A is divided into intervals of {} ns, B of {} ns: measure both for 1s to 500s",
            a.interval_ns, b.interval_ns
        )));
    }
    if common(a, b).next().is_none() {
        return Err(Error::Incomparable(
            "A and B have no CPU in common: measure both on the same CPUs".into(),
        ));
    }
    Ok(())
}

fn notes(a: &NoiseReport, b: &NoiseReport) -> Vec<String> {
    let mut notes = Vec::new();
    if a.host != b.host {
        notes.push(format!("different nodes: A is {}, B is {}", a.host, b.host));
    }
    for (name, report) in [("A", a), ("B", b)] {
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
    for (core_a, core_b) in common(a, b) {
        if core_a.gaps.min(core_b.gaps) == 0 {
            notes.push(format!(
                "CPU {}: lengths are not compared: {} gaps in A, {} in B",
                core_a.cpu, core_a.gaps, core_b.gaps
            ));
        }
    }
    notes
}

impl Figure {
    fn sides(self, a: (&NoiseReport, &Core), b: (&NoiseReport, &Core)) -> Sides {
        let whole = |core: &Core| match self {
            Figure::Length => core.lengths_ns.map_or(0.0, |lengths| lengths.median),
            Figure::Rate => core.gaps_per_s,
            Figure::Lost => core.lost_share,
        };
        Sides {
            a: self.values(a.0, a.1),
            b: self.values(b.0, b.1),
            of_a: whole(a.1),
            of_b: whole(b.1),
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

impl Sides {
    fn test(&self, cpu: Cpu, figure: Figure, alpha: f64) -> Result<Test, Error> {
        let (a, b) = (sorted(&self.a)?, sorted(&self.b)?);
        let MannWhitney {
            p, rank_biserial, ..
        } = mann_whitney::test_sorted(&b, &a);
        Ok(Test {
            cpu,
            figure,
            n_a: a.len(),
            n_b: b.len(),
            a: self.of_a,
            b: self.of_b,
            shift: hodges_lehmann::shift(&b, &a, 1.0 - alpha)?.interval,
            resolution: match figure {
                Figure::Length => resolution::of_two_sorted(&a, &b),
                Figure::Rate | Figure::Lost => None,
            },
            rank_biserial,
            p,
            p_corrected: p,
            verdict: Verdict::NotShown,
        })
    }
}

fn correct(tests: &mut [Test], alpha: f64) {
    let p: Vec<f64> = tests.iter().map(|test| test.p).collect();
    for (test, corrected) in tests.iter_mut().zip(holm::adjust(&p)) {
        test.p_corrected = corrected;
        let shift = test.shift.estimate;
        test.verdict = match corrected < alpha {
            true if test.resolution.is_some_and(|step| shift.abs() < step) => {
                Verdict::BelowResolution
            }
            true if test.rank_biserial < 0.0 => Verdict::Less,
            true => Verdict::More,
            false => Verdict::NotShown,
        };
    }
}

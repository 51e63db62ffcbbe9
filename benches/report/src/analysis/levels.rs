//! Any two cases of an experiment at their levels, compared by the figures of their runs.

use std::fmt;

use jitterlab_base::{named, show};
use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use jitterlab_packet::cases::open_loop::TwoLoops;
use jitterlab_stats::gate::Slower;
use jitterlab_stats::summary::Summary;
use serde::Serialize;

use crate::Error;
use crate::analysis::condition::{Reader, rtt_of};
use crate::analysis::repeated::Repeated;
use crate::analysis::results::subject;
use crate::analysis::slowdown::{Slowdown, correct};
use crate::table::{Estimate, Value};

/// A figure of a run, or of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Figure {
    /// The mean of its samples.
    Mean,
    /// Their median.
    #[default]
    Median,
    /// Their 99th percentile.
    P99,
    /// Their 99.9th percentile.
    P999,
}

named!(Figure, serde, "a figure", Mean => "mean", Median => "median", P99 => "p99", P999 => "p999");

impl Figure {
    /// This one of samples.
    pub fn of(self, samples: &Summary) -> f64 {
        match self {
            Figure::Mean => samples.mean,
            Figure::Median => samples.median,
            Figure::P99 => samples.p99,
            Figure::P999 => samples.p999,
        }
    }
}

/// The times that a run has shown, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shown {
    /// Samples.
    Samples(Summary),
    /// The runtime of an application, which is all figures in one.
    Runtime(f64),
}

/// A case at a level: the runs of an experiment that differ in nothing but their repetition.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseAtLevel {
    /// The name of its runs without their repetition: `packet-rtt-udp.none`.
    pub name: String,
    /// The case that is measured, for people: `RTT over UDP`.
    pub subject: String,
    /// The level.
    pub level: Level,
    /// The loop that round trips of packets were measured in, `closed` or `open`.
    its_loop: Option<&'static str>,
    /// The block of each run that was measured, and what it has shown.
    runs: Vec<(u32, Shown)>,
}

impl CaseAtLevel {
    /// All of these runs: by subject, levels in their order. Runs without samples and without a runtime are left out.
    ///
    /// # Errors
    /// The samples of a run cannot be read.
    pub fn all(done: &[&RunRecord], read: &Reader) -> Result<Vec<Self>, Error> {
        let mut all: Vec<CaseAtLevel> = Vec::new();
        for run in done {
            let Some(shown) = shown(run, read)? else {
                continue;
            };
            let name = run.condition();
            let at = all.iter().position(|it| it.name == name);
            let at = at.unwrap_or_else(|| {
                all.push(CaseAtLevel {
                    name: name.into(),
                    subject: subject(run),
                    level: run.level,
                    its_loop: its_loop(run),
                    runs: Vec::new(),
                });
                all.len() - 1
            });
            all[at].runs.push((run.block, shown));
        }
        all.sort_by(|a, b| (&a.subject, a.level, &a.name).cmp(&(&b.subject, b.level, &b.name)));
        Ok(all)
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The loop that round trips of packets were measured in, `closed` or `open`.
    pub fn its_loop(&self) -> Option<&'static str> {
        self.its_loop
    }

    /// True if its runs are timed as a whole, and have one figure.
    pub fn is_timed(&self) -> bool {
        matches!(self.runs.first(), Some((_, Shown::Runtime(_))))
    }

    /// A figure of each run, in nanoseconds.
    pub fn figures(&self, figure: Figure) -> Repeated {
        let mut figures = Repeated::default();
        for (block, shown) in &self.runs {
            let ns = match (shown, figure) {
                (Shown::Runtime(ns), _) => *ns,
                (Shown::Samples(samples), figure) => figure.of(samples),
            };
            figures.add(*block, ns);
        }
        figures
    }

    /// The mean of a figure over runs, in nanoseconds, with its interval.
    pub fn mean(&self, figure: Figure) -> Estimate {
        self.figures(figure).mean().positive()
    }

    /// A figure in proportion to that of another one, over the blocks in which both were measured; `None` if there is no such block.
    ///
    /// # Errors
    /// One was measured in the open loop and the other in the closed one.
    pub fn against(
        &self,
        base: &CaseAtLevel,
        figure: Figure,
    ) -> Result<Option<Slowdown>, TwoLoops> {
        match (base.its_loop, self.its_loop) {
            (Some(one), Some(other)) if one != other => Err(TwoLoops {
                a: base.name.clone(),
                loop_of_a: one.into(),
                b: self.name.clone(),
                loop_of_b: other.into(),
            }),
            _ => Ok(Slowdown::of(&self.figures(figure), &base.figures(figure))),
        }
    }
}

fn its_loop(run: &RunRecord) -> Option<&'static str> {
    Some(rtt_of(run)?.pacing.name())
}

fn shown(run: &RunRecord, read: &Reader) -> Result<Option<Shown>, Error> {
    if let Some(application) = run.result.as_ref().and_then(|it| it.application()) {
        return Ok(Some(Shown::Runtime(application.runtime_s * 1e9)));
    }
    if run.samples.is_none() {
        return Ok(None);
    }
    let samples = read(run)?;
    Ok(Summary::of(&samples).ok().map(Shown::Samples))
}

/// Two cases at their levels, compared in a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The name of the first.
    pub a: String,
    /// The name of the second.
    pub b: String,
    /// The figure that is compared.
    pub figure: Figure,
    /// Its mean over the runs of a, in nanoseconds.
    pub a_ns: Estimate,
    /// Its mean over those of b.
    pub b_ns: Estimate,
    /// b in proportion to a; none where no block has both.
    pub slowdown: Option<Slowdown>,
    /// The share that is asked about.
    pub by: f64,
    /// Whether b is slower than a by more than that.
    pub slower: Slower,
}

impl Comparison {
    /// The comparison of b with a.
    ///
    /// # Errors
    /// One was measured in the open loop and the other in the closed one.
    pub fn of(a: &CaseAtLevel, b: &CaseAtLevel, figure: Figure, by: f64) -> Result<Self, TwoLoops> {
        let mut slowdown = b.against(a, figure)?;
        // It is read alone.
        correct(slowdown.iter_mut());
        Ok(Comparison {
            a: a.name.clone(),
            b: b.name.clone(),
            figure,
            a_ns: a.mean(figure),
            b_ns: b.mean(figure),
            slower: Slower::by_interval(slowdown.and_then(|it| it.ratio.found()), by),
            slowdown,
            by,
        })
    }
}

/// The text for people: both, what became of the figure, and the answer.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (side, name, ns) in [("a", &self.a, self.a_ns), ("b", &self.b, self.b_ns)] {
            let time = Value::Seconds(ns.scaled(1e-9)).for_people();
            writeln!(f, "{side}  {name}  {time}")?;
        }
        writeln!(f, "{}", self.change())?;
        writeln!(f, "{} {}", self.question(), self.slower)
    }
}

impl Comparison {
    /// The change of the figure, its interval and its test.
    pub fn change(&self) -> String {
        let Some(slowdown) = &self.slowdown else {
            return "no block of the experiment has both".into();
        };
        let change = Value::Change(slowdown.for_people()).for_people();
        // The means over runs stand beside it, and their ratio may be another one.
        let of = match slowdown.blocks {
            1 => "in one block".into(),
            blocks => format!("geometric mean of the ratios in {blocks} blocks"),
        };
        let test = match slowdown.p {
            Some(p) => format!("paired t, {}", show::p_is(p)),
            None => "no test without repetitions".into(),
        };
        let more = match self.slower {
            Slower::Undecided => slowdown.more_to_decide(self.by),
            Slower::Yes | Slower::No => None,
        };
        let more = more.map_or(String::new(), |more| {
            format!(
                "; it takes {} of each to decide, if the change stays what it is",
                show::counted(more as usize, "more repetition")
            )
        });
        format!(
            "{} of b against a: {change}, {of}, {test}{more}",
            self.figure
        )
    }

    /// The question that is asked.
    pub fn question(&self) -> String {
        format!("Is b slower than a by more than {} %?", self.by * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(name: &str, runs: &[(u32, f64)]) -> CaseAtLevel {
        CaseAtLevel {
            name: name.into(),
            subject: "lu".into(),
            level: Level::None,
            its_loop: None,
            runs: runs
                .iter()
                .map(|&(block, ns)| (block, Shown::Runtime(ns)))
                .collect(),
        }
    }

    #[test]
    fn the_interval_decides_whether_it_is_slower() {
        let a = timed("a", &[(1, 100.0), (2, 101.0), (3, 99.0), (4, 100.0)]);
        let b = timed("b", &[(1, 110.0), (2, 111.5), (3, 109.5), (4, 109.0)]);
        let slower = |by| {
            let compared = Comparison::of(&a, &b, Figure::Median, by);
            compared.unwrap().slower
        };
        assert_eq!(slower(0.05), Slower::Yes);
        assert_eq!(slower(0.1), Slower::Undecided);
        assert_eq!(slower(0.2), Slower::No);
        assert_eq!(
            Comparison::of(&b, &a, Figure::Median, 0.0).unwrap().slower,
            Slower::No
        );
        // It is told how many more it takes where that is undecided, and only there.
        let told = |by| Comparison::of(&a, &b, Figure::Median, by).unwrap().change();
        assert!(told(0.105).contains("; it takes "), "{}", told(0.105));
        assert!(!told(0.05).contains("it takes"), "{}", told(0.05));
        // A run that is far off moves the means over runs, and not the ratios of most blocks: both are told for what they are.
        let far_off = timed("e", &[(1, 900.0), (2, 101.0), (3, 99.0), (4, 100.0)]);
        let dearer = timed("f", &[(1, 110.0), (2, 252.5), (3, 247.5), (4, 250.0)]);
        let told = Comparison::of(&far_off, &dearer, Figure::Median, 0.0).unwrap();
        assert!(told.a_ns.value > told.b_ns.value, "{told}");
        assert!(
            told.change().starts_with("median of b against a: +18 %")
                && told
                    .change()
                    .contains(", geometric mean of the ratios in 4 blocks, paired t, p = "),
            "{told}"
        );
        // Pairs that scatter too much for their interval to be drawn decide as it does.
        let scattered = timed(
            "d",
            &[(1, 3_700.0), (2, 481_265.0), (3, 69_300.0), (4, 190_000.0)],
        );
        let found = Comparison::of(&a, &scattered, Figure::Median, 0.0).unwrap();
        assert_eq!(found.slower, Slower::Yes, "{found}");
        let back = Comparison::of(&scattered, &a, Figure::Median, 0.0).unwrap();
        assert_eq!(back.slower, Slower::No, "{back}");
        assert!(found.change().contains(" to +"), "{found}");
        let elsewhere = timed("c", &[(7, 500.0)]);
        let unknown = Comparison::of(&a, &elsewhere, Figure::Mean, 0.05).unwrap();
        assert_eq!(
            (unknown.slowdown, unknown.slower),
            (None, Slower::Undecided)
        );
    }
}

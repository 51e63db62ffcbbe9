//! Several recordings of each of two systems, each recording being one value.

use std::fmt::Write as _;

use jitterlab_base::show;
use jitterlab_report::analysis::levels::Figure;
use jitterlab_stats::summary::Summary;
use jitterlab_stats::welch::{self, Welch};
use serde::Serialize;

use super::{interval, line};
use crate::outcome::Failure;

/// A recording.
#[derive(Serialize)]
struct Recording {
    file: String,
    #[serde(flatten)]
    summary: Summary,
}

/// The recordings of a and of b in one figure, in nanoseconds.
#[derive(Serialize)]
struct Compared {
    figure: Figure,
    /// Mean over the recordings of a.
    a: f64,
    /// Mean over the recordings of b.
    b: f64,
    /// a − b, with Welch's interval.
    #[serde(flatten)]
    welch: Welch,
}

/// The findings from recordings; times in nanoseconds, differences a − b.
#[derive(Serialize)]
pub struct Comparison {
    alpha: f64,
    a: Vec<Recording>,
    b: Vec<Recording>,
    /// The figure that is tested.
    tested: Figure,
    figures: Vec<Compared>,
    conclusion: String,
}

impl Comparison {
    /// Compares files with their summaries.
    ///
    /// # Errors
    /// A side has fewer than two recordings.
    pub fn of(
        a: Vec<(String, Summary)>,
        b: Vec<(String, Summary)>,
        tested: Figure,
        alpha: f64,
    ) -> Result<Self, Failure> {
        for (side, of) in [("--a", &a), ("--b", &b)] {
            if of.len() < 2 {
                return Err(Failure::input(format!(
                    "{side} names one recording; a test needs at least 2 for --a and 2 for --b (without these options, `stats compare A B` describes two recordings)"
                )));
            }
        }
        let compared = |&figure: &Figure| {
            let side = |of: &[(String, Summary)]| {
                let values: Vec<f64> = of.iter().map(|(_, summary)| figure.of(summary)).collect();
                Summary::of(&values)
            };
            let (a, b) = (side(&a)?, side(&b)?);
            Ok(Compared {
                figure,
                a: a.mean,
                b: b.mean,
                welch: welch::test(&a, &b, 1.0 - alpha)?,
            })
        };
        let figures = Figure::ALL.iter().map(compared);
        let figures: Result<Vec<Compared>, jitterlab_stats::Error> = figures.collect();
        let recordings = |of: Vec<(String, Summary)>| {
            let recording = |(file, summary)| Recording { file, summary };
            of.into_iter().map(recording).collect()
        };
        let mut comparison = Comparison {
            alpha,
            a: recordings(a),
            b: recordings(b),
            tested,
            figures: figures.map_err(Failure::input)?,
            conclusion: String::new(),
        };
        comparison.conclusion = comparison.in_words();
        Ok(comparison)
    }

    fn in_words(&self) -> String {
        let tested = self.figures.iter().find(|of| of.figure == self.tested);
        let Some(Compared { figure, welch, .. }) = tested else {
            return String::new();
        };
        let Some(p) = welch.p else {
            return format!(
                "no recording of a side differs from another in its {figure}: how much recordings vary is below the resolution of \
                 the samples, and nothing can be tested"
            );
        };
        let difference = &welch.difference;
        if p >= self.alpha {
            return format!(
                "no significant difference of the {figure} at alpha = {} (Welch's t test of {} and {} recordings, {}); the interval \
                 excludes differences beyond {}",
                self.alpha,
                self.a.len(),
                self.b.len(),
                show::p_is(p),
                show::time(difference.low.abs().max(difference.high.abs()))
            );
        }
        // The figures are in the direction that the sentence names, so that they agree with it.
        let (direction, by, from, to) = if difference.estimate > 0.0 {
            (
                "larger",
                difference.estimate,
                difference.low,
                difference.high,
            )
        } else {
            (
                "smaller",
                -difference.estimate,
                -difference.high,
                -difference.low,
            )
        };
        format!(
            "the {figure} of a is {direction} than that of b by {} (interval {} to {} at alpha = {}; Welch's t test of {} and {} \
             recordings, {})",
            show::time(by),
            show::time(from),
            show::time(to),
            self.alpha,
            self.a.len(),
            self.b.len(),
            show::p_is(p)
        )
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        for (side, recordings) in [("a", &self.a), ("b", &self.b)] {
            for recording in recordings {
                out += &line(&format!("{side}  {}", recording.file), &recording.summary);
            }
        }
        out += "\nmeans over recordings, and a - b with its interval, each by itself\n";
        for Compared {
            figure,
            a,
            b,
            welch,
        } in &self.figures
        {
            let _ = writeln!(
                out,
                "{:<8}a {}  b {}  a - b {}",
                figure.name(),
                show::time(*a),
                show::time(*b),
                interval(&welch.difference)
            );
        }
        let _ = writeln!(out, "\n{}", self.conclusion);
        out
    }
}

//! `jitterlab noise compare`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jitterlab_base::input::{Source, read_text};
use jitterlab_base::show;
use jitterlab_node_tuning::noise::compare::{Comparison, Figure, Test, Verdict};
use jitterlab_node_tuning::noise::report::NoiseReport;
use jitterlab_stats::mann_whitney::size_of_effect;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::shown::p_value;

/// Options of `noise compare`.
#[derive(clap::Args)]
pub struct Compare {
    /// The first result: a file that `noise run --output` wrote
    a: PathBuf,
    /// The second result
    b: PathBuf,
    /// Level of significance; the confidence of the intervals is 1 − alpha
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Compare {
    pub fn run(self) -> Result<Exit, Failure> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Failure::input("--alpha lies between 0 and 1"));
        }
        let (a, b) = (read(&self.a)?, read(&self.b)?);
        let comparison = Comparison::of(&a, &b, self.alpha).map_err(Failure::input)?;
        output::print(self.format, &comparison, || text(&a, &b, &comparison))?;
        Ok(Exit::Done)
    }
}

fn read(path: &Path) -> Result<NoiseReport, Failure> {
    /// A run of a day on a thousand CPUs has less.
    const MOST_BYTES: u64 = 1 << 30;
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::input(format!("cannot read the run {}: {error}", path.display()))
    };
    let text = read_text(path, Source::Any, MOST_BYTES).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

fn text(a: &NoiseReport, b: &NoiseReport, comparison: &Comparison) -> String {
    let mut out = String::new();
    for (name, run) in [("A", a), ("B", b)] {
        let _ = writeln!(
            out,
            "{name}: {}, Linux {}, {:.3} s, gaps above {} ns",
            run.host,
            run.kernel,
            run.duration_ns as f64 / 1e9,
            run.threshold_ns
        );
    }
    let mut cpu = None;
    for test in &comparison.tests {
        if cpu != Some(test.cpu) {
            let _ = writeln!(out, "\nCPU {}", test.cpu);
            cpu = Some(test.cpu);
        }
        out.push_str(&row(test));
    }
    out.push('\n');
    for note in &comparison.notes {
        let _ = writeln!(out, "{note}");
    }
    for (only, name) in [(&comparison.only_a, "A"), (&comparison.only_b, "B")] {
        if !only.is_empty() {
            let _ = writeln!(out, "only {name} has measured CPU {only}");
        }
    }
    let _ = writeln!(
        out,
        "differences are B − A; Mann-Whitney, p corrected by Holm over {} tests, alpha {}; \
         intervals have the confidence {}, each by itself",
        comparison.tests.len(),
        comparison.alpha,
        1.0 - comparison.alpha
    );
    out
}

fn row(test: &Test) -> String {
    let rate = |rate: f64| format!("{}/s", show::number(rate));
    let (name, shown): (_, &dyn Fn(f64) -> String) = match test.figure {
        Figure::Length => ("median length", &show::time),
        Figure::Rate => ("gaps", &rate),
        Figure::Lost => ("time lost", &show::percent),
    };
    let shift = &test.shift;
    // In the direction that the word names, so that its figures agree with it.
    let verdict = match test.verdict {
        Verdict::NotShown => "no difference shown".to_string(),
        Verdict::BelowResolution => format!(
            "differ by less than the resolution of the lengths, {}",
            shown(test.resolution.unwrap_or(0.0))
        ),
        // Of figures that are mostly equal the typical difference is nothing, and the whole ones say more.
        Verdict::More | Verdict::Less if shift.estimate == 0.0 => {
            let more = test.verdict == Verdict::More;
            format!(
                "{} as a whole; a typical interval differs by nothing",
                if more { "more" } else { "less" }
            )
        }
        Verdict::More => format!(
            "more, by {} ({} to {})",
            shown(shift.estimate),
            shown(shift.low),
            shown(shift.high)
        ),
        Verdict::Less => format!(
            "less, by {} ({} to {})",
            shown(-shift.estimate),
            shown(-shift.high),
            shown(-shift.low)
        ),
    };
    format!(
        "  {name:13}  A {:>14}  B {:>14}  {verdict}\n{:17}rank-biserial {:.3} ({}), {}, n {} and {}\n",
        shown(test.a),
        shown(test.b),
        "",
        test.rank_biserial,
        size_of_effect(test.rank_biserial),
        p_value(test.p_corrected),
        test.n_a,
        test.n_b
    )
}

//! `jitterlab noise compare`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jitterlab_base::input::{Source, read_text};
use jitterlab_base::show;
use jitterlab_node_tuning::noise::compare::{Comparison, Figure, Found, Row, Verdict};
use jitterlab_node_tuning::noise::report::NoiseReport;
use jitterlab_stats::mann_whitney::size_of_effect;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `noise compare`.
#[derive(clap::Args)]
#[command(
    after_help = "Two results of one node differ even if nothing was changed. With one result on each side, the command describes the \
                  difference. With several, it tests the difference, and each result counts as one value:\n  jitterlab noise compare before.json after.json\n  \
                  jitterlab noise compare --a before-*.json --b after-*.json"
)]
pub struct Compare {
    /// The first result: a file that `noise run --output` wrote
    #[arg(required_unless_present = "recordings_a", requires = "second")]
    first: Option<PathBuf>,
    /// The second result
    #[arg(conflicts_with_all = ["recordings_a", "recordings_b"])]
    second: Option<PathBuf>,
    /// Results from before the change, one file each
    #[arg(long = "a", value_name = "FILE", num_args = 1.., requires = "recordings_b", conflicts_with = "first")]
    recordings_a: Vec<PathBuf>,
    /// Results from after the change
    #[arg(long = "b", value_name = "FILE", num_args = 1.., requires = "recordings_a")]
    recordings_b: Vec<PathBuf>,
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
        let side = |one: Option<PathBuf>, several: Vec<PathBuf>| -> Result<Vec<_>, Failure> {
            one.iter().chain(&several).map(|file| read(file)).collect()
        };
        let a = side(self.first, self.recordings_a)?;
        let b = side(self.second, self.recordings_b)?;
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
    serde_json::from_str(&text).map_err(|error| {
        wrong(&format_args!(
            "it is not what `noise run --output` writes: {error}"
        ))
    })
}

fn text(a: &[NoiseReport], b: &[NoiseReport], comparison: &Comparison) -> String {
    let mut out = String::new();
    for (name, runs) in [("A", a), ("B", b)] {
        for run in runs {
            let _ = writeln!(
                out,
                "{name}: {}, Linux {}, {}, gaps above {}",
                run.host,
                run.kernel,
                show::time(run.duration_ns as f64),
                show::time(run.threshold_ns as f64)
            );
        }
    }
    let mut cpu = None;
    for of_cpu in &comparison.rows {
        if cpu != Some(of_cpu.cpu) {
            let _ = writeln!(out, "\nCPU {}", of_cpu.cpu);
            cpu = Some(of_cpu.cpu);
        }
        out.push_str(&row(of_cpu));
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
    let _ = if a.len() > 1 {
        writeln!(
            out,
            "differences are B − A of recordings; Welch's t test, p corrected by Holm over {} tests, alpha {}; intervals have the \
             confidence {}, each by itself",
            comparison.rows.len(),
            comparison.alpha,
            1.0 - comparison.alpha
        )
    } else {
        writeln!(
            out,
            "differences are B − A of these two recordings; whether what was changed made them takes several recordings of each: \
             --a FILE... --b FILE..."
        )
    };
    out
}

fn row(row: &Row) -> String {
    let rate = |rate: f64| format!("{}/s", show::number(rate));
    let (name, shown): (_, &dyn Fn(f64) -> String) = match row.figure {
        Figure::Length => ("median length", &show::time),
        Figure::Rate => ("gaps", &rate),
        Figure::Lost => ("time lost", &show::percent),
    };
    let below = || {
        let step = shown(row.resolution.unwrap_or(0.0));
        format!("differ by less than the resolution of the lengths, {step}")
    };
    let (verdict, how) = match row.found {
        Found::Described {
            n_a,
            n_b,
            shift,
            rank_biserial,
        } => {
            let by = row.b - row.a;
            let verdict = match row.resolution {
                _ if by == 0.0 => "the same".to_string(),
                Some(step) if by.abs() < step => below(),
                _ if by > 0.0 => format!("more by {}", shown(by)),
                _ => format!("less by {}", shown(-by)),
            };
            let part = match row.figure {
                Figure::Length => "a gap",
                Figure::Rate | Figure::Lost => "an interval",
            };
            let how = format!(
                "shift of {part} {}, rank-biserial {rank_biserial:.3} ({}), n {n_a} and {n_b}",
                shown(shift),
                size_of_effect(rank_biserial)
            );
            (verdict, how)
        }
        Found::Tested {
            n_a,
            n_b,
            welch,
            p_corrected,
            verdict,
        } => {
            let of = &welch.difference;
            let by = |figures: [f64; 3]| show::with_interval(figures.map(&shown));
            // The figures are in the direction that the word names, so that they agree with it.
            let verdict = match verdict {
                Verdict::NotShown => "no difference shown".to_string(),
                Verdict::BelowResolution => below(),
                Verdict::More => format!("more, by {}", by([of.estimate, of.low, of.high])),
                Verdict::Less => format!("less, by {}", by([-of.estimate, -of.high, -of.low])),
            };
            let p = p_corrected.map_or(
                "no recording differs from another of its side".into(),
                show::p_is,
            );
            (verdict, format!("{p}, {n_a} and {n_b} recordings"))
        }
    };
    format!(
        "  {name:13}  A {:>14}  B {:>14}  {verdict}\n{:17}{how}\n",
        shown(row.a),
        shown(row.b),
        ""
    )
}

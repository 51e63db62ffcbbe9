//! `jitterlab check`: whether microseconds can be measured on this node.

mod health;

use std::fmt::Write;

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::noise::limits::{self, Limits};
use jitterlab_node_tuning::noise::report::NoiseReport;
use jitterlab_node_tuning::noise::{self, Noise};
use jitterlab_node_tuning::system::System;
use jitterlab_node_tuning::topology::Topology;
use jitterlab_node_tuning::tune::Survey;
use serde::Serialize;

use crate::commands::tune::looked::{Looked, look};
use crate::commands::tune::{Target, holds, text};
use crate::cpus::enter;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `jitterlab check`.
#[derive(clap::Args)]
pub struct Command {
    /// How long to measure the noise of the CPUs [default: 5s, or 1s with --health]
    #[arg(long)]
    duration: Option<Nanos>,
    /// Health check for Slurm: drain this node if the check fails, and resume it if the check passes again. Prints one
    /// line
    #[arg(long, conflicts_with = "format")]
    health: bool,
    #[command(flatten)]
    target: Target,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The time that noise is measured.
const DURATION: Nanos = Nanos(5_000_000_000);

/// The output of `jitterlab check`.
#[derive(Serialize)]
struct Verdict {
    /// True if there is nothing to object to.
    fit: bool,
    /// True if something was applied on this node; otherwise the settings are what `tune apply` would
    /// want.
    tuned: bool,
    /// True if the processors are an emulator's: their noise is told, and not judged.
    emulated: bool,
    /// Why there is no CPU that could measure, where there is none.
    refused: Option<String>,
    /// The settings, where some CPU measures.
    #[serde(flatten)]
    survey: Option<Survey>,
    /// The noise of the measuring CPUs; a copied tree has none.
    noise: Option<Noises>,
}

#[derive(Serialize)]
struct Noises {
    limits: Limits,
    findings: Vec<limits::Finding>,
    report: NoiseReport,
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    let system = command.target.system()?;
    if command.health {
        return health::run(system, command.duration);
    }
    let Looked { tuned, survey } = look(&system)?;
    let (survey, refused) = match survey {
        Ok(survey) => (Some(survey), None),
        Err(refused) => (None, Some(refused)),
    };
    let noise = match &survey {
        Some(survey) if system.is_live() => {
            let duration = command.duration.unwrap_or(DURATION);
            Some(listen(&system, survey, duration)?)
        }
        _ => None,
    };
    let quiet = noise.as_ref().is_none_or(|noise| noise.findings.is_empty());
    let topology = Topology::read(system.root()).map_err(Failure::run)?;
    let emulated = topology.is_emulated();
    let verdict = Verdict {
        fit: survey.as_ref().is_some_and(holds) && (quiet || emulated),
        tuned,
        emulated,
        refused,
        survey,
        noise,
    };
    output::print(command.format, &verdict, || verdict.text())?;
    Ok(if verdict.fit {
        Exit::Done
    } else {
        Exit::Finding
    })
}

fn listen(system: &System, survey: &Survey, duration: Nanos) -> Result<Noises, Failure> {
    let cpus = survey.plan.measuring.clone();
    enter(&cpus)?;
    let noise = Noise {
        cpus: Some(cpus),
        duration,
        threshold: None,
        root: system.root().into(),
    };
    let report = noise.run().map_err(|error| match error {
        noise::Error::Duration => Failure::input(error),
        error => Failure::run(error),
    })?;
    let limits = Limits::default();
    Ok(Noises {
        limits,
        findings: limits::judge(&report, &limits),
        report,
    })
}

impl Verdict {
    fn text(&self) -> String {
        let mut out = self.survey.as_ref().map_or_else(String::new, text::survey);
        if let Some(refused) = &self.refused {
            let _ = writeln!(out, "{refused}");
        } else if !self.tuned {
            out.push_str("Nothing has been applied on this node: `jitterlab tune apply` does what is said above.\n");
        }
        if let Some(noise) = &self.noise {
            out.push('\n');
            for core in &noise.report.cores {
                let _ = writeln!(
                    out,
                    "noise on CPU {}: {} gaps/s above {}, {} of the time lost, longest {}",
                    core.cpu,
                    show::number(core.gaps_per_s),
                    Nanos(noise.report.threshold_ns),
                    show::percent(core.lost_share),
                    show::time(core.longest_ns as f64)
                );
            }
            for finding in &noise.findings {
                let _ = writeln!(out, "too much: {}", finding.message);
            }
        }
        if self.emulated {
            out.push_str("The processors are emulated: noise is the emulator's and its host's, and is not judged.\n");
        }
        out.push_str(match (self.fit, self.emulated) {
            (true, false) => "\nfit: microseconds can be measured on this node\n",
            (true, true) => "\nfit, as far as an emulated machine can be: every setting holds\n",
            (false, _) => "\nnot fit: see above\n",
        });
        out
    }
}

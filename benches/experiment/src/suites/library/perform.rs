//! Measuring a case of the library suite.

use jitterlab_mpi_results::library;

use super::Work;
use crate::command::{Failed, words};
use crate::hosts::Hosts;
use crate::mpi::PROGRAM;
use crate::samples;
use crate::suites::{Measured, SuiteResult};

/// The name of a file in a worker's directory.
const SAMPLES: &str = "samples.txt";

impl<'a> Work<'a> {
    /// Measures the operation, with the samples of every rank.
    pub(super) fn operate(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let Work { case, mpi } = *self;
        let optional = |option: &str, value: Option<String>| {
            value
                .map(|value| [option.to_string(), value])
                .into_iter()
                .flatten()
        };
        let program = words(&[PROGRAM, "library", case.case.name(), "--format", "json"])
            .chain(words(&["--samples", SAMPLES]))
            .chain(words(&["--warmup", &case.warmup.to_string()]))
            .chain(optional("--size", case.size.map(|size| size.0.to_string())))
            .chain(optional(
                "--duration",
                case.duration.map(|time| time.to_string()),
            ))
            .chain(optional(
                "--iterations",
                case.iterations.map(|n| n.0.to_string()),
            ))
            .chain(optional(
                "--dimensions",
                case.dimensions.map(|n| n.to_string()),
            ))
            .chain(case.non_blocking.then(|| "--non-blocking".into()));
        let program = prefix.into_iter().chain(program);
        let mut report: library::Report = hosts.ranks(mpi, case.ranks, program, case.timeout)?;
        // The origin of the figures is kept: every sample of every rank.
        for point in &mut report.points {
            point.heat_map = None;
        }
        let text = hosts.worker(&mpi.on)?.take(SAMPLES)?;
        let ranks = samples::ranks_of_text(&String::from_utf8_lossy(&text))?;
        let taken: usize = ranks.iter().map(Vec::len).sum();
        let told: usize = report
            .points
            .iter()
            .map(|point| point.figures.samples)
            .sum();
        if told != taken {
            return Err(format!("rank 0 reports {told} samples, and {taken} came").into());
        }
        let parquet = samples::ranks_to_parquet(&ranks)
            .map_err(|error| format!("the samples cannot be kept: {error}"))?;
        Ok(Measured {
            result: SuiteResult::Library(report),
            samples: Some(parquet),
        })
    }
}

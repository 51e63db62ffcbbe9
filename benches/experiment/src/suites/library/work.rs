//! A run of the library suite.

use jitterlab_base::units::Nanos;

use super::LibraryCase;
use crate::command::Failed;
use crate::hosts::Hosts;
use crate::level::LevelKind;
use crate::scene::{Hook, Mpi, Scene};
use crate::suites::{self, Case, Measured, Measures, SuiteResult, Works};

/// A case, with how its ranks are started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work<'a> {
    /// The case.
    pub case: &'a LibraryCase,
    /// The way that its ranks are started.
    pub mpi: &'a Mpi,
}

impl Works for LibraryCase {
    fn works<'a>(&'a self, scene: Scene<'a>) -> Vec<suites::Work<'a>> {
        let mpi = scene.mpi.into_iter();
        let work = |mpi| Work { case: self, mpi };
        mpi.map(work).map(suites::Work::Library).collect()
    }
}

impl<'a> Measures<'a> for Work<'a> {
    fn case(&self) -> &'a str {
        self.case.name()
    }

    fn measures_on(&self) -> &'a str {
        &self.mpi.on
    }

    fn levels(&self) -> &'a [LevelKind] {
        &self.case.levels
    }

    fn hook(&self) -> Option<Hook> {
        Some(self.mpi.hook)
    }

    fn mpi(&self) -> Option<&'a Mpi> {
        Some(self.mpi)
    }

    fn least_seconds(&self) -> f64 {
        let duration = self.case.duration.map_or(0.0, Nanos::as_secs_f64);
        self.case.warmup.as_secs_f64() + duration
    }

    /// The mean time of an operation, over all sizes.
    fn figure(&self, result: &SuiteResult) -> Option<f64> {
        let points = &result.library()?.points;
        let sum: f64 = points.iter().map(|point| point.figures.mean_ns).sum();
        (!points.is_empty()).then(|| sum / points.len() as f64)
    }

    fn perform(
        &self,
        hosts: &mut Hosts<'a>,
        prefix: Vec<String>,
        _seed: u64,
    ) -> Result<Measured, Failed> {
        self.operate(hosts, prefix)
    }
}

//! What runs measure, for people.

use jitterlab_experiment::record::{RunRecord, SuiteKind};

use super::amvia::way::Way;
use super::condition::Link;

/// The program that a run measures, for people.
pub fn subject(run: &RunRecord) -> String {
    match (Link::of(run), Way::of(run), run.suite) {
        (Some(link), ..) => link.to_string(),
        (None, Some(way), _) => way.to_string(),
        (None, None, SuiteKind::Library) => format!("MPI {}", run.case),
        (None, None, _) => run.case.clone(),
    }
}

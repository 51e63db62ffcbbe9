//! The time of a frame in the kernel, step by step, where tracepoints told.

use jitterlab_amvia_suite::performability::{Kernel, Step, Traced};
use jitterlab_experiment::record::{AmviaResult, RunRecord};
use serde::Serialize;

use super::way::{OfWay, Way, result, way_columns};
use crate::analysis::repeated::Repeated;
use crate::analysis::rows::micros;
use crate::table::{Column, Estimate, Row, Value, column};

/// The time of a step of a frame in the kernel. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passed {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// The step.
    pub step: Step,
    /// The time that it takes.
    pub median_ns: Estimate,
    /// The round trip without tracepoints.
    pub round_trip_ns: Estimate,
    /// The round trip with them.
    pub traced_round_trip_ns: Estimate,
}

fn traced(run: &RunRecord) -> Option<&Traced> {
    match result(run) {
        Some(AmviaResult::Performability(report)) => match &report.kernel {
            Kernel::Traced(traced) => Some(traced),
            Kernel::NotTraced(_) => None,
        },
        _ => None,
    }
}

/// The findings of the runs in which the kernel was traced.
pub fn steps(done: &[&RunRecord]) -> Vec<Passed> {
    let mut found = Vec::new();
    for way in Way::all(done, |run| traced(run).is_some()) {
        let mean = |of: &dyn Fn(&Traced) -> Option<f64>| {
            let mut figures = Repeated::default();
            for run in way.runs(done) {
                if let Some(figure) = traced(run).and_then(of) {
                    figures.add(run.block, figure);
                }
            }
            figures.mean()
        };
        let of_step = |step: Step| Passed {
            way: way.clone(),
            step,
            median_ns: mean(&|traced| {
                let mut steps = traced.steps.iter();
                Some(steps.find(|it| it.step == step)?.median_ns)
            }),
            round_trip_ns: mean(&|traced| Some(traced.round_trip_ns)),
            traced_round_trip_ns: mean(&|traced| Some(traced.traced_round_trip_ns)),
        };
        let first = way.runs(done).into_iter().find_map(traced);
        let steps = first.into_iter().flat_map(|first| &first.steps);
        found.extend(steps.map(|passed| of_step(passed.step)));
    }
    found
}

impl OfWay for Passed {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl Row for Passed {
    const ID: &'static str = "performability_steps";
    const TITLE: &'static str = "What a frame takes in the kernel, by tracepoints";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column("step", "Step", "the step", |row: &Passed| {
                Value::Text(row.step.name().into())
            }),
            column(
                "component",
                "Component",
                "what takes the time",
                |row: &Passed| Value::Text(row.step.component().name().into()),
            ),
            column(
                "median_us",
                "Takes, µs",
                "the median over frames in microseconds, mean over runs",
                |row: &Passed| micros(row.median_ns),
            )
            .of_estimates(),
            column(
                "round_trip_us",
                "Round trip, µs",
                "the median round trip without tracepoints in microseconds, mean over runs",
                |row: &Passed| micros(row.round_trip_ns),
            )
            .of_estimates(),
            column(
                "traced_round_trip_us",
                "with tracepoints, µs",
                "the same with tracepoints",
                |row: &Passed| micros(row.traced_round_trip_ns),
            )
            .of_estimates(),
        ]);
        columns
    }
}

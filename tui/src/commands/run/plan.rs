//! `run --dry-run`: what would be done, and how long it would take.

use jitterlab_experiment::conduct::duration;
use jitterlab_experiment::schedule::{Run, schedule};
use jitterlab_experiment::spec::Experiment;
use serde::Serialize;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::shown::time;

#[derive(Serialize)]
struct Plan {
    experiment: String,
    seconds: f64,
    runs: Vec<Planned>,
}

#[derive(Serialize)]
struct Planned {
    run: String,
    phase: &'static str,
    block: u32,
}

/// Prints the schedule.
pub fn print(experiment: &Experiment, format: Format) -> Result<Exit, Failure> {
    let runs = schedule(experiment, experiment.repetitions.first());
    let planned = |run: &Run| Planned {
        run: run.id(),
        phase: run.phase.name(),
        block: run.block,
    };
    let plan = Plan {
        experiment: experiment.name.clone(),
        seconds: duration(&runs),
        runs: runs.iter().map(planned).collect(),
    };
    output::print(format, &plan, || text(&plan))?;
    Ok(Exit::Done)
}

fn text(plan: &Plan) -> String {
    let mut out = format!(
        "{}: {} runs, about {}\n",
        plan.experiment,
        plan.runs.len(),
        time(plan.seconds)
    );
    let mut last = ("", 0);
    for run in &plan.runs {
        if last != (run.phase, run.block) {
            out.push_str(&format!("{}, block {}\n", run.phase, run.block));
            last = (run.phase, run.block);
        }
        out.push_str(&format!("  {}\n", run.run));
    }
    out
}

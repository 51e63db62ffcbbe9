use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jitterlab_mpi::comm::Comm;
use jitterlab_mpi::npb::{self, Class, Kernel, Outcome, memory};
use jitterlab_mpi_results::npb::{Check, Phase, Report};
use serde::{Deserialize, Serialize};

use super::{Failure, Format, Wrong, print};

#[derive(Args)]
pub struct Arguments {
    /// Benchmark to run
    #[arg(value_parser = kernel())]
    kernel: &'static Kernel,
    /// The problem size: S, W, A, B or C
    #[arg(long, value_name = "CLASS", default_value = "S")]
    class: Class,
    /// How the result is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// The report of one rank.
#[derive(Default, Serialize, Deserialize)]
struct OfRank {
    memory_bytes: Option<u64>,
    phases: Vec<Phase>,
}

/// Whether the result is right.
pub fn run(comm: &Comm, arguments: &Arguments) -> Result<bool, Failure> {
    let kernel = arguments.kernel;
    if !(kernel.ranks.allows)(comm.size(), arguments.class) {
        return Err(Wrong(format!(
            "{} class {} runs on {}, and these are {}",
            kernel.name,
            arguments.class,
            kernel.ranks.rule,
            comm.size()
        ))
        .into());
    }
    let live = jitterlab_live::publisher();
    live.begin(&format!("{} {}", kernel.name, arguments.class));
    live.ranked(comm.rank());
    let before = memory::peak();
    let outcome = (kernel.run)(comm, arguments.class);
    let ranks = everybodys(comm, before);
    if comm.rank() == 0 {
        let report = report(arguments, &outcome, &ranks);
        print(arguments.format, &report)?;
    }
    Ok(outcome.verified())
}

/// The reports of all ranks, at rank 0. `before` is the most memory that this one had before the run.
fn everybodys(comm: &Comm, before: Option<u64>) -> Vec<OfRank> {
    let mine = OfRank {
        memory_bytes: memory::peak()
            .zip(before)
            .map(|(peak, before)| peak.saturating_sub(before)),
        phases: comm.phases(),
    };
    comm.collect(serde_json::json!(mine).to_string().as_bytes())
        .iter()
        .map(|bytes| serde_json::from_slice(bytes).unwrap_or_default())
        .collect()
}

fn report(arguments: &Arguments, outcome: &Outcome, ranks: &[OfRank]) -> Report {
    let all = || ranks.iter().flat_map(|rank| &rank.phases);
    // `setup` is left out: it is not measured.
    let measured = || ranks.iter().flat_map(|rank| rank.phases.iter().skip(1));
    let wall: f64 = measured().map(|phase| phase.wall_s).sum();
    Report {
        kernel: arguments.kernel.name,
        class: arguments.class,
        ranks: ranks.len(),
        time_s: outcome.time_s,
        mops: outcome.mops(),
        verified: outcome.verified(),
        checks: outcome
            .checks
            .iter()
            .map(|check| Check {
                what: check.what.clone(),
                value: check.value,
                expected: check.expected,
                error: check.error(),
                tolerance: check.tolerance,
                passed: check.passed(),
            })
            .collect(),
        messages: all().map(|phase| phase.messages).sum(),
        bytes: all().map(|phase| phase.bytes).sum(),
        collectives: all().map(|phase| phase.collectives).sum(),
        collective_bytes: all().map(|phase| phase.collective_bytes).sum(),
        mpi_share: measured().map(|phase| phase.mpi_s).sum::<f64>() / wall,
        memory_bytes: ranks.iter().map(|rank| rank.memory_bytes).collect(),
        phases: ranks.iter().map(|rank| rank.phases.clone()).collect(),
    }
}

fn kernel() -> impl TypedValueParser<Value = &'static Kernel> {
    let values = npb::KERNELS
        .iter()
        .map(|kernel| PossibleValue::new(kernel.name.name()).help(kernel.title));
    PossibleValuesParser::new(values)
        .try_map(|name| npb::kernel(&name).ok_or("there is no such kernel"))
}

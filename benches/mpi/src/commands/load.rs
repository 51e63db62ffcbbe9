use clap::Args;
use jitterlab_base::seed;
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos, Percent};
use jitterlab_mpi::comm::Comm;
use jitterlab_mpi::library::{Case, Figures};
use jitterlab_mpi::load::{self, Load, Outcome, Pattern, Produced, Victim, VictimOutcome};
use nix::sys::sysinfo::sysinfo;
use serde::Serialize;

use super::library::case;
use super::{Failure, Format, Wrong, print_object};

#[derive(Args)]
pub struct Arguments {
    /// Who sends to whom
    #[arg(long)]
    pattern: Pattern,
    /// Share of the bandwidth: 0 to 100 (percent). The bandwidth is measured first
    #[arg(long, value_name = "PERCENT")]
    level: Percent,
    /// How long the load lasts. With --victim: how long to measure, each time
    #[arg(long, default_value = "10s")]
    duration: Nanos,
    /// Size of a message
    #[arg(long, value_name = "BYTES", default_value = "64KiB")]
    size: Bytes,
    /// Seed of the random gaps
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    /// A library case that some of the ranks measure
    #[arg(long, value_name = "CASE", value_parser = case(), hide_possible_values = true)]
    victim: Option<&'static Case>,
    /// Message size of the victim [default: 8]
    #[arg(long, value_name = "BYTES", requires = "victim")]
    victim_size: Option<Bytes>,
    /// Share of the ranks that measure the victim
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "50",
        requires = "victim"
    )]
    victims: Percent,
    /// Warm-up time of the victim
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "100ms",
        requires = "victim"
    )]
    warmup: Nanos,
    /// How the result is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// A run, as it is printed for programs: the fields of `jitterlab load run`, and those that only MPI has.
#[derive(Serialize)]
struct Report<'a> {
    transport: &'static str,
    pattern: Pattern,
    ranks: usize,
    message: u64,
    level: f64,
    produced_level: f64,
    bandwidth: f64,
    bandwidth_measured: bool,
    seconds: f64,
    sent_messages: u64,
    sent_bytes: u64,
    received_messages: u64,
    received_bytes: u64,
    longest_gap_ns: u64,
    per_rank: &'a [Produced],
    victim: Option<&'a VictimOutcome>,
}

pub fn run(comm: &Comm, arguments: &Arguments) -> Result<bool, Failure> {
    let victim = arguments.victim();
    arguments.check(comm, victim.as_ref())?;
    let load = Load {
        pattern: arguments.pattern,
        level: arguments.level,
        message: arguments.size.0 as usize,
        duration: arguments.duration,
        seed: arguments.seed,
    };
    if let Some(outcome) = load::run(comm, &load, victim.as_ref()).map_err(Failure::Failed)? {
        let report = report(arguments, comm.size(), &outcome);
        match arguments.format {
            Format::Json => print_object(&report)?,
            Format::Text => print(&report),
        }
    }
    Ok(true)
}

impl Arguments {
    fn victim(&self) -> Option<Victim> {
        self.victim.map(|case| Victim {
            case,
            size: match self.victim_size {
                Some(size) => size.0 as usize,
                None if case.unit == 0 => 0,
                None => 8,
            },
            share: self.victims,
            warmup: self.warmup,
        })
    }

    fn check(&self, comm: &Comm, victim: Option<&Victim>) -> Result<(), Wrong> {
        let ranks = comm.size();
        let wrong = |why: &str| Err(Wrong(why.to_owned()));
        if !(1..=i32::MAX as u64).contains(&self.size.0) {
            return wrong("a message has 1 byte or more, and less than 2 GiB");
        }
        let mut suffering = 0;
        if let Some(victim) = victim {
            suffering = victim.ranks(ranks).len();
            if suffering == 0 {
                return wrong("no rank would be a victim: raise --victims, or start more ranks");
            }
            if victim.case.unit == 0 && self.victim_size.is_some() {
                return wrong("a barrier has no size: leave out --victim-size");
            }
            let checked = victim.case.check(suffering, victim.size);
            checked.map_err(|why| Wrong(format!("the victim: {why}")))?;
        }
        let message = self.size.0 as usize;
        let checked = (self.pattern).check(ranks - suffering, message, memory(comm));
        checked.map_err(|why| Wrong(format!("the load: {why}")))
    }
}

/// The memory of rank 0's machine, in bytes; no end of it where that is not known.
fn memory(comm: &Comm) -> u64 {
    let mut memory = [sysinfo().map_or(u64::MAX, |system| system.ram_total())];
    comm.broadcast(0, &mut memory);
    memory[0]
}

fn report<'a>(arguments: &Arguments, ranks: usize, outcome: &'a Outcome) -> Report<'a> {
    let sum = |count: fn(&Produced) -> u64| outcome.produced.iter().map(count).sum();
    let longest = outcome.produced.iter().map(|part| part.longest_gap_ns);
    Report {
        transport: "mpi",
        pattern: arguments.pattern,
        ranks,
        message: arguments.size.0,
        level: arguments.level.value(),
        produced_level: outcome.produced_level(),
        bandwidth: outcome.bandwidth(),
        bandwidth_measured: true,
        seconds: outcome.seconds(),
        sent_messages: sum(|part| part.sent_messages),
        sent_bytes: sum(|part| part.sent_bytes),
        received_messages: sum(|part| part.received_messages),
        received_bytes: sum(|part| part.received_bytes),
        longest_gap_ns: longest.max().unwrap_or_default(),
        per_rank: &outcome.produced,
        victim: outcome.victim.as_ref(),
    }
}

fn print(report: &Report<'_>) {
    println!(
        "{} of {} B at {} %: {:.1} % of {} for {:.3} s, {} messages of {} ranks",
        serde_json::json!(report.pattern)
            .as_str()
            .unwrap_or_default(),
        report.message,
        report.level,
        report.produced_level,
        show::bandwidth(report.bandwidth),
        report.seconds,
        report.received_messages,
        report.per_rank.len()
    );
    if let Some(victim) = report.victim {
        println!("  {} on ranks {:?}", victim.case, victim.ranks);
        println!(
            "  {:<10} {:>9} {:>11} {:>11} {:>11}",
            "", "n", "median", "mean", "99 %"
        );
        line("isolated", &victim.isolated);
        line("congested", &victim.congested);
        println!(
            "  impact: mean {:.3}, 99 % {:.3}",
            victim.impact.mean, victim.impact.p99
        );
    }
}

fn line(what: &str, figures: &Figures) {
    println!(
        "  {what:<10} {:>9} {:>11} {:>11} {:>11}",
        figures.samples,
        show::time(figures.median_ns),
        show::time(figures.mean_ns),
        show::time(figures.p99_ns)
    );
}

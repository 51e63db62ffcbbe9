use std::io::{self, Write as _};

use clap::Args;
use jitterlab_base::seed;
use jitterlab_base::units::{Bandwidth, Bytes, Nanos, Percent};
use jitterlab_load::transport;
use jitterlab_mpi::comm::Comm;
use jitterlab_mpi::library::Case;
use jitterlab_mpi::load::{self, End, Load, Outcome, Pattern, Produced, Victim};
use jitterlab_mpi_results::load::{Report, Transport};
use nix::sys::sysinfo::sysinfo;

use super::library::case;
use super::{Failure, Format, Wrong, print};

#[derive(Args)]
pub struct Arguments {
    /// The senders and receivers, for N ranks: pairs (rank k to rank k + N/2), alltoall (each to all others, in turn), rma-incast (all write into
    /// rank 0's memory), p2p-incast (all to rank 0) or rma-bcast (all read rank 0's memory)
    #[arg(long)]
    pattern: Pattern,
    /// Share of the bandwidth: 0 to 100 (percent). The bandwidth is measured first
    #[arg(long, value_name = "PERCENT")]
    level: Percent,
    /// How long the load lasts. With --victim: how long to measure, each time
    #[arg(long, default_value = "10s")]
    duration: Nanos,
    /// The load lasts until the standard input of rank 0 ends; of a pattern in which rank 0 sends
    #[arg(long, conflicts_with_all = ["duration", "victim"])]
    until_stdin_closes: bool,
    /// What a rank that sends can move, as in 10Gbit or 118MB/s; a number alone is bytes per second [default: measured first]
    #[arg(long)]
    bandwidth: Option<Bandwidth>,
    /// Rank 0 prints `sending` on stderr when the first message is sent
    #[arg(long, conflicts_with = "victim")]
    announce: bool,
    /// Size of a message
    #[arg(long, value_name = "BYTES", default_value_t = transport::Transport::Mpi.message())]
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

pub fn run(comm: &Comm, arguments: &Arguments) -> Result<bool, Failure> {
    let victim = arguments.victim();
    arguments.check(comm, victim.as_ref())?;
    let load = Load {
        pattern: arguments.pattern,
        level: arguments.level,
        message: arguments.size.0 as usize,
        bandwidth: arguments.bandwidth.map(|rate| rate.0 as f64),
        seed: arguments.seed,
    };
    let end = match &victim {
        Some(victim) => End::WithVictim(victim),
        None if arguments.until_stdin_closes => End::WithInput,
        None => End::After(arguments.duration),
    };
    let begins = || {
        if arguments.announce {
            let _ = io::stderr().write_all(b"sending\n");
        }
    };
    if let Some(outcome) = load::run(comm, &load, end, begins).map_err(Failure::Failed)? {
        let report = report(arguments, comm.size(), outcome);
        print(arguments.format, &report)?;
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
            duration: self.duration,
        })
    }

    fn check(&self, comm: &Comm, victim: Option<&Victim>) -> Result<(), Wrong> {
        let ranks = comm.size();
        let wrong = |why: &str| Err(Wrong(why.to_owned()));
        if !(1..=i32::MAX as u64).contains(&self.size.0) {
            return wrong("a message has 1 byte or more, and less than 2 GiB");
        }
        if self.bandwidth == Some(Bandwidth(0)) {
            return wrong("--bandwidth has to be above 0");
        }
        if self.until_stdin_closes && !self.pattern.sends_from_0() {
            return wrong(
                "--until-stdin-closes is for pairs and alltoall: in the others rank 0 sends nothing",
            );
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
        let checked = load::check(self.pattern, ranks - suffering, message, memory(comm));
        checked.map_err(|why| Wrong(format!("the load: {why}")))
    }
}

/// The memory of rank 0's machine, in bytes; no end of it where that is not known.
fn memory(comm: &Comm) -> u64 {
    let mut memory = [sysinfo().map_or(u64::MAX, |system| system.ram_total())];
    comm.broadcast(0, &mut memory);
    memory[0]
}

fn report(arguments: &Arguments, ranks: usize, outcome: Outcome) -> Report {
    let sum = |count: fn(&Produced) -> u64| outcome.produced.iter().map(count).sum();
    let longest = outcome.produced.iter().map(|part| part.longest_gap_ns);
    Report {
        transport: Transport::Mpi,
        pattern: arguments.pattern,
        ranks,
        message: arguments.size.0,
        level: arguments.level.value(),
        produced_level: outcome.produced_level(),
        bandwidth: outcome.bandwidth(),
        bandwidth_measured: arguments.bandwidth.is_none(),
        seconds: outcome.seconds(),
        sent_messages: sum(|part| part.sent_messages),
        sent_bytes: sum(|part| part.sent_bytes),
        received_messages: sum(|part| part.received_messages),
        received_bytes: sum(|part| part.received_bytes),
        longest_gap_ns: longest.max().unwrap_or_default(),
        per_rank: outcome.produced,
        victim: outcome.victim,
    }
}

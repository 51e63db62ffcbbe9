//! `jitterlab packet`: the packet suite.

mod link;
mod list;

use std::net::SocketAddr;
use std::path::PathBuf;

use jitterlab_experiment::samples;
use jitterlab_injector::units::{Bytes, Nanos};
use jitterlab_node_tuning::cpus::CpuSet;
use jitterlab_node_tuning::settings;
use jitterlab_node_tuning::system::System;
use jitterlab_packet::cases::rtt::{Length, Report, Rtt};
use jitterlab_packet::transport::{Transport, Wait};
use jitterlab_packet::{Error, server};

use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::peer::{self, Peer};

use link::{AdapterOptions, VerbsOptions};

/// The verbs of `jitterlab packet`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Show what can be measured, and over what
    List(list::List),
    /// Measure a case
    Run(Run),
    /// Be the other end of a case
    Serve(Serve),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::List(options) => options.run(),
        Command::Run(options) => options.run(),
        Command::Serve(options) => options.run(),
    }
}

/// The port of `packet serve` where none is given.
const PORT: u16 = 7411;

/// The cases.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Case {
    /// Ping-pong: the round-trip time of one message at a time
    Rtt,
}

/// Options of `packet run`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("length").args(["iterations", "duration"])))]
#[command(group(clap::ArgGroup::new("warm").args(["warmup", "warmup_iterations"])))]
pub struct Run {
    /// What to measure
    #[arg(long, value_enum)]
    case: Case,
    /// udp, tcp or verbs
    #[arg(long)]
    transport: Transport,
    #[command(flatten)]
    verbs: VerbsOptions,
    /// Size of a message
    #[arg(long, default_value = "64B")]
    size: Bytes,
    /// Messages to measure [default: 100000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1 << 27))]
    iterations: Option<u64>,
    /// Time to measure for
    #[arg(long, value_parser = span)]
    duration: Option<Nanos>,
    /// Time to warm up for; what is measured in it is discarded [default: 200ms]
    #[arg(long, value_parser = at_most_a_day)]
    warmup: Option<Nanos>,
    /// Messages to warm up with
    #[arg(long)]
    warmup_iterations: Option<u64>,
    /// A message without an answer after this time is lost (over tcp, and verbs with rc, it is
    /// waited for); after 20
    /// times this time without any answer the run ends
    #[arg(long, default_value = "100ms", value_parser = span)]
    timeout: Nanos,
    /// block: sleep until an answer comes; poll: hold the CPU and ask [default: block; verbs: poll]
    #[arg(long)]
    wait: Option<Wait>,
    /// HOST or HOST:PORT of a `packet serve`; without it, one is started on this machine
    #[arg(long)]
    to: Option<String>,
    /// Stay on this CPU
    #[arg(long)]
    cpu: Option<usize>,
    /// Keep the server that is started on this CPU
    #[arg(long)]
    server_cpu: Option<usize>,
    /// Write every sample to this file: Parquet, or text if its name ends in .csv
    #[arg(long)]
    samples: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Run {
    fn run(self) -> Result<Exit, Failure> {
        if let Some(path) = &self.samples {
            files::check_place("samples ", path)?;
        }
        let options = Rtt {
            link: self.verbs.link(self.transport)?,
            size: self.size,
            wait: self.wait(),
            warmup: match self.warmup_iterations {
                Some(count) => Length::Messages(count),
                None => Length::Time(self.warmup.unwrap_or(Nanos(200_000_000))),
            },
            length: match self.duration {
                Some(time) => Length::Time(time),
                None => Length::Messages(self.iterations.unwrap_or(100_000)),
            },
            timeout: self.timeout,
        };
        let Case::Rtt = self.case;
        options
            .link
            .check(options.size.0, options.wait)
            .map_err(failure)?;
        let peer = Peer::new(self.to.as_deref(), PORT, &self.serve())?;
        check_server_cpu(self.server_cpu, &peer)?;
        pin(self.cpu)?;
        let outcome = options.run(peer.address()).map_err(failure)?;
        drop(peer);
        let report = Report::of(&options, &outcome).map_err(Failure::run)?;
        if let Some(path) = &self.samples {
            let mut notes = vec![
                (
                    "meaning",
                    "RTT, ns, in the order of measurement".to_string(),
                ),
                ("case", report.case.to_string()),
                ("transport", report.transport.to_string()),
                ("size", report.size.to_string()),
            ];
            notes.extend(report.path.as_ref().map(|path| ("path", path.to_string())));
            samples::write(path, &outcome.samples, &notes).map_err(Failure::input)?;
        }
        output::print(self.format, &report, || text(&report))?;
        Ok(Exit::Done)
    }

    fn wait(&self) -> Wait {
        self.wait.unwrap_or(self.transport.usual_wait())
    }

    /// The arguments of the server that is started.
    fn serve(&self) -> Vec<String> {
        let mut arguments: Vec<String> = ["packet", "serve", "--transport", self.transport.name()]
            .map(String::from)
            .to_vec();
        arguments.extend(["--wait".into(), self.wait().name().into()]);
        arguments.extend(self.verbs.of_server());
        if let Some(cpu) = self.server_cpu {
            arguments.extend(["--cpu".into(), cpu.to_string()]);
        }
        arguments
    }
}

fn failure(error: Error) -> Failure {
    match error.is_of_input() {
        true => Failure::input(error),
        false => Failure::run(error),
    }
}

fn text(report: &Report) -> String {
    let rtt = &report.rtt_ns;
    let us = |ns: f64| format!("{:.3}", ns / 1e3);
    let early = if report.memory_full {
        "ended before its time: the memory for samples was full\n"
    } else {
        ""
    };
    let path = report.path.as_ref();
    let path = path.map_or(String::new(), |path| format!(" ({path})"));
    format!(
        "ping-pong over {}{path}, {} B, {}: {} round trips, {} lost, {} reordered, {} duplicates\n\
         RTT in us: least {}, median {}, mean {}, std {}, 90 % {}, 99 % {}, 99.9 % {}, greatest {}\n\
         one-way (half the RTT), median: {} us\n\
         clock: a reading takes {:.1} ns\n{early}",
        report.transport,
        report.size,
        report.wait.name(),
        rtt.n,
        report.lost,
        report.reordered,
        report.duplicates,
        us(rtt.min),
        us(rtt.median),
        us(rtt.mean),
        us(rtt.std),
        us(rtt.p90),
        us(rtt.p99),
        us(rtt.p999),
        us(rtt.max),
        us(report.one_way_median_ns),
        report.clock_read_ns,
    )
}

/// Options of `packet serve`.
#[derive(clap::Args)]
pub struct Serve {
    /// udp, tcp or verbs
    #[arg(long)]
    transport: Transport,
    #[command(flatten)]
    adapter: AdapterOptions,
    /// Address to listen on; port 0 chooses a free one
    #[arg(long, default_value_t = SocketAddr::from(([127, 0, 0, 1], PORT)))]
    bind: SocketAddr,
    /// block: sleep until a message comes; poll: hold the CPU and ask [default: block; verbs: poll]
    #[arg(long)]
    wait: Option<Wait>,
    /// Stay on this CPU
    #[arg(long)]
    cpu: Option<usize>,
    /// End when stdin does
    #[arg(long)]
    until_stdin_closes: bool,
}

impl Serve {
    fn run(self) -> Result<Exit, Failure> {
        let adapter = self.adapter.of(self.transport)?;
        let wait = self.wait.unwrap_or(self.transport.usual_wait());
        pin(self.cpu)?;
        if self.until_stdin_closes {
            peer::end_with_stdin();
        }
        server::serve(self.transport, self.bind, wait, &adapter, |address| {
            // A starter that does not read on still is served.
            let _ = server::announce(address);
        })
        .map_err(failure)?;
        Ok(Exit::Done)
    }
}

/// A time that something may take.
pub fn span(text: &str) -> Result<Nanos, String> {
    match at_most_a_day(text)? {
        Nanos(..1_000) => Err("the time has to be at least 1us".into()),
        time => Ok(time),
    }
}

fn at_most_a_day(text: &str) -> Result<Nanos, String> {
    const DAY: Nanos = Nanos(24 * 3600 * 1_000_000_000);
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if time > DAY {
        return Err("the time has to be at most 86400s, a day".into());
    }
    Ok(time)
}

/// Only a server that is started here can be kept on a CPU.
pub fn check_server_cpu(cpu: Option<usize>, peer: &Peer) -> Result<(), Failure> {
    if cpu.is_none() || peer.is_started() {
        return Ok(());
    }
    Err(Failure::input(
        "--server-cpu is for a server that is started here, but --to names one that is there: \
         give that one --cpu",
    ))
}

/// Keeps the calling thread on a CPU.
pub fn pin(cpu: Option<usize>) -> Result<(), Failure> {
    let Some(id) = cpu else {
        return Ok(());
    };
    // Not get_core_ids, which knows only the CPUs that this process was started on: on a tuned node those
    // that measure are not among them.
    let cpu = u32::try_from(id)
        .ok()
        .filter(|_| id < nix::sched::CpuSet::count());
    if let Some(cpu) = cpu {
        enter(&CpuSet::from_iter([cpu]))?;
    }
    match cpu.is_some() && core_affinity::set_for_current(core_affinity::CoreId { id }) {
        true => Ok(()),
        false => Err(Failure::input(format!(
            "cannot stay on CPU {id}, which this machine has not or does not allow"
        ))),
    }
}

/// Enters the partition of this node that has these CPUs, where `tune apply` has made one.
pub fn enter(cpus: &CpuSet) -> Result<(), Failure> {
    // Nothing is started, since nothing is changed.
    settings::join_partition(&System::at("/", ""), cpus).map_err(|error| {
        Failure::run(format!(
            "cannot enter the partition of CPUs {cpus} that `tune apply` has made: {error}"
        ))
    })
}

//! Background load beside a run: between hosts by `jitterlab load`, between ranks by `jitterlab-mpi load`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_cluster::{Host, Ready};
use jitterlab_load::Produced;
use jitterlab_load::transport::Transport;
use jitterlab_mpi_results::load;

use crate::command::{Failed, SLACK, own, printed, words};
use crate::hosts::{Hosts, Ranks};
use crate::mpi::PROGRAM;
use crate::scene::Mpi;
use crate::spec::Load;

/// The line that a load prints when it begins. A measurement that began before would count as measured under it.
const BEGINS: &str = "^sending$";

/// A load between hosts goes on until it is stopped.
const UNTIL_STOPPED: Nanos = Nanos(24 * 3600 * 1_000_000_000);

/// A load that was started.
#[derive(Debug)]
pub(crate) enum Background<'a> {
    /// Senders and sinks by their hosts, each by what its worker stops it by.
    Network {
        senders: Vec<(&'a str, u32)>,
        sinks: BTreeMap<&'a str, (u32, SocketAddr)>,
    },
    /// Ranks, one on each host.
    Mpi(Ranks<'a>),
}

impl<'a> Background<'a> {
    /// Starts a load of so many percent of a bandwidth in bytes a second.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn start(
        hosts: &mut Hosts<'a>,
        load: &'a Load,
        percent: u8,
        bandwidth: f64,
        seed: u64,
    ) -> Result<Self, Failed> {
        let rate = Bytes(bandwidth as u64).to_string();
        if let Some(mpi) = &load.ranks {
            let pattern = match load.between.is_empty() {
                true => "pairs",
                false => "alltoall",
            };
            let rank = of_ranks(load, pattern, percent.into())
                .chain(words(&["--bandwidth", &rate, "--seed", &seed.to_string()]))
                .chain(words(&["--until-stdin-closes", "--announce"]));
            let begins = Ready::Line(BEGINS.into());
            let ranks = hosts.start_ranks(mpi, ranks(mpi), rank, begins)?;
            return Ok(Background::Mpi(ranks));
        }
        let mut sinks = BTreeMap::new();
        let mut senders = Vec::new();
        for (seed, (from, to)) in (seed..).zip(load.flows()) {
            let (_, listening) = match sinks.get(to) {
                Some(sink) => *sink,
                None => {
                    let sink = start_sink(hosts, load, to)?;
                    *sinks.entry(to).or_insert(sink)
                }
            };
            let level = f64::from(percent) * load.share();
            let send = of_sender(hosts.host(from)?, load, listening, level, UNTIL_STOPPED)
                .chain(words(&["--bandwidth", &rate]))
                .chain(words(&["--seed", &seed.to_string(), "--announce"]));
            let program = own(send, hosts.host(from)?.cpu);
            let begins = Ready::Line(BEGINS.into());
            let (sender, _) = hosts.worker(from)?.start_program(program, begins)?;
            senders.push((from, sender));
        }
        Ok(Background::Network { senders, sinks })
    }

    /// Ends it; gives what it has produced.
    ///
    /// # Errors
    /// It had ended before, or does not say what it was.
    pub(crate) fn end(
        self,
        hosts: &mut Hosts<'a>,
        load: &Load,
        percent: u8,
    ) -> Result<Option<Produced>, Failed> {
        match self {
            Background::Network { senders, sinks } => {
                let mut produced = Vec::new();
                for (from, sender) in senders {
                    let told = hosts.worker(from)?.stop(sender)?;
                    let told = printed(&told).map_err(of_load)?;
                    produced.push(told);
                }
                for (to, (sink, _)) in sinks {
                    hosts.worker(to)?.stop(sink)?;
                }
                let level = f64::from(percent);
                Ok(Produced::together(&produced, level, load.share()))
            }
            Background::Mpi(ranks) => {
                let report = hosts.finish_ranks(ranks);
                let report = report.map_err(|failed| failed.say(of_load))?;
                Ok(Some(between_ranks(&report)))
            }
        }
    }
}

fn of_load(said: String) -> String {
    format!("the background load: {said}")
}

/// The one-way bandwidth in bytes a second that loads are shares of, from the first host that sends.
///
/// # Errors
/// Why it is not known.
pub(crate) fn measure_bandwidth<'a>(hosts: &mut Hosts<'a>, load: &'a Load) -> Result<f64, Failed> {
    if let Some(mpi) = &load.ranks {
        let rank = of_ranks(load, "pairs", 0.0).chain(words(&["--duration", "1ms"]));
        let report: load::Report = hosts.ranks(mpi, 2, rank, SLACK)?;
        return Ok(report.bandwidth);
    }
    let (from, to) = load.flows()[0];
    let (sink, listening) = start_sink(hosts, load, to)?;
    let run = of_sender(hosts.host(from)?, load, listening, 0.0, Nanos(1_000_000));
    let program = own(run, hosts.host(from)?.cpu);
    let ended = hosts.worker(from)?.run(program, SLACK)?;
    hosts.worker(to)?.stop(sink)?;
    let produced: Produced = printed(&ended)?;
    Ok(produced.bandwidth)
}

fn start_sink<'a>(
    hosts: &mut Hosts<'a>,
    load: &Load,
    name: &'a str,
) -> Result<(u32, SocketAddr), String> {
    let to = hosts.host(name)?;
    let address = to.address().ok_or("the sink has no address")?;
    let bind = SocketAddr::new(address, 0).to_string();
    let serve =
        words(&["load", "serve", "--until-stdin-closes", "--bind", &bind]).chain(device(load, to));
    hosts.worker(name)?.start_server(own(serve, to.cpu))
}

/// The RDMA device of a host, where a load goes over verbs and the host names one.
fn device(load: &Load, host: &Host) -> impl Iterator<Item = String> + use<> {
    let device = host.device.as_ref();
    let device = device.filter(|_| load.transport == Transport::Verbs);
    let option = device.map(|device| ["--device".into(), device.clone()]);
    option.into_iter().flatten()
}

fn of_sender(
    from: &Host,
    load: &Load,
    to: SocketAddr,
    percent: f64,
    duration: Nanos,
) -> impl Iterator<Item = String> {
    words(&["load", "run", "--format", "json"])
        .chain(words(&["--transport", load.transport.name()]))
        .chain(device(load, from))
        .chain(words(&["--level", &percent.to_string()]))
        .chain(words(&["--to", &to.to_string()]))
        .chain(words(&["--duration", &duration.to_string()]))
        .chain(words(&["--message", &load.message().to_string()]))
}

/// The ranks of a load; those of a host that is alone are two.
fn ranks(mpi: &Mpi) -> u32 {
    mpi.hosts.values().sum::<u32>().max(2)
}

fn of_ranks(load: &Load, pattern: &str, percent: f64) -> impl Iterator<Item = String> {
    words(&[PROGRAM, "load", "--format", "json"])
        .chain(words(&["--pattern", pattern]))
        .chain(words(&["--level", &percent.to_string()]))
        .chain(words(&["--size", &load.message().to_string()]))
}

/// A load between ranks in the terms of one between hosts: the bandwidth is that of a rank that sends.
fn between_ranks(report: &load::Report) -> Produced {
    let bandwidths = report.per_rank.iter().map(|rank| rank.bandwidth);
    let unarrived = report
        .sent_messages
        .saturating_sub(report.received_messages);
    Produced {
        transport: Transport::Mpi,
        message: report.message,
        level: report.level,
        produced_level: report.produced_level,
        bandwidth: bandwidths.fold(0.0, f64::max),
        bandwidth_measured: report.bandwidth_measured,
        seconds: report.seconds,
        sent_messages: report.sent_messages,
        sent_bytes: report.sent_bytes,
        received_messages: report.received_messages,
        received_bytes: report.received_bytes,
        lost_messages: unarrived,
        refused_messages: 0,
        longest_gap_ns: report.longest_gap_ns,
        sent_bytes_each_100ms: Vec::new(),
    }
}

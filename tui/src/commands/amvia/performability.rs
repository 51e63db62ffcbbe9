//! `jitterlab amvia performability`: what failures cost, by model, simulation and experiment.

use jitterlab_amvia_suite::Protocol;
use jitterlab_amvia_suite::performability::{
    Asked, Assumed, Component, Failing, Failures, Over, Report, Reports, fixed,
};
use jitterlab_base::print::Text;
use jitterlab_base::seed;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::transport::Transport;

use crate::commands::packet::link::AdapterOptions;
use crate::commands::packet::{count, span};
use crate::cpus::{choose, pin};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `amvia performability`.
#[derive(clap::Args)]
pub struct Options {
    /// Protocols: amvia, amvia-riding, amudp, two-way
    #[arg(long, value_delimiter = ',', default_value = "two-way,amvia,amudp")]
    protocol: Vec<Protocol>,
    /// Transports between two threads of this program: udp (over loopback), shm, verbs
    #[arg(long, value_delimiter = ',', default_value = "udp,shm")]
    transport: Vec<Transport>,
    #[command(flatten)]
    adapter: AdapterOptions,
    /// Bit error rates
    #[arg(long, value_delimiter = ',', default_value = "1e-7,1e-6,1e-5,1e-4", value_parser = chance)]
    ber: Vec<f64>,
    /// Components that fail, one after the other: application, library, kernel, nic, wire, switch
    #[arg(long, value_delimiter = ',')]
    component: Vec<Component>,
    /// Probabilities that a component fails, for each message [default: 1e-4,1e-3,1e-2]
    #[arg(long, value_delimiter = ',', requires = "component", value_parser = chance)]
    chance: Vec<f64>,
    /// Mean time between two crashes of a target. Only the last table of the output depends on it
    #[arg(long, value_parser = span)]
    up: Option<Nanos>,
    /// Mean time to repair a target [default: a spare takes its place at once]
    #[arg(long, requires = "up", value_parser = span)]
    repair: Option<Nanos>,
    /// CPU of the thread that makes requests [default: any CPU; on a tuned node, each of the two threads gets a free CPU of those
    /// reserved for measurements]
    #[arg(long, requires = "server_cpu")]
    cpu: Option<usize>,
    /// CPU of the thread that answers; it must differ from --cpu, since both threads poll
    #[arg(long, requires = "cpu")]
    server_cpu: Option<usize>,
    /// Timeout before a message is sent again; it does not adapt
    #[arg(long, default_value = "1ms", value_parser = span)]
    timeout: Nanos,
    /// Size of a request, and of a reply
    #[arg(long, default_value = "32B")]
    size: Bytes,
    /// Each experiment makes at most this many transactions while failures are injected, as in 10k or 1M
    #[arg(long, default_value = "1200k", value_parser = count::<u64>(1..=1 << 30))]
    measured: u64,
    /// Transactions of each simulation, as in 10k or 1M
    #[arg(long, default_value = "1M", value_parser = count::<u64>(1..=1 << 30))]
    simulated: u64,
    /// Seed of the faults and of the simulation
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn chance(text: &str) -> Result<f64, String> {
    let chance = text
        .parse()
        .ok()
        .filter(|chance| 0.0 < *chance && *chance < 1.0);
    chance.ok_or_else(|| format!("`{text}` is not a number between 0 and 1, as in `1e-6`"))
}

impl Options {
    /// Measures, simulates and computes.
    pub fn run(self) -> Result<Exit, Failure> {
        let most = u64::from(fixed(Protocol::Amvia, 1).message);
        if self.size.0 > most {
            return Err(Failure::input(format!("--size is at most {}", Bytes(most))));
        }
        if self.cpu.is_some() && self.cpu == self.server_cpu {
            return Err(Failure::input(
                "--cpu and --server-cpu have to differ, because both threads poll",
            ));
        }
        let [cpu, server_cpu] = self.cpus();
        let server_cpu = server_cpu.and_then(|cpu| u32::try_from(cpu).ok());
        pin(cpu)?;
        let mut all = Vec::new();
        for &transport in &self.transport {
            let over = Over {
                transport,
                adapter: self.adapter.of(transport)?,
                server_cpu,
            };
            let asked = self.protocol.iter().map(|&it| self.asked(&over, it));
            all.extend(asked);
        }
        let reports = all
            .iter()
            .map(|asked| Report::of(asked).map_err(Failure::of));
        let reports = Reports(reports.collect::<Result<_, _>>()?);
        output::print(self.format, &reports, || reports.text())?;
        Ok(match reports.agree() {
            true => Exit::Done,
            false => Exit::Finding,
        })
    }

    /// The CPUs of the two threads: of both or of none.
    fn cpus(&self) -> [Option<usize>; 2] {
        let chosen = [self.cpu, self.server_cpu].map(choose);
        match chosen {
            [Some(_), Some(_)] => chosen,
            _ => [None; 2],
        }
    }

    fn asked(&self, over: &Over, protocol: Protocol) -> Asked {
        Asked {
            over: over.clone(),
            protocol,
            failing: self.failing(),
            assumed: self.assumed(),
            timeout: self.timeout.0,
            payload: self.size.0 as usize,
            simulated: self.simulated,
            measured: self.measured,
            seed: self.seed,
        }
    }

    fn failing(&self) -> Vec<Failing> {
        Failing::each(&self.ber, &self.component, &self.chance)
    }

    /// The time that a target runs between crashes, for the last table.
    fn assumed(&self) -> Vec<Assumed> {
        let Some(up) = self.up else {
            return Vec::new();
        };
        let repair = self.repair.unwrap_or(Nanos(0));
        let each = self.ber.iter().map(|&rate| Assumed {
            name: "as told",
            failures: Failures::of_bits(rate),
            up_s: up.as_secs_f64(),
            repair_s: repair.as_secs_f64(),
        });
        each.collect()
    }
}

//! `jitterlab load`: background load on the network.

mod mpi;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jitterlab_base::print::Text;
use jitterlab_base::units::{Bandwidth, Bytes, Nanos, Percent};
use jitterlab_load::sender::Load;
use jitterlab_load::sink;
use jitterlab_load::transport::Transport;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::packet::link::{AdapterOptions, for_verbs};
use super::packet::{check_server_cpu, span};
use crate::cpus::beside_measuring;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::peer::{self, Peer};

/// The verbs of `jitterlab load`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Send messages with random gaps, at a share of the bandwidth
    Run(Run),
    /// Receive the load and count its messages
    Serve(Serve),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(options) => options.run(),
        Command::Serve(options) => options.run(),
    }
}

/// The port of `load serve` where none is given.
const PORT: u16 = 7412;

/// Options of `load run`.
#[derive(clap::Args)]
pub struct Run {
    /// udp, tcp, verbs or mpi
    #[arg(long)]
    transport: Transport,
    /// Share of the one-way bandwidth: 0 to 100 (percent)
    #[arg(long)]
    level: Percent,
    /// HOST or HOST:PORT of a running `load serve` [default: start a server on this machine]
    #[arg(long)]
    to: Option<String>,
    /// How long the load lasts
    #[arg(long, default_value = "10s", value_parser = span)]
    duration: Nanos,
    /// Size of a message [default: 1400B; over verbs 4KiB, over MPI 64KiB]
    #[arg(long)]
    message: Option<Bytes>,
    /// One-way bandwidth, as in 10Gbit or 118MB/s; a number alone is bytes per second [default: measured first]
    #[arg(long)]
    bandwidth: Option<Bandwidth>,
    /// Seed of the random gaps
    #[arg(long, default_value_t = 5489)]
    seed: u64,
    /// Run on this CPU [default: any CPU; on a tuned node, those that are not reserved for measurements]
    #[arg(long)]
    cpu: Option<usize>,
    /// Print `sending` on stderr when the first message is sent
    #[arg(long)]
    announce: bool,
    /// The CPU of the `load serve` that this command starts [default: as for --cpu]
    #[arg(long)]
    server_cpu: Option<usize>,
    #[command(flatten)]
    adapter: AdapterOptions,
    #[command(flatten)]
    mpi: mpi::Options,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Run {
    fn run(self) -> Result<Exit, Failure> {
        if let Some(option) = self.adapter.given()
            && self.transport != Transport::Verbs
        {
            return Err(for_verbs(option, self.transport));
        }
        let Some(network) = self.transport.network() else {
            self.check_over_mpi()?;
            return mpi::start(&self);
        };
        if let Some(option) = self.mpi.given() {
            return Err(Failure::input(format!(
                "{option} is for load over MPI: --transport mpi"
            )));
        }
        let message = self.message.unwrap_or(self.transport.message());
        let sizes = self.transport.sizes();
        if !sizes.contains(&message.0) {
            return Err(Failure::input(format!(
                "--message has to be {} to {} bytes over {}",
                sizes.start(),
                sizes.end(),
                self.transport
            )));
        }
        if self.bandwidth == Some(Bandwidth(0)) {
            return Err(Failure::input("--bandwidth has to be above 0"));
        }
        let load = Load {
            transport: network,
            adapter: self.adapter.adapter(),
            message,
            level: self.level,
            duration: self.duration,
            bandwidth: self.bandwidth.map(|rate| rate.0 as f64),
            seed: self.seed,
        };
        let mut serve = vec!["load".to_string(), "serve".into()];
        serve.extend(self.adapter.of_server());
        if let Some(cpu) = self.server_cpu {
            serve.extend(["--cpu".into(), cpu.to_string()]);
        }
        let peer = Peer::new(self.to.as_deref(), PORT, &serve)?;
        check_server_cpu(self.server_cpu, &peer)?;
        beside_measuring(self.cpu)?;
        // Whoever stops the load is still told what it was; who cannot wait for that says it twice.
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))
                .map_err(Failure::run)?;
            signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::run)?;
        }
        let begins = || {
            if self.announce {
                let _ = writeln!(std::io::stderr(), "sending");
            }
        };
        let produced = load
            .run_telling(peer.address(), &stop, begins)
            .map_err(Failure::of)?;
        drop(peer);
        output::print(self.format, &produced, || produced.text())?;
        Ok(Exit::Done)
    }
}

impl Run {
    /// Ranks find each other, measure their bandwidth, and stay where their launcher puts them.
    fn check_over_mpi(&self) -> Result<(), Failure> {
        let given = [
            ("--to", self.to.is_some()),
            ("--bandwidth", self.bandwidth.is_some()),
            ("--cpu", self.cpu.is_some()),
            ("--server-cpu", self.server_cpu.is_some()),
            ("--announce", self.announce),
        ];
        match given.into_iter().find(|&(_, given)| given) {
            Some((option, _)) => Err(Failure::input(format!(
                "{option} is not for load over MPI: say to its launcher where ranks run, after --"
            ))),
            None => Ok(()),
        }
    }
}

/// Options of `load serve`.
#[derive(clap::Args)]
pub struct Serve {
    /// Address to listen on; port 0 chooses a free one
    #[arg(long, value_parser = peer::listening, default_value_t = SocketAddr::from(([127, 0, 0, 1], PORT)))]
    bind: SocketAddr,
    #[command(flatten)]
    adapter: AdapterOptions,
    /// Run on this CPU [default: any CPU; on a tuned node, those that are not reserved for measurements]
    #[arg(long)]
    cpu: Option<usize>,
    /// Exit when stdin is closed
    #[arg(long)]
    until_stdin_closes: bool,
}

impl Serve {
    fn run(self) -> Result<Exit, Failure> {
        beside_measuring(self.cpu)?;
        if self.until_stdin_closes {
            peer::end_with_stdin();
        }
        sink::serve(self.bind, &self.adapter.adapter(), |address| {
            // A starter that does not read on still is served.
            let _ = output::announce(address);
        })
        .map_err(Failure::run)?;
        Ok(Exit::Done)
    }
}

//! `jitterlab packet`: the packet suite.

pub mod link;
mod list;
mod open;
mod run;

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use jitterlab_base::units::{Count, Nanos};
use jitterlab_packet::server;
use jitterlab_packet::transport::Transport;

use crate::cpus::{choose, pin};
use crate::outcome::{Exit, Failure};
use crate::output;
use crate::peer::{self, Peer};

use link::AdapterOptions;

/// The verbs of `jitterlab packet`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// List the measurements (cases), and the transports that this machine has
    List(list::List),
    /// Run a measurement that `packet list` shows
    Run(Box<run::Run>),
    /// Run the server that `packet run` measures against
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

/// Options of `packet serve`.
#[derive(clap::Args)]
pub struct Serve {
    /// udp, tcp, verbs or shm
    #[arg(long)]
    transport: Transport,
    #[command(flatten)]
    adapter: AdapterOptions,
    /// Address to listen on; port 0 chooses a free one
    #[arg(long, value_parser = peer::listening, default_value_t = SocketAddr::from(([127, 0, 0, 1], PORT)))]
    bind: SocketAddr,
    /// Run on this CPU [default: any CPU; on a tuned node, the first free CPU that is reserved for measurements]
    #[arg(long)]
    cpu: Option<usize>,
    /// Exit when stdin is closed
    #[arg(long)]
    until_stdin_closes: bool,
}

impl Serve {
    fn run(self) -> Result<Exit, Failure> {
        let adapter = self.adapter.of(self.transport)?;
        pin(choose(self.cpu))?;
        if self.until_stdin_closes {
            peer::end_with_stdin();
        }
        server::serve(self.transport, self.bind, &adapter, |address| {
            // A starter that does not read on still is served.
            let _ = output::announce(address);
        })
        .map_err(Failure::of)?;
        Ok(Exit::Done)
    }
}

/// Reads a number of something that is within a range.
pub fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let Count(count) = text.parse().map_err(|error| format!("{error}"))?;
        let is_within = range.contains(&count);
        let count = T::try_from(count).ok().filter(|_| is_within);
        count.ok_or_else(|| format!("the number has to be {} to {}", range.start(), range.end()))
    }
}

/// A time that something may take.
pub fn span(text: &str) -> Result<Nanos, String> {
    match at_most_a_day(text)? {
        Nanos(..1_000) => Err("the time has to be at least 1us".into()),
        time => Ok(time),
    }
}

/// A time that may be none.
pub fn at_most_a_day(text: &str) -> Result<Nanos, String> {
    const DAY: Nanos = Nanos(24 * 3600 * 1_000_000_000);
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if time > DAY {
        return Err("the time has to be at most one day".into());
    }
    Ok(time)
}

/// Only a server that is started here can be kept on a CPU.
pub fn check_server_cpu(cpu: Option<usize>, peer: &Peer) -> Result<(), Failure> {
    if cpu.is_none() || peer.is_started() {
        return Ok(());
    }
    Err(Failure::input(
        "--server-cpu is only for a server that this command starts; start the server that --to \
         names with --cpu",
    ))
}

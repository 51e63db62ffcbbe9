//! `jitterlab amvia performability`: what failures cost, by model, simulation and experiment.

use jitterlab_amvia::protocol::Protocol;
use jitterlab_amvia_suite::performability::{Asked, Carrier, Report, fixed};
use jitterlab_base::seed;
use jitterlab_base::units::{Bytes, Nanos};

use crate::commands::packet::{count, span};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format, parts};

/// Options of `amvia performability`.
#[derive(clap::Args)]
pub struct Options {
    /// Protocols: amvia, amudp, two-way
    #[arg(long, value_delimiter = ',', default_value = "two-way,amvia,amudp")]
    protocol: Vec<Protocol>,
    /// Transports between two threads of this program: udp (over loopback), shm
    #[arg(long, value_delimiter = ',', default_value = "udp,shm")]
    transport: Vec<Carrier>,
    /// Bit error rates
    #[arg(long, value_delimiter = ',', default_value = "1e-7,1e-6,1e-5,1e-4", value_parser = rate)]
    ber: Vec<f64>,
    /// The timeout, which is fixed
    #[arg(long, default_value = "1ms", value_parser = span)]
    timeout: Nanos,
    /// Size of a request, and of a reply
    #[arg(long, default_value = "32B")]
    size: Bytes,
    /// Transactions of each experiment at most, as in 10k or 1M
    #[arg(long, default_value = "1M", value_parser = count::<u64>(1..=1 << 30))]
    measured: u64,
    /// Transactions of each simulation, as in 10k or 1M
    #[arg(long, default_value = "1M", value_parser = count::<u64>(1..=1 << 30))]
    simulated: u64,
    /// Draws faults and simulations
    #[arg(long, default_value_t = seed::DEFAULT)]
    seed: u64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| 0.0 < *rate && *rate < 1.0);
    rate.ok_or_else(|| format!("`{text}` is not a number between 0 and 1, as in `1e-6`"))
}

impl Options {
    /// Measures, simulates and computes.
    pub fn run(self) -> Result<Exit, Failure> {
        let most = u64::from(fixed(Protocol::Amvia, 1).message);
        if self.size.0 > most {
            return Err(Failure::input(format!("--size is at most {}", Bytes(most))));
        }
        let asked = Asked {
            carriers: self.transport,
            protocols: self.protocol,
            rates: self.ber,
            timeout: self.timeout.0,
            payload: self.size.0 as usize,
            simulated: self.simulated,
            measured: self.measured,
            seed: self.seed,
        };
        let report = Report::of(&asked).map_err(Failure::run)?;
        output::print(self.format, &report, || parts(&report))?;
        Ok(match report.agrees() {
            true => Exit::Done,
            false => Exit::Finding,
        })
    }
}

//! The options of `serve` and `call` for their endpoints.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Endpoint, EndpointError, Options};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::names::Name;
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::EndpointId;
use jitterlab_amvia::transport::{
    self, Address, FaultCounts, FaultReader, Faults, Faulty, Shm, Udp, Verbs,
};
use jitterlab_amvia::wire::MAX_WINDOW;
use jitterlab_amvia_suite::Protocol;
use jitterlab_base::show;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::transport::Transport;
use serde::Serialize;

use crate::commands::packet::link::AdapterOptions;
use crate::commands::packet::{count, span};
use crate::outcome::Failure;

/// The handler that waits so long as it is told, and replies with that.
pub const WAIT: u16 = 2;

/// An endpoint of the command line. Both ends have the same protocol and window.
#[derive(clap::Args)]
pub struct End {
    /// amvia (request, acknowledgement, reply), amvia-riding (the acknowledgement rides on the reply), amudp (request, reply,
    /// acknowledgement) or two-way (request, reply)
    #[arg(long, default_value_t = Protocol::Amvia)]
    protocol: Protocol,
    /// Maximum number of transactions under way, in each direction
    #[arg(long, default_value_t = 16, value_parser = count::<u8>(1..=MAX_WINDOW.into()))]
    window: u8,
    /// Longest message
    #[arg(long, default_value = "8KiB")]
    message: Bytes,
    /// Shortest wait before a message is sent again
    #[arg(long, default_value = "1ms", value_parser = span)]
    min_rto: Nanos,
    /// Longest wait before a message is sent again; if --min-rto has the same value, all waits are equal
    #[arg(long, default_value = "1s", value_parser = span)]
    max_rto: Nanos,
    /// Faults in the messages that this endpoint sends, as in ber=1e-6,loss=1%,duplicate=1%,reorder=1%,delay=2ms,seed=7
    #[arg(long, value_name = "FAULT=…,…")]
    faults: Option<Faults>,
    /// Durability of the log of transactions: none (kept in memory), process (survives kill -9) or power (survives a power cut)
    #[arg(long, default_value_t = Durability::None)]
    durability: Durability,
    /// File of the log of transactions; it is created if it is missing
    #[arg(long)]
    log: Option<PathBuf>,
    #[command(flatten)]
    adapter: AdapterOptions,
}

/// An endpoint, and what reads the faults that it makes.
pub struct Opened {
    pub endpoint: Endpoint,
    faults: Option<FaultReader>,
}

/// The faults that an endpoint has made of what it sent, and what it took for no frame of what came.
#[derive(Debug, Clone, Serialize)]
pub struct Harmed {
    frames: u64,
    damaged: u64,
    flipped_bits: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
    delayed: u64,
    /// Frames that came and were refused: what the other end has damaged, as far as it was detected.
    refused: u64,
}

impl Opened {
    /// The faults until now; none where none were asked for.
    pub fn harmed(&self) -> Result<Option<Harmed>, Failure> {
        let Some(reader) = &self.faults else {
            return Ok(None);
        };
        let FaultCounts {
            frames,
            damaged,
            flipped,
            lost,
            duplicated,
            reordered,
            delayed,
        } = reader.read();
        Ok(Some(Harmed {
            frames,
            damaged,
            flipped_bits: flipped,
            lost,
            duplicated,
            reordered,
            delayed,
            refused: self.endpoint.undecodable().map_err(failed)?,
        }))
    }
}

impl Harmed {
    /// A line for people.
    pub fn text(&self) -> String {
        let parts = [
            (self.damaged, "damaged"),
            (self.lost, "lost"),
            (self.duplicated, "sent twice"),
            (self.reordered, "reordered"),
            (self.delayed, "held back"),
        ];
        let done: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", show::count(*count)))
            .collect();
        let done = match done.is_empty() {
            true => "no fault made".into(),
            false => done.join(", "),
        };
        format!(
            "of {} frames sent: {done}; {} that came were damaged, and refused\n",
            show::count(self.frames),
            show::count(self.refused),
        )
    }
}

impl End {
    /// Makes the endpoint `name` at `address`.
    pub fn open(&self, bundle: &Bundle, name: &Name, address: &Address) -> Result<Opened, Failure> {
        let message = u32::try_from(self.message.0)
            .map_err(|_| Failure::input("--message has to be below 4GiB"))?;
        let options = Options {
            config: Config {
                protocol: self.protocol.of_library(),
                ack_delay: self.protocol.ack_delay(),
                window: self.window,
                message,
                min_rto: self.min_rto.0,
                max_rto: self.max_rto.0,
                ..Config::default()
            },
            durability: self.durability,
            log: self.log.clone(),
            ..Options::default()
        };
        let transport = match address {
            Address::Udp(_) => Transport::Udp,
            Address::Shm(_) => Transport::Shm,
            Address::Verbs(_) => Transport::Verbs,
        };
        let adapter = self.adapter.of(transport)?;
        match address {
            Address::Udp(at) => {
                let udp = Udp::bind(*at, Udp::MTU).map_err(Failure::run)?;
                self.open_over(bundle, name, udp, &options)
            }
            Address::Shm(place) => {
                let shm = Shm::open(place.clone(), Shm::MTU).map_err(Failure::run)?;
                self.open_over(bundle, name, shm, &options)
            }
            Address::Verbs(at) => {
                let verbs = Verbs::bind(*at, adapter, Verbs::MTU).map_err(Failure::run)?;
                self.open_over(bundle, name, verbs, &options)
            }
        }
    }

    fn open_over(
        &self,
        bundle: &Bundle,
        name: &Name,
        transport: impl transport::Transport + 'static,
        options: &Options,
    ) -> Result<Opened, Failure> {
        let name = name.as_str();
        let Some(faults) = self.faults else {
            let endpoint = bundle.endpoint(name, transport, options).map_err(failed)?;
            return Ok(Opened {
                endpoint,
                faults: None,
            });
        };
        let faulty = Faulty::new(transport, faults, EndpointId::of(name).0);
        let reader = faulty.reader();
        Ok(Opened {
            endpoint: bundle.endpoint(name, faulty, options).map_err(failed)?,
            faults: Some(reader),
        })
    }

    /// True if it keeps a log, which belongs to one name.
    pub fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// The address of a client that reaches `peer`.
    pub fn own(peer: &Address) -> Result<Address, Failure> {
        let any = |peer: &SocketAddr| match peer {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        match peer {
            Address::Udp(peer) => Ok(Address::Udp(any(peer))),
            Address::Shm(_) => {
                let name = format!("call-{}", std::process::id());
                Ok(Address::Shm(name.parse().map_err(Failure::run)?))
            }
            Address::Verbs(peer) => Ok(Address::Verbs(any(peer))),
        }
    }
}

/// A failure of an endpoint: of what it was told, or of the system.
pub fn failed(error: EndpointError) -> Failure {
    match error {
        EndpointError::Config(_) | EndpointError::Durability(_) | EndpointError::Log(_) => {
            Failure::input(error)
        }
        _ => Failure::run(error),
    }
}

/// The time of one wait of a loop.
pub const TURN: Duration = Duration::from_millis(1);

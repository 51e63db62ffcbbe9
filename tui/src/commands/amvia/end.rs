//! What `serve` and `call` are told of their endpoints.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Endpoint, EndpointError, Options};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::names::Name;
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transport::{Address, Shm, Udp, Verbs};
use jitterlab_amvia::wire::MAX_WINDOW;
use jitterlab_amvia_suite::Protocol;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::transport::Transport;

use crate::commands::packet::link::AdapterOptions;
use crate::commands::packet::span;
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
    /// Transactions under way at most, in each direction
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_WINDOW)))]
    window: u8,
    /// Longest message
    #[arg(long, default_value = "8KiB")]
    message: Bytes,
    /// Shortest wait before a message is sent again
    #[arg(long, default_value = "1ms", value_parser = span)]
    min_rto: Nanos,
    /// What the log survives: none (it is memory), process (kill -9 too) or power (a power cut)
    #[arg(long, default_value_t = Durability::None)]
    durability: Durability,
    /// File of the log; it is made where it is not there
    #[arg(long)]
    log: Option<PathBuf>,
    #[command(flatten)]
    adapter: AdapterOptions,
}

impl End {
    /// Makes the endpoint `name` at `address`.
    pub fn open(
        &self,
        bundle: &Bundle,
        name: &Name,
        address: &Address,
    ) -> Result<Endpoint, Failure> {
        let message = u32::try_from(self.message.0)
            .map_err(|_| Failure::input("--message has to be below 4GiB"))?;
        let options = Options {
            config: Config {
                protocol: self.protocol.of_library(),
                ack_delay: self.protocol.ack_delay(),
                window: self.window,
                message,
                min_rto: self.min_rto.0,
                ..Config::default()
            },
            durability: self.durability,
            log: self.log.clone(),
            ..Options::default()
        };
        let name = name.as_str();
        let transport = match address {
            Address::Udp(_) => Transport::Udp,
            Address::Shm(_) => Transport::Shm,
            Address::Verbs(_) => Transport::Verbs,
        };
        let adapter = self.adapter.of(transport)?;
        let made = match address {
            Address::Udp(at) => {
                let udp = Udp::bind(*at, Udp::MTU).map_err(Failure::run)?;
                bundle.endpoint(name, udp, &options)
            }
            Address::Shm(place) => {
                let shm = Shm::open(place.clone(), Shm::MTU).map_err(Failure::run)?;
                bundle.endpoint(name, shm, &options)
            }
            Address::Verbs(at) => {
                let verbs = Verbs::bind(*at, adapter, Verbs::MTU).map_err(Failure::run)?;
                bundle.endpoint(name, verbs, &options)
            }
        };
        made.map_err(failed)
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

/// How long one wait of a loop lasts.
pub const TURN: Duration = Duration::from_millis(1);

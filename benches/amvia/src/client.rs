//! The end that measures.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jitterlab_amvia::endpoint::{self, Bundle, Credit, Endpoint, PeerId, Transaction};
use jitterlab_amvia::protocol::{Config, Counters};
use jitterlab_amvia::transaction::{EndpointId, InitiatorState};
use jitterlab_amvia::transport::{self, Address, Faults, Faulty, Shm, Udp, Verbs};
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_injector::environment;
use jitterlab_packet::transport::Transport;
use jitterlab_verbs::Adapter;

use crate::carrier::Carrier;
use crate::delayed::Delayed;
use crate::error::Error;
use crate::protocol::Protocol;

/// The options of the end that measures; the other end has the same protocol, window, message and timeouts.
#[derive(Debug, Clone)]
pub struct Options {
    /// The carrier of the frames.
    pub transport: Transport,
    /// The RDMA device and its port, over verbs.
    pub adapter: Adapter,
    /// The protocol.
    pub protocol: Protocol,
    /// Maximum number of transactions under way: 1 to 64.
    pub window: u8,
    /// The longest message.
    pub message: Bytes,
    /// The floor of the timeout after which a frame is sent again.
    pub min_rto: Nanos,
    /// Its ceiling [none: the library's, or the floor if that is above it].
    pub max_rto: Option<Nanos>,
    /// The faults that this end makes of what it sends.
    pub faults: Option<Faults>,
}

/// The window, if nothing is said.
pub const WINDOW: u8 = 16;

/// The longest message of both ends, if the longest one that is measured is this: not below the library's.
pub fn message_for(longest: Bytes) -> Bytes {
    longest.max(Bytes(Config::default().message.into()))
}

/// The name of the endpoint that answers.
pub const SERVER: &str = "server";

/// The time that the server may take to answer the first time.
const PATIENCE: Duration = Duration::from_secs(10);

/// An endpoint that measures, connected to one that answers.
#[derive(Debug)]
pub struct Client {
    bundle: Bundle,
    endpoint: Endpoint,
    peer: PeerId,
    options: Options,
}

impl Options {
    /// The options that an endpoint is made with.
    pub fn of_endpoint(&self) -> endpoint::Options {
        let config = Config::default();
        endpoint::Options {
            config: Config {
                protocol: self.protocol.of_library(),
                window: self.window,
                message: u32::try_from(self.message.0).unwrap_or(u32::MAX),
                min_rto: self.min_rto.0,
                initial_rto: config.initial_rto.max(self.min_rto.0),
                max_rto: match self.max_rto {
                    Some(ceiling) => ceiling.0,
                    None => config.max_rto.max(self.min_rto.0),
                },
                ack_delay: self.protocol.ack_delay(),
                ..config
            },
            peers: 2,
            ..endpoint::Options::default()
        }
    }
}

impl Client {
    /// An endpoint connected to the one at `server`.
    ///
    /// # Errors
    /// Active messages do not go over the transport, the server is not reached over it or refuses, or the endpoint cannot be
    /// made.
    pub fn connect(options: &Options, server: &Address) -> Result<Self, Error> {
        Client::connect_through(options, server, Ok)
    }

    /// Connects through what `wrap` makes of the transport.
    ///
    /// # Errors
    /// As [`Client::connect`], or those of `wrap`.
    pub fn connect_through<T: transport::Transport + 'static>(
        options: &Options,
        server: &Address,
        wrap: impl FnOnce(Carrier) -> Result<T, Error>,
    ) -> Result<Self, Error> {
        let carrier: Carrier = match (options.transport, server) {
            (Transport::Tcp, _) => return Err(Error::Transport(Transport::Tcp)),
            (Transport::Udp, Address::Udp(server)) => Box::new(Udp::bind(any(server), Udp::MTU)?),
            (Transport::Verbs, Address::Verbs(server)) => {
                let adapter = options.adapter.clone();
                Box::new(Verbs::bind(any(server), adapter, Verbs::MTU)?)
            }
            // No call is there to be caught, so what is injected into this process is injected here.
            (Transport::Shm, Address::Shm(_)) if environment::injects() => {
                Box::new(Delayed::of_process(Box::new(shared_memory()?))?)
            }
            (Transport::Shm, Address::Shm(_)) => Box::new(shared_memory()?),
            (transport, address) => {
                return Err(Error::Foreign {
                    address: address.clone(),
                    transport,
                });
            }
        };
        let carrier: Carrier = match options.faults {
            Some(faults) => Box::new(Faulty::new(carrier, faults, EndpointId::of(CLIENT).0)),
            None => carrier,
        };
        let bundle = Bundle::new()?;
        let endpoint = bundle.endpoint(CLIENT, wrap(carrier)?, &options.of_endpoint())?;
        let peer = endpoint.connect(SERVER, server, PATIENCE)?;
        Ok(Client {
            bundle,
            endpoint,
            peer,
            options: options.clone(),
        })
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Counts of what has happened so far.
    ///
    /// # Errors
    /// The endpoint is broken.
    pub fn counters(&self) -> Result<Counters, Error> {
        Ok(self.endpoint.counters(self.peer)?)
    }

    /// A message of a size.
    ///
    /// # Errors
    /// It is too long.
    pub(crate) fn message(&self, size: Bytes) -> Result<Vec<u8>, Error> {
        let most = self.options.message.0;
        match size.0 <= most {
            true => Ok(vec![0; size.0 as usize]),
            false => Err(Error::Size { size: size.0, most }),
        }
    }

    /// Makes a request. There is credit for it. Nothing is polled for.
    #[inline]
    pub(crate) fn request(&self, handler: u16, bytes: &[u8]) -> Result<Transaction, Error> {
        let made = self
            .endpoint
            .request(self.peer, handler, bytes, Credit::Refuse);
        Ok(made?)
    }

    /// Polls until a transaction is processed.
    ///
    /// # Errors
    /// It ended in another way; `done` transactions have gone well before.
    #[inline]
    pub(crate) fn finish(&self, transaction: Transaction, done: u64) -> Result<(), Error> {
        loop {
            let state = self.endpoint.state(transaction)?;
            if state == InitiatorState::Processed {
                return Ok(());
            }
            if state.is_final() || state.is_unknown() {
                let status = state.status();
                return Err(Error::Ended { done, status });
            }
            // Time-outs change the state, too, and are no frames.
            for _ in 0..LOOKS {
                if self.bundle.poll()? {
                    break;
                }
            }
        }
    }

    /// Releases a transaction, whose credit comes back.
    #[inline]
    pub(crate) fn release(&self, transaction: Transaction) -> Result<(), Error> {
        Ok(self.endpoint.release(transaction)?)
    }
}

/// Polls that find nothing before the state of a transaction is looked at.
const LOOKS: u32 = 64;

/// The name of the endpoint that measures.
const CLIENT: &str = "client";

/// Any free port of the family of an address.
fn any(server: &SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Shared memory under a name that nobody else has.
fn shared_memory() -> Result<Shm, Error> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let text = format!("suite-{}-{number}", std::process::id());
    match text.parse() {
        Ok(name) => Ok(Shm::open(name, Shm::MTU)?),
        Err(_) => unreachable!("letters, digits and - are a name"),
    }
}

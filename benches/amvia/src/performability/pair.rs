//! Two endpoints in this process, on a thread each: one makes requests, the other answers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{
    Bundle, Call, Credit, Endpoint, EndpointError, Options, PeerId, Transaction,
};
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::transport::{self, Address, Shm, Udp, Verbs};
use jitterlab_base::clock::Clock;
use jitterlab_injector::environment;
use jitterlab_node_tuning::cpus::Cpu;
use jitterlab_node_tuning::noise::affinity::pin;
use jitterlab_packet::transport::Transport;
use jitterlab_verbs::Adapter;

use super::error::PerformabilityError;
use super::timed::Span;
use crate::carrier::Carrier;
use crate::delayed::Delayed;
use crate::error::Error;
use crate::handlers::ECHO;

/// The carrier of the frames between two ends in this process.
#[derive(Debug, Clone)]
pub struct Over {
    /// The transport.
    pub transport: Transport,
    /// The RDMA device and its port, over verbs.
    pub adapter: Adapter,
    /// The CPU of the thread that answers. None: where the thread may run that asks.
    pub server_cpu: Option<Cpu>,
}

impl Over {
    /// A transport that needs no device.
    pub fn of(transport: Transport) -> Over {
        Over {
            transport,
            adapter: Adapter::default(),
            server_cpu: None,
        }
    }
}

/// Names of the ends.
pub(super) const CLIENT: &str = "client";
pub(super) const SERVER: &str = "server";

/// Pairs in shared memory that were made.
static MADE: AtomicU32 = AtomicU32::new(0);
/// The time that the ends may take to know each other.
const PATIENCE: Duration = Duration::from_secs(10);
/// The address of both ends.
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The carriers of the client and the server.
///
/// # Errors
/// Active messages do not go over the transport, or it cannot be had.
pub(super) fn ends(over: &Over) -> Result<[Carrier; 2], PerformabilityError> {
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let open = |end: &str| -> Result<Carrier, PerformabilityError> {
        Ok(match over.transport {
            Transport::Udp => Box::new(Udp::bind(HERE, Udp::MTU)?),
            Transport::Verbs => Box::new(Verbs::bind(HERE, over.adapter.clone(), Verbs::MTU)?),
            Transport::Shm => {
                let name = format!("performability-{}-{number}-{end}", std::process::id());
                let memory: Carrier = Box::new(Shm::open(name.parse()?, Shm::MTU)?);
                match environment::injects() {
                    // No call is there to be caught.
                    true => Box::new(Delayed::of_process(memory)?),
                    false => memory,
                }
            }
            Transport::Tcp => return Err(Error::Transport(Transport::Tcp).into()),
        })
    };
    Ok([open(CLIENT)?, open(SERVER)?])
}

/// An endpoint in a bundle of its own.
pub(super) struct End {
    pub(super) bundle: Bundle,
    pub(super) endpoint: Endpoint,
}

impl End {
    pub(super) fn new(
        name: &str,
        config: &Config,
        transport: impl transport::Transport + 'static,
    ) -> Result<End, PerformabilityError> {
        let options = Options {
            config: config.clone(),
            ..Options::default()
        };
        let bundle = Bundle::new()?;
        let endpoint = bundle.endpoint(name, transport, &options)?;
        Ok(End { bundle, endpoint })
    }

    /// Makes a request. There is credit for it.
    pub(super) fn request(
        &self,
        to: PeerId,
        data: &[u8],
    ) -> Result<Transaction, PerformabilityError> {
        Ok(self.endpoint.request(to, ECHO, data, Credit::Refuse)?)
    }

    /// The state of a transaction, once it has ended or is unknown.
    pub(super) fn ended(
        &self,
        transaction: Transaction,
    ) -> Result<Option<InitiatorState>, PerformabilityError> {
        let state = self.endpoint.state(transaction)?;
        Ok((state.is_final() || state.is_unknown()).then_some(state))
    }
}

/// A transaction, by readings of the clock.
pub(super) struct Exchange {
    begun: u64,
    /// The request was made.
    made: u64,
    /// The poll began that took the reply.
    polled: u64,
    ended: u64,
}

impl Exchange {
    /// The call that makes the request.
    pub(super) fn request(&self) -> Span {
        Span {
            begun: self.begun,
            ended: self.made,
        }
    }

    /// The poll that takes the reply.
    pub(super) fn last_poll(&self) -> Span {
        Span {
            begun: self.polled,
            ended: self.ended,
        }
    }

    /// All of it.
    pub(super) fn round_trip(&self) -> Span {
        Span {
            begun: self.begun,
            ended: self.ended,
        }
    }
}

/// Transactions one after the other.
pub(super) fn exchanges(
    client: &End,
    peer: PeerId,
    payload: usize,
    transactions: usize,
) -> Result<Vec<Exchange>, PerformabilityError> {
    let clock = Clock::global();
    let data = vec![0; payload];
    let mut all = Vec::with_capacity(transactions);
    for _ in 0..transactions {
        let begun = clock.now();
        let sent = client.request(peer, &data)?;
        let made = clock.now();
        let mut polled = made;
        while client.ended(sent)?.is_none() {
            polled = clock.now();
            client.bundle.poll()?;
        }
        let ended = clock.now();
        client.endpoint.release(sent)?;
        all.push(Exchange {
            begun,
            made,
            polled,
            ended,
        });
    }
    Ok(all)
}

/// Connects to the server. If timeouts are short, one attempt is over before a thread that has just been started has its turn.
fn connected(client: &End, address: &Address) -> Result<PeerId, PerformabilityError> {
    let begun = Instant::now();
    loop {
        match client.endpoint.connect(SERVER, address, PATIENCE) {
            Err(EndpointError::NoAnswer { .. }) if begun.elapsed() < PATIENCE => {}
            connected => return Ok(connected?),
        }
    }
}

/// Has `server` answer by `handler` on a thread, while `run` is done with the server as its peer.
pub(super) fn served<T>(
    over: &Over,
    client: &End,
    server: &End,
    handler: impl FnMut(&mut Call<'_>) + Send + 'static,
    run: impl FnOnce(PeerId) -> Result<T, PerformabilityError>,
) -> Result<T, PerformabilityError> {
    server.endpoint.on(ECHO, handler)?;
    let address = server.endpoint.address()?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            over.server_cpu.map(pin).transpose()?;
            while !stop.load(Ordering::Relaxed) {
                server.bundle.poll()?;
            }
            Ok::<(), PerformabilityError>(())
        });
        let done = connected(client, &address).and_then(run);
        stop.store(true, Ordering::Relaxed);
        let served = serving
            .join()
            .map_err(|_| PerformabilityError::ServerEnded)?;
        served.and(done)
    })
}

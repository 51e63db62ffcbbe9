//! Two endpoints in this process, on a thread each: one makes requests, the other answers.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{
    Bundle, Call, Credit, Endpoint, EndpointError, Options, PeerId, Transaction,
};
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::transport::{Address, Shm, Transport, Udp};
use jitterlab_base::named;

use super::error::PerformabilityError;
use crate::handlers::ECHO;

/// What carries the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// UDP over loopback.
    Udp,
    /// Shared memory.
    Shm,
}

named!(Carrier, serde, "a transport", Udp => "udp", Shm => "shm");

/// The transports of both ends.
pub(super) enum Ends {
    Udp([Udp; 2]),
    Shm([Shm; 2]),
}

/// Names of the ends.
pub(super) const CLIENT: &str = "client";
pub(super) const SERVER: &str = "server";

/// Pairs in shared memory that were made.
static MADE: AtomicU32 = AtomicU32::new(0);
/// How long the ends may take to know each other.
const PATIENCE: Duration = Duration::from_secs(10);

impl Carrier {
    /// Transports for the client and the server.
    pub(super) fn ends(self) -> Result<Ends, PerformabilityError> {
        match self {
            Carrier::Udp => {
                let bind = || Udp::bind(([127, 0, 0, 1], 0).into(), Udp::MTU);
                Ok(Ends::Udp([bind()?, bind()?]))
            }
            Carrier::Shm => {
                let number = MADE.fetch_add(1, Ordering::Relaxed);
                let open = |end| -> Result<Shm, PerformabilityError> {
                    let name = format!("performability-{}-{number}-{end}", std::process::id());
                    Ok(Shm::open(name.parse()?, Shm::MTU)?)
                };
                Ok(Ends::Shm([open(CLIENT)?, open(SERVER)?]))
            }
        }
    }
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
        transport: impl Transport + 'static,
    ) -> Result<End, PerformabilityError> {
        let options = Options {
            config: config.clone(),
            ..Options::default()
        };
        let bundle = Bundle::new()?;
        let endpoint = bundle.endpoint(name, transport, &options)?;
        Ok(End { bundle, endpoint })
    }

    /// Makes a request, for which there is credit.
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

/// Connects to the server. With short timeouts one attempt is over before a thread that has just been started has its turn.
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

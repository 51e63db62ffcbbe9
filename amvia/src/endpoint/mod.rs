//! Endpoints, and what applications do with them: connect, make requests, take replies, ask what became of each.
//!
//! ```
//! use jitterlab_amvia::endpoint::{Bundle, Credit, Options};
//! use jitterlab_amvia::transport::Udp;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! const DOUBLE: u16 = 1;
//! let bundle = Bundle::new()?;
//! let loopback = || Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU);
//! let server = bundle.endpoint("server", loopback()?, &Options::default())?;
//! server.on(DOUBLE, |call| {
//!     let doubled: Vec<u8> = call.bytes().iter().map(|byte| byte * 2).collect();
//!     call.reply(&doubled).unwrap();
//! })?;
//! let client = bundle.endpoint("client", loopback()?, &Options::default())?;
//! let peer = client.connect("server", &server.address()?, Duration::from_secs(1))?;
//! let transaction = client.request(peer, DOUBLE, &[1, 2, 3], Credit::Refuse)?;
//! let status = client.finish(transaction, Duration::from_secs(1))?;
//! assert_eq!(status.to_string(), "<ACKED, PROCESSED>");
//! assert_eq!(client.reply(transaction, |reply| reply.to_vec())?, [2, 4, 6]);
//! client.release(transaction)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Threads
//!
//! Every call may be made from every thread. A call that polls runs handlers on the thread that calls. A handler may make
//! requests, of its own endpoint too; it may not wait for them.

mod arrival;
mod bundle;
mod driver;
mod error;
mod handlers;
mod options;
mod outgoing;
mod peer;
mod published;
mod received;
mod records;
mod running;
mod text;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::names::Name;
use crate::protocol::{Counters, Nanos, Protocol, RequestError, Slot};
use crate::transaction::{EndpointId, InitiatorState, Status, TransactionId};
use crate::transport::{Address, Transport};

pub use bundle::Bundle;
pub use error::EndpointError;
pub use handlers::{Call, ReplyError};
pub use options::{Credit, Options};
pub use peer::Standing;
pub use published::{Published, PublishedPeer, published};

use bundle::{Place, Shared, State};
use driver::Driver;
use peer::Peer;
use text::Text;

/// An endpoint. Clones are handles of one endpoint, for any thread.
///
/// It is there until [`Endpoint::close`], or until its bundle's last handle and its own are dropped. A handler that holds a
/// handle of its own bundle keeps it: close such an endpoint.
#[derive(Clone)]
pub struct Endpoint {
    bundle: Arc<Shared>,
    place: Place,
    name: Arc<str>,
    id: EndpointId,
}

impl Bundle {
    /// Makes the endpoint called `name` on a transport, and takes up what its log holds.
    ///
    /// # Errors
    /// The name is none, the options contradict themselves, or the log cannot be opened.
    pub fn endpoint(
        &self,
        name: &str,
        transport: impl Transport + 'static,
        options: &Options,
    ) -> Result<Endpoint, EndpointError> {
        let id = EndpointId::of(name.parse::<Name>()?.as_str());
        let shared = self.shared();
        let mut driver = Driver::open(id, Box::new(transport), options, shared.now())?;
        driver.publish_as(name);
        let mut state = shared.lock()?;
        let place = state.add(driver);
        drop(state);
        Ok(Endpoint::new(Arc::clone(shared), place, name, id))
    }
}

/// A peer of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerId(usize, EndpointId);

impl PeerId {
    /// The peer of these two numbers, which another language has kept. Who makes one up gets
    /// [`EndpointError::NotConnected`].
    pub fn of(number: u32, endpoint: EndpointId) -> Self {
        PeerId(number as usize, endpoint)
    }

    /// Its number at this endpoint.
    pub fn number(self) -> u32 {
        self.0 as u32
    }

    /// The peer's endpoint.
    pub fn endpoint(self) -> EndpointId {
        self.1
    }
}

/// A transaction that an endpoint has begun, until it is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transaction {
    peer: PeerId,
    slot: Slot,
    id: TransactionId,
}

impl Transaction {
    /// The transaction of these parts, which another language has kept. Who makes one up gets [`EndpointError::Released`].
    pub fn of(peer: PeerId, slot: Slot, id: TransactionId) -> Self {
        Transaction { peer, slot, id }
    }

    /// Its slot in the send pool.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Its name.
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// The peer that it was made to.
    pub fn peer(&self) -> PeerId {
        self.peer
    }
}

impl Endpoint {
    fn new(bundle: Arc<Shared>, place: Place, name: &str, id: EndpointId) -> Self {
        Endpoint {
            bundle,
            place,
            name: name.into(),
            id,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of its name.
    pub fn id(&self) -> EndpointId {
        self.id
    }

    /// The address by which others reach it.
    ///
    /// # Errors
    /// It is closed.
    pub fn address(&self) -> Result<Address, EndpointError> {
        self.with(|driver| Ok(driver.transport.address()))
    }

    /// Its incarnation.
    ///
    /// # Errors
    /// It is closed.
    pub fn incarnation(&self) -> Result<u32, EndpointError> {
        self.with(|driver| Ok(driver.log.incarnation()))
    }

    /// Has `handler` run on messages for `number`, in place of the handler before.
    ///
    /// # Errors
    /// It is closed.
    pub fn on(
        &self,
        number: u16,
        handler: impl FnMut(&mut Call<'_>) + Send + 'static,
    ) -> Result<(), EndpointError> {
        self.with(|driver| {
            driver.handlers.set(number, Box::new(handler));
            Ok(())
        })
    }

    /// Connects to the endpoint called `name` at `address`, and polls until it has answered.
    ///
    /// # Errors
    /// It does not answer in time, or refuses; there is no room for another peer; the address is of another transport.
    pub fn connect(
        &self,
        name: &str,
        address: &Address,
        at_most: Duration,
    ) -> Result<PeerId, EndpointError> {
        let peer = self.begin_connect(name, address)?;
        let end = self.end(at_most);
        loop {
            match self.standing(peer)? {
                Standing::Connected(_) => return Ok(peer),
                Standing::Unreachable(Some(refusal)) => {
                    return Err(EndpointError::Refused {
                        address: address.clone(),
                        refusal,
                    });
                }
                Standing::Connecting if self.poll_until(end)? => {}
                Standing::Connecting | Standing::Unreachable(None) => {
                    return Err(EndpointError::NoAnswer {
                        address: address.clone(),
                    });
                }
            }
        }
    }

    /// Begins to connect to the endpoint called `name` at `address`, and does not wait. [`Endpoint::standing`] says how far it
    /// is. A peer that was there before is looked for at the new address.
    ///
    /// # Errors
    /// There is no room for another peer, or the address is of another transport.
    pub fn begin_connect(&self, name: &str, address: &Address) -> Result<PeerId, EndpointError> {
        let id = EndpointId::of(name);
        self.with(|driver| {
            let now = self.bundle.now();
            let to = driver.transport.peer(address)?;
            let number = driver.peer(id, now)?;
            let before = driver.peers[number].as_ref().and_then(|peer| peer.to);
            driver.reach(number, Some(to));
            if let Some(peer) = &mut driver.peers[number] {
                let is_connected = matches!(peer.standing, Standing::Connected(_));
                let is_there = before == Some(to) && is_connected;
                (peer.name, peer.address) = (Text::of(name), Text::of(&address.to_string()));
                if !is_connected {
                    peer.standing = Standing::Connecting;
                }
                if !is_there {
                    peer.connection.connect(now);
                }
            }
            driver.carry_out(number)?;
            Ok(PeerId(number, id))
        })
    }

    /// The standing of the connection to a peer.
    ///
    /// # Errors
    /// There is no such peer.
    pub fn standing(&self, peer: PeerId) -> Result<Standing, EndpointError> {
        self.with(|driver| Ok(found(driver, peer)?.standing))
    }

    /// Makes a request of a peer: `handler` is to run there on `bytes`.
    ///
    /// # Errors
    /// There is no credit (with [`Credit::Block`] never), the peer takes no message of this length, or the log is broken.
    pub fn request(
        &self,
        peer: PeerId,
        handler: u16,
        bytes: &[u8],
        credit: Credit,
    ) -> Result<Transaction, EndpointError> {
        self.request_in_place(peer, handler, bytes.len(), credit, |place| {
            place.copy_from_slice(bytes);
        })
    }

    /// Makes a request like [`Endpoint::request`], of `length` bytes that `fill` writes where they stay.
    ///
    /// # Errors
    /// As there.
    pub fn request_in_place(
        &self,
        peer: PeerId,
        handler: u16,
        length: usize,
        credit: Credit,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Transaction, EndpointError> {
        let mut state = self.bundle.lock()?;
        let driver = driver(&mut state, self.place)?;
        found(driver, peer)?;
        match driver.request_straight(peer.0, handler, length, fill, || self.bundle.now()) {
            Ok(made) => made.map(|(slot, id)| Transaction { peer, slot, id }),
            Err(fill) => {
                drop(state);
                self.request_in_turn(peer, handler, length, credit, fill)
            }
        }
    }

    /// Makes a request that does not go straight: there may be no credit, or something is to be done before it.
    #[inline(never)]
    fn request_in_turn(
        &self,
        peer: PeerId,
        handler: u16,
        length: usize,
        credit: Credit,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Transaction, EndpointError> {
        let end = match credit {
            Credit::Refuse => None,
            Credit::Block => Some(Nanos::MAX),
            Credit::Within(at_most) => Some(self.end(at_most)),
        };
        loop {
            let mut state = self.bundle.lock()?;
            let driver = driver(&mut state, self.place)?;
            found(driver, peer)?;
            if driver.has_credit(peer.0) || end.is_none() {
                let made = driver.request(peer.0, handler, length, fill, self.bundle.now());
                return made.map(|(slot, id)| Transaction { peer, slot, id });
            }
            drop(state);
            if self.bundle.is_in_handler()? {
                return Err(EndpointError::InHandler);
            }
            if !self.poll_until(end.unwrap_or(0))? {
                return Err(RequestError::NoCredit.into());
            }
        }
    }

    /// The state of a transaction: <acknowledgement or reply, operation>.
    ///
    /// # Errors
    /// It was released.
    pub fn status(&self, transaction: Transaction) -> Result<Status, EndpointError> {
        self.state(transaction).map(InitiatorState::status)
    }

    /// The state of a transaction.
    ///
    /// # Errors
    /// It was released.
    pub fn state(&self, transaction: Transaction) -> Result<InitiatorState, EndpointError> {
        self.with(|driver| state(driver, transaction))
    }

    /// Polls until a transaction is final, or unknown and no question for it on its way, at most so long, and gives its
    /// status then.
    ///
    /// # Errors
    /// It was released, or a handler waits.
    pub fn finish(
        &self,
        transaction: Transaction,
        at_most: Duration,
    ) -> Result<Status, EndpointError> {
        let end = self.end(at_most);
        loop {
            let (state, is_asking) = self.with(|driver| {
                let peer = found(driver, transaction.peer)?;
                let is_asking = peer.connection.is_asking(transaction.slot);
                Ok((state(driver, transaction)?, is_asking))
            })?;
            if state.is_final() || (state.is_unknown() && !is_asking) {
                return Ok(state.status());
            }
            if self.bundle.is_in_handler()? {
                return Err(EndpointError::InHandler);
            }
            if !self.poll_until(end)? {
                return self.status(transaction);
            }
        }
    }

    /// Gives the reply of a transaction to `read`, where it landed: empty while there is none.
    ///
    /// # Errors
    /// It was released.
    pub fn reply<T>(
        &self,
        transaction: Transaction,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, EndpointError> {
        self.with(|driver| {
            let reply = match state(driver, transaction)? {
                InitiatorState::Processed => {
                    let peer = found(driver, transaction.peer)?;
                    peer.sent[transaction.slot.index()].reply.bytes()
                }
                _ => &[],
            };
            Ok(read(reply))
        })
    }

    /// Asks the target what became of a transaction that is unknown. The answer comes with later polls: not run, run once
    /// with its reply, indeterminate for good, or unknown as before where the target still does not answer.
    ///
    /// # Errors
    /// It was released, is under way, or is known.
    pub fn ask(&self, transaction: Transaction) -> Result<(), EndpointError> {
        self.with(|driver| {
            state(driver, transaction)?;
            let number = transaction.peer.0;
            if let Some(peer) = &mut driver.peers[number] {
                peer.connection.ask(self.bundle.now(), transaction.slot)?;
            }
            driver.carry_out(number)
        })
    }

    /// Releases a transaction: the application needs it no more. Its credit comes back, and its target may forget it.
    ///
    /// # Errors
    /// It was released, or is under way.
    pub fn release(&self, transaction: Transaction) -> Result<(), EndpointError> {
        self.with(|driver| {
            state(driver, transaction)?;
            driver.release(transaction.peer.0, transaction.slot)
        })
    }

    /// The transactions that are not released, those of earlier lives that the log held among them.
    ///
    /// # Errors
    /// It is closed.
    pub fn transactions(&self) -> Result<Vec<(Transaction, InitiatorState)>, EndpointError> {
        self.with(|driver| {
            let mut all = Vec::new();
            for (number, peer) in driver.peers.iter().enumerate() {
                let Some(peer) = peer else { continue };
                for slot in (0..peer.sent.len()).map(|slot| Slot(slot as u16)) {
                    if let Some(record) = peer.connection.record(slot) {
                        let (peer, id) = (PeerId(number, peer.id), record.id);
                        all.push((Transaction { peer, slot, id }, record.state));
                    }
                }
            }
            Ok(all)
        })
    }

    /// Requests that can be made of a peer before one is released.
    ///
    /// # Errors
    /// There is no such peer.
    pub fn credits(&self, peer: PeerId) -> Result<u64, EndpointError> {
        self.with(|driver| Ok(found(driver, peer)?.connection.credits()))
    }

    /// The time that a request stays under way if its target does not answer at all: the sum of its timeouts, each twice
    /// the one before (RFC 6298, 5.5), as they would be now. After that its state is unknown.
    ///
    /// # Errors
    /// There is no such peer.
    pub fn patience(&self, peer: PeerId) -> Result<Duration, EndpointError> {
        self.with(|driver| {
            let connection = &found(driver, peer)?.connection;
            let config = connection.config();
            let tries = 0..=config.request_retransmissions;
            let sum: Nanos = tries.map(|tries| connection.timeout().after(tries)).sum();
            let least = match config.protocol {
                Protocol::Amvia => 0,
                Protocol::Amudp | Protocol::TwoWay => config.reply_wait,
            };
            Ok(Duration::from_nanos(sum.max(least)))
        })
    }

    /// Bytes of its pools, which are taken when it is made: 2k slots for each peer that it may have, or, under
    /// [`Protocol::Amudp`], for all together (Kaur, section 3.4.1, says `N × N × 2k` a node, which is the network's).
    ///
    /// # Errors
    /// It is closed.
    pub fn pool_bytes(&self) -> Result<usize, EndpointError> {
        self.with(|driver| Ok(driver.log.shape().bytes()))
    }

    /// Counts of what has happened on the connection to a peer.
    ///
    /// # Errors
    /// There is no such peer.
    pub fn counters(&self, peer: PeerId) -> Result<Counters, EndpointError> {
        self.with(|driver| Ok(*found(driver, peer)?.connection.counters()))
    }

    /// Frames that came and were none: damaged on the way, or of some other program.
    ///
    /// # Errors
    /// It is closed.
    pub fn undecodable(&self) -> Result<u64, EndpointError> {
        self.with(|driver| Ok(driver.undecodable))
    }

    /// Every peer, those that have connected by themselves among them.
    ///
    /// # Errors
    /// It is closed.
    pub fn peers(&self) -> Result<Vec<PeerId>, EndpointError> {
        self.with(|driver| {
            let peers = driver.peers.iter().enumerate();
            let known = peers.filter_map(|(number, peer)| Some(PeerId(number, peer.as_ref()?.id)));
            Ok(known.collect())
        })
    }

    /// Has `watch` called after each store to the log, and before each wait for the disk. A test ends its process there.
    ///
    /// # Errors
    /// It is closed.
    pub fn watch_log(&self, watch: impl FnMut() + Send + 'static) -> Result<(), EndpointError> {
        self.with(|driver| {
            driver.log.watch(watch);
            Ok(())
        })
    }

    /// Takes the endpoint out of its bundle. Its log stays.
    ///
    /// # Errors
    /// It is closed.
    pub fn close(self) -> Result<(), EndpointError> {
        let mut state = self.bundle.lock()?;
        let driver = state.take(self.place).ok_or(EndpointError::Closed)?;
        drop(state);
        // Outside the state: handlers may hold handles of this bundle.
        drop(driver);
        Ok(())
    }

    fn with<T>(
        &self,
        use_it: impl FnOnce(&mut Driver) -> Result<T, EndpointError>,
    ) -> Result<T, EndpointError> {
        let mut state = self.bundle.lock()?;
        use_it(driver(&mut state, self.place)?)
    }

    fn end(&self, at_most: Duration) -> Nanos {
        let at_most = u64::try_from(at_most.as_nanos()).unwrap_or(Nanos::MAX);
        self.bundle.now().saturating_add(at_most)
    }

    /// Polls, and says whether `end` is still to come.
    fn poll_until(&self, end: Nanos) -> Result<bool, EndpointError> {
        let left = end.saturating_sub(self.bundle.now());
        self.bundle.wait(Duration::from_nanos(left))?;
        Ok(self.bundle.now() < end)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.name)
    }
}

#[inline]
fn driver(state: &mut State, place: Place) -> Result<&mut Driver, EndpointError> {
    match state.driver(place) {
        Some(driver) => Ok(driver),
        None => Err(EndpointError::Closed),
    }
}

#[inline]
fn found(driver: &Driver, peer: PeerId) -> Result<&Peer, EndpointError> {
    match driver.peers.get(peer.0) {
        Some(Some(known)) if known.id == peer.1 => Ok(known),
        _ => Err(EndpointError::NotConnected(peer.1)),
    }
}

#[inline]
fn state(driver: &Driver, transaction: Transaction) -> Result<InitiatorState, EndpointError> {
    let peer = found(driver, transaction.peer)?;
    match peer.connection.record(transaction.slot) {
        Some(record) if record.id == transaction.id => Ok(record.state),
        _ => Err(EndpointError::Released),
    }
}

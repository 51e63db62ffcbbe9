//! The pages on which endpoints publish their state, one each, and how others read them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use jitterlab_base::page::{
    self, Attached, Content, Head, Namespaces, Owner, PageError, attach, directory, is_deserted,
    make_directory, text,
};
use jitterlab_base::shared;
use nix::unistd::geteuid;

use super::peer::{Peer, Standing};
use super::text::{Text, WORDS};
use crate::protocol::{Counters, Nanos, ReplyPool, Slot};
use crate::transaction::{EndpointId, Incarnation, InitiatorState, TargetState};

/// The time between two publications.
pub(super) const PERIOD: Nanos = 100_000_000;
/// Peers that a page has room for; of more, the first ones are published.
const PEERS: usize = 32;
/// Pages are files of this name, before the process and a number.
const PREFIX: &str = "amvia-";
shared! {
    /// Figures of one peer, as atomics.
    struct PeerSlot {
        /// Its endpoint; 0 where there is none.
        endpoint: AtomicU64,
        /// 1 while it connects, 2 when it is connected, 3 where it cannot be reached.
        standing: AtomicU64,
        credits: AtomicU64,
        states: [AtomicU64; InitiatorState::ALL.len()],
        requests: AtomicU64,
        started: AtomicU64,
        retransmissions: AtomicU64,
        needless: AtomicU64,
        abandoned: AtomicU64,
        duplicates: AtomicU64,
        no_room: AtomicU64,
        targets: [AtomicU64; TargetState::ALL.len()],
        /// While it is connected.
        incarnation: AtomicU64,
        name: [AtomicU64; WORDS],
        address: [AtomicU64; WORDS],
    }
}

shared! {
    /// The page of an endpoint.
    pub(super) struct EndpointPage {
        head: Head,
        name: [AtomicU64; WORDS],
        window: AtomicU64,
        incarnation: AtomicU64,
        peers: [PeerSlot; PEERS],
    }
}

impl Content for EndpointPage {
    const MAGIC: u64 = u64::from_be_bytes(*b"jlabend\x02");
    const NAME: &'static str = "page of an endpoint";

    fn head(&self) -> &Head {
        &self.head
    }
}

/// The page of an endpoint of this process; it goes with this value.
pub(super) struct Publishing {
    page: Attached<EndpointPage>,
    /// A child of fork has the page, too, and leaves it to its parent.
    process: u32,
    /// When it is published next.
    pub(super) next: Nanos,
}

impl Publishing {
    /// Makes a page. Those of processes that were killed are removed first.
    ///
    /// # Errors
    /// There is no /dev/shm, or it cannot be used.
    pub(super) fn new(name: &str, window: u8) -> Result<Self, PageError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = directory(geteuid().as_raw());
        make_directory::<EndpointPage>(&own)?;
        for path in files().unwrap_or_default() {
            if is_deserted(&path) {
                let _ = std::fs::remove_file(path);
            }
        }
        let owner = Owner::own();
        let process = owner.namespaces.file_name(owner.pid);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let page = page::make(
            &own.join(format!("{PREFIX}{process}.{n}")),
            |page: &EndpointPage| {
                page.head.set_owner(&Owner::own());
                Text::of(name).put(&page.name);
                page.window.store(window.into(), Ordering::Relaxed);
            },
        )?;
        Ok(Publishing {
            page,
            process: std::process::id(),
            next: 0,
        })
    }

    /// Publishes in which life the endpoint is, and what is known of its peers, whose requests may be in a pool that they share.
    pub(super) fn publish(
        &mut self,
        incarnation: u32,
        peers: &[Option<Peer>],
        shared: &ReplyPool,
        now: Nanos,
    ) {
        self.next = now + PERIOD;
        let life = &self.page.incarnation;
        life.store(incarnation.into(), Ordering::Relaxed);
        let known = peers.iter().flatten();
        for (slot, peer) in self.page.peers.iter().zip(known) {
            slot.publish(peer, shared);
        }
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.page.remove();
        }
    }
}

impl PeerSlot {
    fn publish(&self, peer: &Peer, shared: &ReplyPool) {
        let connection = &peer.connection;
        let mut states = [0; InitiatorState::ALL.len()];
        let slots = (0..u16::from(connection.config().window)).map(Slot);
        for record in slots.filter_map(|slot| connection.record(slot)) {
            states[usize::from(record.state.code())] += 1;
        }
        let mut targets = [0; TargetState::ALL.len()];
        for state in connection.received(shared) {
            targets[usize::from(state.code())] += 1;
        }
        let words = self.states.iter().chain(&self.targets);
        for (word, n) in words.zip(states.into_iter().chain(targets)) {
            word.store(n, Ordering::Relaxed);
        }
        let (standing, incarnation) = match peer.standing {
            Standing::Connecting => (1, 0),
            Standing::Connected(Incarnation(life)) => (2, life.into()),
            Standing::Unreachable(_) => (3, 0),
        };
        peer.name.put(&self.name);
        peer.address.put(&self.address);
        let Counters {
            requests,
            retransmissions,
            needless,
            started,
            duplicates,
            no_room,
            abandoned,
            ..
        } = *connection.counters();
        for (word, value) in [
            (&self.standing, standing),
            (&self.incarnation, incarnation),
            (&self.credits, connection.credits()),
            (&self.requests, requests),
            (&self.started, started),
            (&self.retransmissions, retransmissions),
            (&self.needless, needless),
            (&self.abandoned, abandoned),
            (&self.duplicates, duplicates),
            (&self.no_room, no_room),
            (&self.endpoint, peer.id.0),
        ] {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// Figures of an endpoint. While it is polled they are at most a tenth of a second old. Each was read at a moment of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The number of its process here; none where that has none here.
    pub process: Option<u32>,
    /// Its name, the first 64 bytes.
    pub name: String,
    /// The life that it is in.
    pub incarnation: u32,
    /// Maximum number of transactions under way, with each peer.
    pub window: u64,
    /// Its peers; the first 32 of more.
    pub peers: Vec<PublishedPeer>,
}

/// Figures of one peer.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedPeer {
    /// Its endpoint.
    pub endpoint: EndpointId,
    /// Its name; empty for one that has connected by itself.
    pub name: String,
    /// The address that was given for it, the first 64 bytes; empty for one that has connected by itself.
    pub address: String,
    /// The peer has answered; none if it cannot be reached.
    pub connected: Option<bool>,
    /// The life that it is in; none while it is not connected.
    pub incarnation: Option<u32>,
    /// Requests that can be made now.
    pub credits: u64,
    /// Transactions by state, in the order of [`InitiatorState::ALL`], until they are released.
    pub states: [u64; InitiatorState::ALL.len()],
    /// Transactions that the peer has begun by state, in the order of [`TargetState::ALL`], until it has said that it needs
    /// no answer.
    pub targets: [u64; TargetState::ALL.len()],
    /// Requests made.
    pub requests: u64,
    /// Handlers started.
    pub started: u64,
    /// Requests sent again because no answer came.
    pub retransmissions: u64,
    /// Those of them that were needless.
    pub needless: u64,
    /// Transactions given up: no answer came to any attempt.
    pub abandoned: u64,
    /// Requests that came again.
    pub duplicates: u64,
    /// Requests that found no free slot in the receive pool.
    pub no_room: u64,
}

/// The state that the endpoints of this user's processes have published.
///
/// # Errors
/// The directory of pages cannot be read.
pub fn published() -> io::Result<Vec<Published>> {
    let here = Namespaces::own();
    let read = |path: PathBuf| {
        let page: Attached<EndpointPage> = attach(&path).ok()?;
        match page.standing(here) {
            page::Standing::Runs(process) => Some(page.published(process)),
            _ => None,
        }
    };
    Ok(files()?.into_iter().filter_map(read).collect())
}

impl Published {
    /// Reads the page in a file as if its process ran: a copy that was kept has none.
    ///
    /// # Errors
    /// The file cannot be read, or is no page of an endpoint.
    pub fn on_page(path: &Path, process: Option<u32>) -> Result<Self, PageError> {
        let page: Attached<EndpointPage> = attach(path)?;
        Ok(page.published(process))
    }
}

fn files() -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory(geteuid().as_raw())) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(PREFIX)
    });
    files.sort();
    Ok(files)
}

impl EndpointPage {
    fn published(&self, process: Option<u32>) -> Published {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let read = |words: &[AtomicU64]| String::from_utf8_lossy(&text(words)).into_owned();
        let life = |word: &AtomicU64| load(word) as u32;
        let peer = |slot: &PeerSlot| PublishedPeer {
            endpoint: EndpointId(load(&slot.endpoint)),
            name: read(&slot.name),
            address: read(&slot.address),
            incarnation: Some(life(&slot.incarnation)).filter(|life| *life != 0),
            connected: match load(&slot.standing) {
                1 => Some(false),
                2 => Some(true),
                _ => None,
            },
            credits: load(&slot.credits),
            states: std::array::from_fn(|state| load(&slot.states[state])),
            targets: std::array::from_fn(|state| load(&slot.targets[state])),
            requests: load(&slot.requests),
            started: load(&slot.started),
            retransmissions: load(&slot.retransmissions),
            needless: load(&slot.needless),
            abandoned: load(&slot.abandoned),
            duplicates: load(&slot.duplicates),
            no_room: load(&slot.no_room),
        };
        let known = self.peers.iter().filter(|slot| load(&slot.endpoint) != 0);
        Published {
            process,
            name: read(&self.name),
            incarnation: life(&self.incarnation),
            window: load(&self.window),
            peers: known.map(peer).collect(),
        }
    }
}

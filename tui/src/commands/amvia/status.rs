//! `jitterlab amvia status`: what the log of an endpoint says of each peer and each transaction; and how a log makes room for a
//! new one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jitterlab_amvia::endpoint::{PublishedPeer, published};
use jitterlab_amvia::log::{self, Known, Pool, Snapshot};
use jitterlab_amvia::transaction::{EndpointId, InitiatorState, TargetState};
use jitterlab_base::print::aligned;
use jitterlab_base::show;
use serde::Serialize;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `amvia status`.
#[derive(clap::Args)]
pub struct Status {
    /// File of the log; it may be in use
    log: PathBuf,
    /// List each transaction
    #[arg(long)]
    all: bool,
    /// Rename the log to LOG.aside-N, where N is the first free number. No endpoint may have the log open. Its
    /// endpoint then begins a new log. What became of the transactions in the old log can no longer be found out
    #[arg(long, conflicts_with = "all")]
    set_aside: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The name that a log was given.
#[derive(Serialize)]
struct Aside {
    aside: PathBuf,
}

/// The content of a log.
#[derive(Serialize)]
struct Shown {
    endpoint: String,
    incarnation: u32,
    since: u32,
    damaged_slots: usize,
    damaged_peers: usize,
    /// Its process runs here, and is seen: it tells how the peers are.
    runs: bool,
    peers: Vec<Peer>,
    transactions: Vec<Transaction>,
}

#[derive(Serialize)]
struct Peer {
    endpoint: String,
    since: u32,
    /// Transactions that are not released.
    sent: usize,
    /// Transactions with a record that is kept.
    received: usize,
    name: Option<String>,
    address: Option<String>,
    incarnation: Option<u32>,
    state: Option<&'static str>,
}

#[derive(Serialize)]
struct Transaction {
    pool: &'static str,
    id: String,
    peer: String,
    handler: u16,
    state: String,
    bytes: usize,
}

impl Status {
    /// Prints it, or sets it aside.
    pub fn run(self) -> Result<Exit, Failure> {
        if self.set_aside {
            let aside = log::set_aside(&self.log).map_err(Failure::input)?;
            let aside = Aside { aside };
            output::print(self.format, &aside, || aside.aside.display().to_string())?;
            return Ok(Exit::Done);
        }
        let snapshot = log::look(&self.log).map_err(Failure::input)?;
        let shown = Shown::of(&snapshot);
        output::print(self.format, &shown, || shown.text(self.all))?;
        Ok(match shown.damaged_slots + shown.damaged_peers {
            0 => Exit::Done,
            _ => Exit::Finding,
        })
    }
}

impl Shown {
    fn of(snapshot: &Snapshot) -> Shown {
        let whole = snapshot
            .records
            .iter()
            .filter_map(|(place, found)| Some((place, (*found)?)));
        let transactions = whole.filter_map(|(place, (record, bytes))| {
            let (pool, state) = match place.pool {
                Pool::Send => (
                    "sent",
                    InitiatorState::from_code(record.state).map(|state| state.to_string()),
                ),
                Pool::Receive => (
                    "received",
                    TargetState::from_code(record.state).map(|state| state.to_string()),
                ),
            };
            let is_released = place.pool == Pool::Send
                && InitiatorState::from_code(record.state) == Some(InitiatorState::Released);
            (!is_released).then(|| Transaction {
                pool,
                id: record.id.to_string(),
                peer: record.peer.to_string(),
                handler: record.handler,
                state: state.unwrap_or_else(|| format!("unknown state {}", record.state)),
                bytes,
            })
        });
        let transactions: Vec<Transaction> = transactions.collect();
        let seen = seen(snapshot);
        let known = snapshot.peers.iter().filter_map(|(_, known)| *known);
        let peers = known.map(|known| Peer::of(known, &transactions, seen.as_deref()));
        Shown {
            endpoint: snapshot.endpoint.to_string(),
            incarnation: snapshot.incarnation,
            since: snapshot.since,
            runs: seen.is_some(),
            peers: peers.collect(),
            transactions,
            damaged_peers: snapshot
                .peers
                .iter()
                .filter(|(_, known)| known.is_none())
                .count(),
            damaged_slots: snapshot
                .records
                .iter()
                .filter(|(_, found)| found.is_none())
                .count(),
        }
    }

    fn text(&self, all: bool) -> String {
        let mut text = format!(
            "endpoint {}, incarnation {}, without a gap since {}\n",
            self.endpoint, self.incarnation, self.since
        );
        if self.damaged_slots > 0 {
            text += &format!(
                "{} damaged slots: what became of their transactions is unknown\n",
                self.damaged_slots
            );
        }
        if self.damaged_peers > 0 {
            text += &format!("{} damaged entries of peers\n", self.damaged_peers);
        }
        if !self.peers.is_empty() {
            text += &aligned(&self.peer_rows());
            text += match self.runs {
                true => "",
                false => {
                    "no process of yours has the endpoint here: how its peers are is not known\n"
                }
            };
        }
        if self.transactions.is_empty() {
            return text + "no transaction that is not released\n";
        }
        let rows: Vec<Vec<String>> = if all {
            let head = ["", "transaction", "peer", "handler", "bytes", "state"].map(String::from);
            let rows = self.transactions.iter().map(|one| {
                vec![
                    one.pool.into(),
                    one.id.clone(),
                    one.peer.clone(),
                    one.handler.to_string(),
                    one.bytes.to_string(),
                    one.state.clone(),
                ]
            });
            std::iter::once(head.to_vec()).chain(rows).collect()
        } else {
            let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
            for one in &self.transactions {
                *counts.entry((one.pool, &one.state)).or_default() += 1;
            }
            let head = ["", "transactions", "state"].map(String::from);
            let rows = counts
                .into_iter()
                .map(|((pool, state), count)| vec![pool.into(), show::count(count), state.into()]);
            std::iter::once(head.to_vec()).chain(rows).collect()
        };
        text + &aligned(&rows)
    }

    /// The peers; without the columns that only the running endpoint fills, where it does not run.
    fn peer_rows(&self) -> Vec<Vec<String>> {
        let row = |peer: &Peer| {
            let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
            vec![
                peer.endpoint.clone(),
                peer.since.to_string(),
                peer.sent.to_string(),
                peer.received.to_string(),
                text(&peer.name),
                text(&peer.address),
                text(&peer.incarnation.map(|life| life.to_string())),
                peer.state.unwrap_or("-").into(),
            ]
        };
        let head = [
            "peer",
            "since",
            "sent",
            "received",
            "name",
            "address",
            "incarnation",
            "state",
        ];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(self.peers.iter().map(row));
        if !self.runs {
            rows.iter_mut().for_each(|row| row.truncate(4));
        }
        rows
    }
}

/// The peers of the endpoint as its process here publishes them; none where no process has it in this life.
fn seen(snapshot: &Snapshot) -> Option<Vec<PublishedPeer>> {
    let mut all = published().ok()?.into_iter();
    let is_it = all.find(|one| {
        let id = EndpointId::of(&one.name);
        (id, one.incarnation) == (snapshot.endpoint, snapshot.incarnation)
    });
    is_it.map(|one| one.peers)
}

impl Peer {
    fn of(known: Known, transactions: &[Transaction], seen: Option<&[PublishedPeer]>) -> Peer {
        let endpoint = known.peer.to_string();
        let count = |pool| {
            let its = |one: &&Transaction| (one.pool, &one.peer) == (pool, &endpoint);
            transactions.iter().filter(its).count()
        };
        let mut seen = seen.into_iter().flatten();
        let seen = seen.find(|peer| peer.endpoint == known.peer);
        let said = |text: &String| Some(show::printable(text)).filter(|text| !text.is_empty());
        Peer {
            since: known.since.0,
            sent: count("sent"),
            received: count("received"),
            name: seen.and_then(|peer| said(&peer.name)),
            address: seen.and_then(|peer| said(&peer.address)),
            incarnation: seen.and_then(|peer| peer.incarnation),
            state: seen.map(|peer| match peer.connected {
                Some(true) => "connected",
                Some(false) => "connecting",
                None => "unreachable",
            }),
            endpoint,
        }
    }
}

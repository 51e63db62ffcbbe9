//! `jitterlab amvia call`: requests of an endpoint, and what became of each.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{
    Bundle, Credit, Endpoint, EndpointError, PeerId, Standing, Transaction,
};
use jitterlab_amvia::names::Name;
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::transport::Address;
use jitterlab_amvia_suite::handlers::ECHO;
use jitterlab_base::named;
use jitterlab_base::show;
use jitterlab_base::show::printable;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_live::{Count, Publisher, Timing};
use jitterlab_stats::sorted;
use jitterlab_stats::summary::quantile;
use serde::Serialize;

use super::end::{End, Harmed, TURN, WAIT, failed};
use super::names::Known;
use super::own_name::OwnName;
use crate::commands::packet::{count, span};
use crate::cpus::{choose, pin};
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::status::{Planned, Shown};

/// Options of `amvia call`.
#[derive(clap::Args)]
pub struct Call {
    /// NAME@ADDRESS of an endpoint, as in server@udp://127.0.0.1:7421; NAME alone is looked up at --names
    to: Target,
    /// echo, wait (the data is a time, as in 250ms), or the number of a handler
    #[arg(long, default_value_t = Handler(ECHO))]
    handler: Handler,
    /// Text that each request carries
    #[arg(long, conflicts_with = "size")]
    data: Option<String>,
    /// Bytes that each request carries, instead of --data
    #[arg(long, default_value = "32B")]
    size: Bytes,
    /// Requests, one after the other
    #[arg(long, default_value = "1", value_parser = count::<u64>(1..=1_000_000_000))]
    count: u64,
    /// Wait this long for each reply. If none comes, ask the target what became of the request, and wait this long for the answer
    #[arg(long, default_value = "10s", value_parser = span)]
    patience: Nanos,
    /// The name of this endpoint. No other endpoint may have the same name [default: client-HOST-USER-N, where N is the first free
    /// number. With --log, the default is `client`: a log belongs to one name]
    #[arg(long)]
    name: Option<Name>,
    #[command(flatten)]
    end: End,
    #[command(flatten)]
    known: Option<Known>,
    /// Run on this CPU [default: any CPU; on a tuned node, the first free CPU that is reserved for measurements]
    #[arg(long)]
    cpu: Option<usize>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// An endpoint by its name, and where it is, if that was said.
#[derive(Debug, Clone)]
struct Target {
    name: Name,
    address: Option<Address>,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = match text.split_once('@') {
            Some((name, address)) => (name, Some(address)),
            None => (text, None),
        };
        Ok(Target {
            name: name.parse().map_err(|error| format!("{error}"))?,
            address: match address {
                Some(address) => Some(address.parse().map_err(|error| format!("{error}"))?),
                None => None,
            },
        })
    }
}

/// The number of a handler.
#[derive(Debug, Clone, Copy)]
struct Handler(u16);

#[derive(Debug, Clone, Copy)]
enum KnownHandler {
    Echo,
    Wait,
}

named!(KnownHandler, "a handler", Echo => "echo", Wait => "wait");

impl FromStr for Handler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(KnownHandler::Echo) => Ok(Handler(ECHO)),
            Ok(KnownHandler::Wait) => Ok(Handler(WAIT)),
            Err(error) => text
                .parse()
                .map(Handler)
                .map_err(|_| format!("{error}, or a number from 0 to 65535")),
        }
    }
}

impl fmt::Display for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ECHO => KnownHandler::Echo.fmt(f),
            WAIT => KnownHandler::Wait.fmt(f),
            number => number.fmt(f),
        }
    }
}

/// The outcome of the requests.
#[derive(Serialize)]
struct Called {
    to: String,
    /// Transactions of earlier lives that the log held, by state.
    recovered: BTreeMap<String, u64>,
    /// Requests of this life, by state.
    states: BTreeMap<String, u64>,
    /// Nanoseconds from each request to its end, of those that were processed.
    round_trips_ns: Vec<f64>,
    retransmissions: u64,
    /// Each time that no word of the target came.
    unknown: Vec<Unknown>,
    /// The faults that were made; none where none were asked for.
    faults: Option<Harmed>,
    /// The reply of the last request that was processed.
    reply: Option<String>,
}

/// The time until the state of a request was unknown, and its timeouts together, in nanoseconds.
#[derive(Serialize)]
struct Unknown {
    after_ns: f64,
    timeouts_ns: f64,
}

impl Call {
    /// Makes the requests, one after the other.
    pub fn run(self) -> Result<Exit, Failure> {
        let cpu = choose(self.cpu);
        let measuring: Vec<usize> = cpu.into_iter().collect();
        let shown = Shown::begin(&measuring, Planned::Samples(self.count));
        pin(cpu)?;
        let live = self.publisher();
        let address = self.address()?;
        let bundle = Bundle::new().map_err(failed)?;
        let own = End::own(&address)?;
        let own_name = OwnName::choose(self.name.as_ref(), self.end.has_log())?;
        let opened = self.end.open(&bundle, &own_name.name, &own)?;
        let client = &opened.endpoint;
        let caller = Caller {
            bundle: &bundle,
            client,
            patience: self.patience.as_duration(),
            now: Instant::now,
        };
        let name = self.to.name.as_str();
        let peer = client.begin_connect(name, &address).map_err(failed)?;
        let mut called = Called {
            to: format!("{name}@{address}"),
            recovered: BTreeMap::new(),
            states: BTreeMap::new(),
            round_trips_ns: Vec::new(),
            retransmissions: 0,
            unknown: Vec::new(),
            faults: None,
            reply: None,
        };
        for (transaction, _) in client.transactions().map_err(failed)? {
            let state = caller.learn(transaction)?;
            *called.recovered.entry(state.to_string()).or_default() += 1;
            // One that is unknown stays in the log, for a later call.
            if state.is_final() {
                client.release(transaction).map_err(failed)?;
            }
        }
        let data = match &self.data {
            Some(data) => data.clone().into_bytes(),
            None => vec![0; self.size.0 as usize],
        };
        for _ in 0..self.count {
            if !self.one(&caller, peer, &data, live, &mut called)? {
                break;
            }
        }
        drop(shown);
        if let Standing::Unreachable(Some(refusal)) = client.standing(peer).map_err(failed)? {
            return Err(failed(EndpointError::Refused { address, refusal }));
        }
        called.retransmissions = client.counters(peer).map_err(failed)?.retransmissions;
        called.faults = opened.harmed()?;
        output::print(self.format, &called, || called.text())?;
        Ok(match called.are_processed() {
            true => Exit::Done,
            false => Exit::Finding,
        })
    }

    /// The way to whoever follows.
    fn publisher(&self) -> Publisher {
        let live = jitterlab_live::publisher();
        let bytes = self.data.as_ref().map(|data| Bytes(data.len() as u64));
        live.begin(&bytes.unwrap_or(self.size).to_string());
        live.timed(Timing::ClosedLoop);
        live
    }

    fn address(&self) -> Result<Address, Failure> {
        if let Some(address) = &self.to.address {
            return Ok(address.clone());
        }
        let known = self.known.as_ref().ok_or_else(|| {
            Failure::input(format!(
                "the address of {0} is unknown: write {0}@ADDRESS, or give --names and --key of a name server",
                self.to.name
            ))
        })?;
        let entry = known
            .client()?
            .look_up(&self.to.name)
            .map_err(Failure::run)?;
        let entry = entry.ok_or_else(|| {
            Failure::run(format!(
                "{} is not registered at the name server",
                self.to.name
            ))
        })?;
        Ok(entry.address)
    }

    /// One request. False: there is no use in another.
    fn one(
        &self,
        caller: &Caller<'_, impl Fn() -> Instant>,
        peer: PeerId,
        data: &[u8],
        live: Publisher,
        called: &mut Called,
    ) -> Result<bool, Failure> {
        let Handler(handler) = self.handler;
        let client = caller.client;
        let timeouts = client.patience(peer).map_err(failed)?;
        let (sent, took) = caller.request(peer, handler, data)?;
        if client.state(sent).map_err(failed)?.is_unknown() {
            live.count(Count::Lost, 1);
            called.unknown.push(Unknown {
                after_ns: took.as_nanos() as f64,
                timeouts_ns: timeouts.as_nanos() as f64,
            });
        }
        let state = caller.learn(sent)?;
        *called.states.entry(state.to_string()).or_default() += 1;
        if state == InitiatorState::Processed {
            live.sample(|| took.as_nanos() as u64);
            called.round_trips_ns.push(took.as_nanos() as f64);
            let reply = client.reply(sent, |reply| String::from_utf8_lossy(reply).into_owned());
            called.reply = Some(reply.map_err(failed)?);
        }
        if state.is_final() {
            client.release(sent).map_err(failed)?;
        }
        let standing = client.standing(peer).map_err(failed)?;
        Ok(state.is_final() && !matches!(standing, Standing::Unreachable(_)))
    }
}

/// An endpoint that calls, its patience, and what time it is.
struct Caller<'a, N> {
    bundle: &'a Bundle,
    client: &'a Endpoint,
    patience: Duration,
    now: N,
}

impl<N: Fn() -> Instant> Caller<'_, N> {
    /// Makes a request, and polls until there is word of it, or no patience is left; gives how long that was, too.
    fn request(
        &self,
        peer: PeerId,
        handler: u16,
        data: &[u8],
    ) -> Result<(Transaction, Duration), Failure> {
        let begun = (self.now)();
        let sent = self
            .client
            .request(peer, handler, data, Credit::Refuse)
            .map_err(failed)?;
        while !ended(self.client.state(sent).map_err(failed)?) && self.has_patience(begun) {
            self.bundle.poll().map_err(failed)?;
        }
        Ok((sent, (self.now)() - begun))
    }

    /// Waits for what becomes of a transaction; asks the target where that is unknown.
    fn learn(&self, transaction: Transaction) -> Result<InitiatorState, Failure> {
        let begun = (self.now)();
        loop {
            let state = self.client.state(transaction).map_err(failed)?;
            if state.is_final() || !self.has_patience(begun) {
                return Ok(state);
            }
            if state.is_unknown() {
                // Refused while a question is on its way.
                let _ = self.client.ask(transaction);
            }
            self.bundle.wait(TURN).map_err(failed)?;
        }
    }

    /// Whether any is left with something that has begun at a time.
    fn has_patience(&self, begun: Instant) -> bool {
        (self.now)() - begun < self.patience
    }
}

fn ended(state: InitiatorState) -> bool {
    state.is_final() || state.is_unknown()
}

impl Called {
    fn are_processed(&self) -> bool {
        let processed = InitiatorState::Processed.to_string();
        self.states.keys().all(|state| *state == processed)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let both = [("of earlier lives: ", &self.recovered), ("", &self.states)];
        for (when, states) in both {
            for (state, count) in states {
                text += &format!("{}: {when}{} {state}\n", self.to, show::count(*count));
            }
        }
        if let Ok(sorted) = sorted(&self.round_trips_ns)
            && !sorted.is_empty()
        {
            let at = |share| show::time(quantile(&sorted, share));
            text += &format!(
                "round trips: median {}, 99 % {}, longest {}; {} sent again\n",
                at(0.5),
                at(0.99),
                at(1.0),
                show::count(self.retransmissions),
            );
        }
        for Unknown {
            after_ns,
            timeouts_ns,
        } in &self.unknown
        {
            text += &format!(
                "unknown after {}; its timeouts take {}\n",
                show::time(*after_ns),
                show::time(*timeouts_ns)
            );
        }
        text += &self.faults.as_ref().map_or_else(String::new, Harmed::text);
        match &self.reply {
            Some(reply) if self.states.values().sum::<u64>() == 1 => {
                text + &format!("reply: {}\n", printable(reply))
            }
            _ => text,
        }
    }
}

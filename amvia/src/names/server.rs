//! The server as a machine: a datagram, its sender and the time go in, an answer comes out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::ops::Bound;
use std::time::Duration;

use super::key::Key;
use super::message::{Body, Challenge, Datagram, Message, Nonce};
use super::{Entry, LEASES, Name, Outcome, Registration, Request};
use crate::transaction::{EndpointId, Incarnation};
use crate::transport::Address;

/// The most names that a server can be told to keep.
pub const MOST_NAMES: usize = 65_536;
/// The most requests that a server serves in ten seconds.
pub const MOST_REQUESTS: usize = 65_536;

/// The times that challenges are made for. One is taken in its own and in the next.
const SPAN: Duration = Duration::from_secs(10);
/// The time, at least, after which a full server looks again for names whose leases have ended.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);

/// A name server.
pub struct Server {
    key: Key,
    /// Makes challenges. Nobody else has it.
    secret: Key,
    most: usize,
    names: BTreeMap<Name, Known>,
    /// The same names, to find those that have the same endpoint number.
    endpoints: HashMap<EndpointId, Name>,
    /// When names whose leases have ended were last looked for.
    swept: Duration,
    used: Used,
    counts: Counts,
}

/// Counts of what a server has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests that were carried out, whatever came of them.
    pub served: u64,
    /// Requests that were refused because their challenge was used, old or another server's.
    pub replayed: u64,
    /// Datagrams that were dropped: not of somebody who has the key, or in no form of a message.
    pub dropped: u64,
}

struct Known {
    address: Address,
    incarnation: Incarnation,
    /// Since the server's start.
    until: Duration,
}

/// The names by their endpoint numbers, to find those that have the same one.
#[derive(Default)]
struct Used {
    span: u32,
    present: HashSet<Challenge>,
    before: HashSet<Challenge>,
}

impl Used {
    fn go_on(&mut self, span: u32) {
        if span == self.span {
            return;
        }
        self.before = std::mem::take(&mut self.present);
        if span != self.span.wrapping_add(1) {
            self.before.clear();
        }
        self.span = span;
    }
}

impl Server {
    /// A server that keeps at most so many names. `secret` has to be new at each start.
    pub fn new(key: Key, secret: &[u8; 32], most: usize) -> Server {
        Server {
            key,
            secret: Key::new(secret),
            most,
            names: BTreeMap::new(),
            endpoints: HashMap::new(),
            swept: Duration::ZERO,
            used: Used::default(),
            counts: Counts::default(),
        }
    }

    /// Counts of what it has done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The answer to a datagram that has come `now` after the server's start; none to one that is dropped.
    pub fn answer(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) -> Option<Datagram> {
        let message = Message::decode(&self.key, datagram);
        let span = (now.as_secs() / SPAN.as_secs()) as u32;
        let nonce = message.as_ref().map(|message| message.nonce);
        let body = match message.map(|message| message.body) {
            Some(Body::Hello) => Body::Challenge(self.challenge(nonce?, from, span)),
            Some(Body::Request(challenge, request)) => {
                let outcome = match self.use_up(challenge, nonce?, from, span) {
                    Ok(()) => {
                        self.counts.served += 1;
                        self.carry_out(now, request)
                    }
                    Err(refusal) => refusal,
                };
                Body::Answer(outcome)
            }
            // Messages of servers are no messages to one.
            Some(Body::Challenge(_) | Body::Answer(_)) | None => {
                self.counts.dropped += 1;
                return None;
            }
        };
        let nonce = nonce?;
        Some(Message { nonce, body }.encode(&self.key))
    }

    /// The span that it was made in, and 16 bytes that only this life of the server can make.
    fn challenge(&self, nonce: Nonce, from: SocketAddr, span: u32) -> Challenge {
        let mut challenge = [0; 20];
        challenge[..4].copy_from_slice(&span.to_be_bytes());
        let made_of = format!("{nonce:?} {from} {span}");
        challenge[4..].copy_from_slice(&self.secret.proof(made_of.as_bytes())[..16]);
        challenge
    }

    fn use_up(
        &mut self,
        challenge: Challenge,
        nonce: Nonce,
        from: SocketAddr,
        span: u32,
    ) -> Result<(), Outcome> {
        self.used.go_on(span);
        let spans = [span, span.wrapping_sub(1)];
        let is_ours = spans
            .iter()
            .any(|&made| challenge == self.challenge(nonce, from, made));
        let was_used =
            self.used.present.contains(&challenge) || self.used.before.contains(&challenge);
        if !is_ours || was_used {
            self.counts.replayed += 1;
            return Err(Outcome::BadChallenge);
        }
        if self.used.present.len() >= MOST_REQUESTS {
            return Err(Outcome::Busy);
        }
        self.used.present.insert(challenge);
        Ok(())
    }

    fn carry_out(&mut self, now: Duration, request: Request) -> Outcome {
        match request {
            Request::Register(registration) => self.register(now, registration),
            Request::Unregister(name, incarnation) => match self.living(now, &name) {
                None => Outcome::NotFound,
                Some(known) if known.incarnation > incarnation => {
                    Outcome::Outlived(known.incarnation)
                }
                Some(_) => {
                    self.names.remove(&name);
                    self.endpoints.remove(&EndpointId::of(name.as_str()));
                    Outcome::Done
                }
            },
            Request::LookUp(name) => match self.living(now, &name) {
                Some(known) => Outcome::Found(known.entry(now, name)),
                None => Outcome::NotFound,
            },
            Request::Next(name) => {
                let after = name.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let mut names = self.names.range::<Name, _>((after, Bound::Unbounded));
                match names.find(|(_, known)| known.until > now) {
                    Some((name, known)) => Outcome::Found(known.entry(now, name.clone())),
                    None => Outcome::NotFound,
                }
            }
        }
    }

    fn register(&mut self, now: Duration, registration: Registration) -> Outcome {
        let Registration {
            name,
            address,
            incarnation,
            lease,
        } = registration;
        if !LEASES.contains(&lease) {
            return Outcome::BadLease;
        }
        match self.living(now, &name) {
            Some(known) if known.incarnation > incarnation => {
                return Outcome::Outlived(known.incarnation);
            }
            Some(known) if known.incarnation == incarnation && known.address != address => {
                return Outcome::InUse(known.address.clone());
            }
            _ => {}
        }
        if self.is_full(now, &name) {
            return Outcome::Full;
        }
        let endpoint = EndpointId::of(name.as_str());
        match self.endpoints.get(&endpoint) {
            Some(other) if *other != name => return Outcome::Collision(other.clone()),
            _ => self.endpoints.insert(endpoint, name.clone()),
        };
        let known = Known {
            address,
            incarnation,
            until: now + lease,
        };
        self.names.insert(name, known);
        Outcome::Done
    }

    /// True if there is no room for this name. Names whose leases have ended make room; they are looked for once a second.
    fn is_full(&mut self, now: Duration, name: &Name) -> bool {
        let full =
            |names: &BTreeMap<Name, Known>| !names.contains_key(name) && names.len() >= self.most;
        if full(&self.names) && now - self.swept >= BETWEEN_SWEEPS {
            self.swept = now;
            self.names.retain(|_, known| known.until > now);
            self.endpoints
                .retain(|_, name| self.names.contains_key(name));
        }
        full(&self.names)
    }

    fn living(&self, now: Duration, name: &Name) -> Option<&Known> {
        self.names.get(name).filter(|known| known.until > now)
    }
}

impl Known {
    fn entry(&self, now: Duration, name: Name) -> Entry {
        Entry {
            name,
            address: self.address.clone(),
            incarnation: self.incarnation,
            left: self.until - now,
        }
    }
}

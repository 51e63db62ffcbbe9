//! The messages between name server and client: one form, [`MESSAGE`] bytes, numbers big-endian.
//!
//! | bytes | |
//! |---|---|
//! | 0 to 4 | `AMN1` |
//! | 4 | kind |
//! | 5 | length of the name |
//! | 6 | length of the address |
//! | 7 | 0 |
//! | 8 to 24 | nonce |
//! | 24 to 44 | challenge |
//! | 44 to 48 | incarnation |
//! | 48 to 52 | lease in milliseconds |
//! | 52 to 116 | name |
//! | 116 to 224 | address |
//! | 224 to 256 | HMAC-SHA256 of all before |
//!
//! What a kind does not use is zero. A message is decoded after its proof was found right, and decoded strictly: there is one
//! form of each.

use std::time::Duration;

use super::key::{Key, PROOF};
use super::name::Name;
use crate::transaction::Incarnation;
use crate::transport::Address;

/// Bytes of a message.
pub const MESSAGE: usize = 256;
/// A message as it is sent.
pub type Datagram = [u8; MESSAGE];

const MAGIC: &[u8; 4] = b"AMN1";
const PROVED: usize = MESSAGE - PROOF;
const NAME: std::ops::Range<usize> = 52..116;
const ADDRESS: std::ops::Range<usize> = 116..PROVED;

/// The number that binds the messages of an attempt together.
pub(super) type Nonce = [u8; 16];
/// The number that the server gives a client to be used once.
pub(super) type Challenge = [u8; 20];

/// The registration of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Its name.
    pub name: Name,
    /// Its address.
    pub address: Address,
    /// Its present life.
    pub incarnation: Incarnation,
    /// The time that the registration holds, unless it is renewed.
    pub lease: Duration,
}

/// A request to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Registers an endpoint, renews its lease, or replaces an earlier life of it.
    Register(Registration),
    /// Forgets an endpoint, if this is its incarnation.
    Unregister(Name, Incarnation),
    /// Asks for the address of an endpoint.
    LookUp(Name),
    /// Asks for the first name after this one, or of all, in the order of bytes.
    Next(Option<Name>),
}

/// A server's entry of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// Its address.
    pub address: Address,
    /// Its present life.
    pub incarnation: Incarnation,
    /// The time that the registration still holds.
    pub left: Duration,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Registered, renewed or forgotten.
    Done,
    /// This is it.
    Found(Entry),
    /// There is no such name, or none after it.
    NotFound,
    /// A later life of the endpoint is registered.
    Outlived(Incarnation),
    /// The same life of the endpoint is registered at another address: two processes use one name.
    InUse(Address),
    /// Another name has the same endpoint number.
    Collision(Name),
    /// The server has no room for another name.
    Full,
    /// The lease is too short or too long.
    BadLease,
    /// The challenge is too old, used, or not of this life of the server: begin again.
    BadChallenge,
    /// There were too many requests in the last seconds.
    Busy,
}

/// All that can be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    Hello,
    Challenge(Challenge),
    Request(Challenge, Request),
    Answer(Outcome),
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) nonce: Nonce,
    pub(super) body: Body,
}

/// The fields, as they stand in the bytes.
#[derive(Default, PartialEq)]
struct Fields {
    kind: u8,
    challenge: Challenge,
    incarnation: u32,
    lease: u32,
    name: Option<Name>,
    address: Option<Address>,
}

impl Message {
    pub(super) fn encode(&self, key: &Key) -> Datagram {
        let fields = Fields::of(&self.body);
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4] = fields.kind;
        bytes[8..24].copy_from_slice(&self.nonce);
        bytes[24..44].copy_from_slice(&fields.challenge);
        bytes[44..48].copy_from_slice(&fields.incarnation.to_be_bytes());
        bytes[48..52].copy_from_slice(&fields.lease.to_be_bytes());
        let name = fields.name.map(|name| name.to_string());
        let address = fields.address.map(|address| address.to_string());
        for (length, room, text) in [(5, NAME, name), (6, ADDRESS, address)] {
            let text = text.unwrap_or_default();
            bytes[length] = text.len() as u8;
            bytes[room][..text.len()].copy_from_slice(text.as_bytes());
        }
        let proof = key.proof(&bytes[..PROVED]);
        bytes[PROVED..].copy_from_slice(&proof);
        bytes
    }

    /// The message in these bytes, if it is of somebody who has the key, and in its one form.
    pub(super) fn decode(key: &Key, bytes: &[u8]) -> Option<Message> {
        let bytes: &Datagram = bytes.try_into().ok()?;
        if bytes[..4] != *MAGIC || !key.proves(&bytes[..PROVED], &bytes[PROVED..]) {
            return None;
        }
        let text = |length: u8, room: std::ops::Range<usize>| {
            let (text, rest) = bytes[room].split_at_checked(length.into())?;
            let text = std::str::from_utf8(text).ok()?;
            rest.iter().all(|&byte| byte == 0).then_some(text)
        };
        let number = |at: usize| Some(u32::from_be_bytes(bytes[at..at + 4].try_into().ok()?));
        let name = text(bytes[5], NAME)?;
        let address = text(bytes[6], ADDRESS)?;
        let fields = Fields {
            kind: bytes[4],
            challenge: bytes[24..44].try_into().ok()?,
            incarnation: number(44)?,
            lease: number(48)?,
            name: match name {
                "" => None,
                name => Some(name.parse().ok()?),
            },
            address: match address {
                "" => None,
                text => {
                    let address: Address = text.parse().ok()?;
                    // One form of each.
                    (address.to_string() == text).then_some(address).map(Some)?
                }
            },
        };
        let body = fields.body()?;
        let one_form = bytes[7] == 0 && Fields::of(&body) == fields;
        one_form.then_some(Message {
            nonce: bytes[8..24].try_into().ok()?,
            body,
        })
    }
}

fn milliseconds(time: Duration) -> u32 {
    time.as_millis().try_into().unwrap_or(u32::MAX)
}

impl Fields {
    fn of(body: &Body) -> Fields {
        let none = Fields::default();
        match body.clone() {
            Body::Hello => Fields { kind: 1, ..none },
            Body::Challenge(challenge) => Fields {
                kind: 2,
                challenge,
                ..none
            },
            Body::Request(challenge, request) => Fields {
                challenge,
                ..Fields::of_request(request)
            },
            Body::Answer(outcome) => Fields::of_outcome(outcome),
        }
    }

    fn of_request(request: Request) -> Fields {
        let none = Fields::default();
        match request {
            Request::Register(registration) => Fields {
                kind: 3,
                incarnation: registration.incarnation.0,
                lease: milliseconds(registration.lease),
                name: Some(registration.name),
                address: Some(registration.address),
                ..none
            },
            Request::Unregister(name, incarnation) => Fields {
                kind: 4,
                incarnation: incarnation.0,
                name: Some(name),
                ..none
            },
            Request::LookUp(name) => Fields {
                kind: 5,
                name: Some(name),
                ..none
            },
            Request::Next(name) => Fields {
                kind: 6,
                name,
                ..none
            },
        }
    }

    fn of_outcome(outcome: Outcome) -> Fields {
        let kind = |kind| Fields {
            kind,
            ..Fields::default()
        };
        match outcome {
            Outcome::Done => kind(16),
            Outcome::Found(entry) => Fields {
                incarnation: entry.incarnation.0,
                lease: milliseconds(entry.left),
                name: Some(entry.name),
                address: Some(entry.address),
                ..kind(17)
            },
            Outcome::NotFound => kind(18),
            Outcome::Outlived(incarnation) => Fields {
                incarnation: incarnation.0,
                ..kind(19)
            },
            Outcome::InUse(address) => Fields {
                address: Some(address),
                ..kind(20)
            },
            Outcome::Collision(name) => Fields {
                name: Some(name),
                ..kind(21)
            },
            Outcome::Full => kind(22),
            Outcome::BadLease => kind(23),
            Outcome::BadChallenge => kind(24),
            Outcome::Busy => kind(25),
        }
    }

    /// The body that these fields make; fields that the kind does not use are not looked at.
    fn body(&self) -> Option<Body> {
        let name = || self.name.clone();
        let address = || self.address.clone();
        let incarnation = Incarnation(self.incarnation);
        let time = Duration::from_millis(self.lease.into());
        let request = |request| Some(Body::Request(self.challenge, request));
        let outcome = |outcome| Some(Body::Answer(outcome));
        match self.kind {
            1 => Some(Body::Hello),
            2 => Some(Body::Challenge(self.challenge)),
            3 => request(Request::Register(Registration {
                name: name()?,
                address: address()?,
                incarnation,
                lease: time,
            })),
            4 => request(Request::Unregister(name()?, incarnation)),
            5 => request(Request::LookUp(name()?)),
            6 => request(Request::Next(name())),
            16 => outcome(Outcome::Done),
            17 => outcome(Outcome::Found(Entry {
                name: name()?,
                address: address()?,
                incarnation,
                left: time,
            })),
            18 => outcome(Outcome::NotFound),
            19 => outcome(Outcome::Outlived(incarnation)),
            20 => outcome(Outcome::InUse(address()?)),
            21 => outcome(Outcome::Collision(name()?)),
            22 => outcome(Outcome::Full),
            23 => outcome(Outcome::BadLease),
            24 => outcome(Outcome::BadChallenge),
            25 => outcome(Outcome::Busy),
            _ => None,
        }
    }
}

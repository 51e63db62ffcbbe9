//! One attempt at a request, as a machine.

use super::key::Key;
use super::message::{Body, Challenge, Datagram, Message, Nonce};
use super::{Outcome, Request};

/// An attempt: from a hello to an answer. Each needs a nonce of its own.
pub struct Exchange<'a> {
    key: &'a Key,
    request: &'a Request,
    nonce: Nonce,
    challenge: Option<Challenge>,
}

/// The meaning of a datagram for an attempt.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing: it is old, somebody else's, or forged.
    Nothing,
    /// [`Exchange::message`] is another now, to be sent.
    Challenge,
    /// The server has answered.
    Answer(Outcome),
}

impl<'a> Exchange<'a> {
    /// An attempt at `request`; nobody may be able to guess the nonce ([`random`](super::random)).
    pub fn new(key: &'a Key, request: &'a Request, nonce: [u8; 16]) -> Exchange<'a> {
        Exchange {
            key,
            request,
            nonce,
            challenge: None,
        }
    }

    /// The message to the server.
    pub fn message(&self) -> Datagram {
        let body = match self.challenge {
            None => Body::Hello,
            Some(challenge) => Body::Request(challenge, self.request.clone()),
        };
        let nonce = self.nonce;
        Message { nonce, body }.encode(self.key)
    }

    /// Takes a datagram.
    pub fn receive(&mut self, datagram: &[u8]) -> Heard {
        let message = Message::decode(self.key, datagram);
        let Some(message) = message.filter(|message| message.nonce == self.nonce) else {
            return Heard::Nothing;
        };
        match (message.body, self.challenge) {
            (Body::Challenge(challenge), None) => {
                self.challenge = Some(challenge);
                Heard::Challenge
            }
            (Body::Answer(outcome), Some(_)) => Heard::Answer(outcome),
            _ => Heard::Nothing,
        }
    }
}

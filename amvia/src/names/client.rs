//! The client: operations that wait for their answer.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::exchange::{Exchange, Heard};
use super::{Entry, Key, MESSAGE, Name, Outcome, Registration, Request, random};
use crate::transaction::Incarnation;
use crate::transport::Address;

/// An operation that did not succeed.
#[derive(Debug, Error)]
pub enum NamesError {
    /// The server does not answer.
    #[error(
        "name server {server} does not answer within {within:?}: is it running there, and has it the same key?"
    )]
    Silent {
        /// The server.
        server: SocketAddr,
        /// The time that it was asked.
        within: Duration,
    },
    /// A later life of the endpoint is registered.
    #[error("a later incarnation of `{name}` is registered: {later}; this one is {incarnation}")]
    Outlived {
        /// The endpoint.
        name: Name,
        /// The incarnation that was to be registered.
        incarnation: Incarnation,
        /// The one that is.
        later: Incarnation,
    },
    /// Two processes use one name.
    #[error("`{name}` is in use: the same run of this endpoint is registered at {address}")]
    InUse {
        /// The name.
        name: Name,
        /// The address of the other.
        address: Address,
    },
    /// Another name has the same endpoint number.
    #[error(
        "`{name}` and `{other}` give the same endpoint number, which is computed from the name; take another name"
    )]
    Collision {
        /// The name that was to be registered.
        name: Name,
        /// The one that is.
        other: Name,
    },
    /// The server keeps no more names.
    #[error("name server {server} is full; let it keep more (--max)")]
    Full {
        /// The server.
        server: SocketAddr,
    },
    /// The lease is out of range.
    #[error("a lease has to last from 1 s to 1 h, not {lease:?}")]
    BadLease {
        /// The lease that was asked for.
        lease: Duration,
    },
    /// The address names no host.
    #[error(
        "other nodes cannot reach `{name}` at {address}: it has to listen at an address that other nodes can reach"
    )]
    Unreachable {
        /// The endpoint.
        name: Name,
        /// Its address.
        address: Address,
    },
    /// The server answers something else than was asked.
    #[error(
        "name server {server} gave an answer that does not fit the question; does it run another version?"
    )]
    Nonsense {
        /// The server.
        server: SocketAddr,
    },
    /// The system refuses.
    #[error("cannot ask name server {server}")]
    System {
        /// The server.
        server: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// The time that the first attempt waits; each after it waits twice as long, to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// Asks a name server.
pub struct Client {
    server: SocketAddr,
    key: Key,
    patience: Duration,
}

impl Client {
    /// A client that asks `server`, and waits for an answer for at most `patience`.
    pub fn new(server: SocketAddr, key: Key, patience: Duration) -> Client {
        Client {
            server,
            key,
            patience,
        }
    }

    /// Registers an endpoint, or renews its lease; an earlier incarnation of it is replaced.
    ///
    /// # Errors
    /// The address names no host; a later incarnation is registered, or another process of this name; the lease is out of
    /// range; the server is full or silent.
    pub fn register(&self, registration: &Registration) -> Result<(), NamesError> {
        if registration.address.is_unspecified() {
            return Err(NamesError::Unreachable {
                name: registration.name.clone(),
                address: registration.address.clone(),
            });
        }
        let server = self.server;
        match self.ask(&Request::Register(registration.clone()))? {
            Outcome::Done => Ok(()),
            Outcome::Outlived(later) => Err(NamesError::Outlived {
                name: registration.name.clone(),
                incarnation: registration.incarnation,
                later,
            }),
            Outcome::InUse(address) => Err(NamesError::InUse {
                name: registration.name.clone(),
                address,
            }),
            Outcome::Collision(other) => Err(NamesError::Collision {
                name: registration.name.clone(),
                other,
            }),
            Outcome::Full => Err(NamesError::Full { server }),
            Outcome::BadLease => Err(NamesError::BadLease {
                lease: registration.lease,
            }),
            _ => Err(NamesError::Nonsense { server }),
        }
    }

    /// Has an endpoint forgotten. One that is not there is no error.
    ///
    /// # Errors
    /// A later incarnation is registered; the server is silent.
    pub fn unregister(&self, name: &Name, incarnation: Incarnation) -> Result<(), NamesError> {
        match self.ask(&Request::Unregister(name.clone(), incarnation))? {
            Outcome::Done | Outcome::NotFound => Ok(()),
            Outcome::Outlived(later) => Err(NamesError::Outlived {
                name: name.clone(),
                incarnation,
                later,
            }),
            _ => Err(self.nonsense()),
        }
    }

    /// The entry of an endpoint; none if it is not registered.
    ///
    /// # Errors
    /// The server is silent.
    pub fn look_up(&self, name: &Name) -> Result<Option<Entry>, NamesError> {
        match self.ask(&Request::LookUp(name.clone()))? {
            Outcome::Found(entry) if entry.name == *name => Ok(Some(entry)),
            Outcome::NotFound => Ok(None),
            _ => Err(self.nonsense()),
        }
    }

    /// Every endpoint, by name.
    ///
    /// # Errors
    /// The server is silent.
    pub fn list(&self) -> Result<Vec<Entry>, NamesError> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let last = entries.last().map(|entry| entry.name.clone());
            match self.ask(&Request::Next(last.clone()))? {
                Outcome::Found(entry) if last.is_none_or(|last| entry.name > last) => {
                    entries.push(entry);
                }
                Outcome::NotFound => return Ok(entries),
                _ => return Err(self.nonsense()),
            }
        }
    }

    fn nonsense(&self) -> NamesError {
        NamesError::Nonsense {
            server: self.server,
        }
    }

    fn ask(&self, request: &Request) -> Result<Outcome, NamesError> {
        self.attempts(request)
            .map_err(|source| NamesError::System {
                server: self.server,
                source,
            })?
            .ok_or(NamesError::Silent {
                server: self.server,
                within: self.patience,
            })
    }

    /// Asks until there is an answer; none if the time is over.
    fn attempts(&self, request: &Request) -> io::Result<Option<Outcome>> {
        let any: SocketAddr = match self.server {
            SocketAddr::V4(_) => ([0; 4], 0).into(),
            SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(self.server)?;
        let mut attempts = Attempts::new(self.patience, Instant::now());
        while let Some((until, wait)) = attempts.next(Instant::now()) {
            match self.attempt(&socket, request, until)? {
                // The server has started anew since its challenge, or is busy.
                Some(Outcome::BadChallenge) => {}
                Some(Outcome::Busy) => std::thread::sleep(wait),
                Some(outcome) => return Ok(Some(outcome)),
                None => {}
            }
        }
        Ok(None)
    }

    fn attempt(
        &self,
        socket: &UdpSocket,
        request: &Request,
        until: Instant,
    ) -> io::Result<Option<Outcome>> {
        let mut exchange = Exchange::new(&self.key, request, random()?);
        send(socket, &exchange)?;
        // One byte more than a message, so that what is longer is seen to be.
        let mut datagram = [0; MESSAGE + 1];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            socket.set_read_timeout(Some(left))?;
            let length = match socket.recv(&mut datagram) {
                Ok(length) => length,
                Err(error) if is_silence(&error) => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    // Nobody listens there now.
                    std::thread::sleep(left);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            match exchange.receive(&datagram[..length]) {
                Heard::Nothing => {}
                Heard::Challenge => send(socket, &exchange)?,
                Heard::Answer(outcome) => return Ok(Some(outcome)),
            }
        }
    }
}

/// The times to wait for answers. Each attempt waits twice as long as the one before it, and all together no longer than there is patience.
struct Attempts {
    given_up: Instant,
    wait: Duration,
}

impl Attempts {
    fn new(patience: Duration, now: Instant) -> Self {
        Attempts {
            given_up: now + patience,
            wait: FIRST_WAIT,
        }
    }

    /// Until when the attempt that begins now waits, and how long that is if there is patience; none if there is no more.
    fn next(&mut self, now: Instant) -> Option<(Instant, Duration)> {
        let wait = self.wait;
        self.wait = LONGEST_WAIT.min(2 * wait);
        (now < self.given_up).then(|| (self.given_up.min(now + wait), wait))
    }
}

/// A datagram that is refused is as good as lost.
fn send(socket: &UdpSocket, exchange: &Exchange<'_>) -> io::Result<()> {
    match socket.send(&exchange.message()) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
        _ => Ok(()),
    }
}

fn is_silence(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_take_longer_and_longer_until_patience_ends() {
        let begun = Instant::now();
        let mut attempts = Attempts::new(10 * FIRST_WAIT, begun);
        let at = |waits: u32| begun + waits * FIRST_WAIT;
        assert_eq!(attempts.next(at(0)), Some((at(1), FIRST_WAIT)));
        assert_eq!(attempts.next(at(1)), Some((at(3), 2 * FIRST_WAIT)));
        assert_eq!(attempts.next(at(9)), Some((at(10), 4 * FIRST_WAIT)));
        assert_eq!(attempts.next(at(10)), None);
    }
}

//! The name server: where an endpoint is, and which of its lives that is.
//!
//! An endpoint registers its name with its address, its incarnation and a lease, and registers again before the lease ends.
//! Whoever knows the name looks the address up. A server that has crashed starts empty, and is full again when the leases have
//! been renewed once. An endpoint that has crashed registers with its next incarnation, which takes the place of the last.
//!
//! # The messages
//!
//! Each is a UDP datagram of [`MESSAGE`] bytes, authenticated by HMAC-SHA256 with the key of the cluster. An operation takes
//! four:
//!
//! ```text
//! client                                   server
//!   hello (nonce)                    ──>
//!                                    <──   challenge (nonce, challenge)
//!   request (nonce, challenge, …)    ──>
//!                                    <──   answer (nonce, …)
//! ```
//!
//! The nonce is new in each attempt; the client takes a message with its nonce alone, so an old answer is none. The challenge
//! is made of the nonce, the client's address, the time and a secret that the server has drawn at its start. The server
//! keeps nothing of it until it is used. It takes a challenge for 10 to 20 seconds and only once, so a request that is sent
//! again, by whomever, is refused, also by the next life of the server. No clock has to be right: timestamps in requests
//! would need clocks that agree, which nodes that have just booted do not have.
//!
//! An answer is as long as what it answers, so nobody can use the server to flood somebody else.
//!
//! # What is bounded
//!
//! Names are at most as many as the server was told, and used challenges [`MOST_REQUESTS`] in ten seconds. Only who has the
//! key can make it keep anything.

mod client;
mod exchange;
mod keeper;
mod key;
mod message;
mod name;
mod serve;
mod server;

use std::io;
use std::time::Duration;

use rand::TryRng;
use rand::rngs::SysRng;

pub use client::{Client, NamesError};
pub use exchange::{Exchange, Heard};
pub use keeper::Keeper;
pub use key::{Key, KeyError};
pub use message::{Datagram, Entry, MESSAGE, Outcome, Registration, Request};
pub use name::{Name, NameError};
pub use serve::serve;
pub use server::{Counts, MOST_NAMES, MOST_REQUESTS, Server};

/// The leases that a server grants.
pub const LEASES: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(3600);

/// The lease that an endpoint asks for where nothing else is said.
pub const LEASE: Duration = Duration::from_secs(30);

/// Bytes that nobody can guess.
///
/// # Errors
/// The system has none.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(io::Error::other)?;
    Ok(bytes)
}

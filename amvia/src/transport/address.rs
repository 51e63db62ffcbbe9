//! Addresses of endpoints.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use thiserror::Error;

/// An address of an endpoint: a transport, and a place that it knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `udp://HOST:PORT`: a UDP socket.
    Udp(SocketAddr),
    /// `shm://NAME`: shared memory of one user on one machine.
    Shm(ShmName),
    /// `verbs://HOST:PORT`: a TCP port where a reliable connection of an RDMA device is agreed upon.
    Verbs(SocketAddr),
}

/// A name in shared memory: 1 to 64 letters, digits, `-`, `_` and `.`. The first is a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShmName(String);

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not an address of an endpoint: udp://HOST:PORT, shm://NAME or verbs://HOST:PORT{detail}"
)]
pub struct AddressError {
    /// The text.
    pub text: String,
    /// The fault of its place, where the transport is known.
    pub detail: &'static str,
}

const LONGEST_NAME: usize = 64;

impl ShmName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ShmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ShmName {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(is_plain)
            && text.len() <= LONGEST_NAME;
        match is_name {
            true => Ok(ShmName(text.into())),
            false => Err(AddressError {
                text: text.into(),
                detail: "; a name has 1 to 64 letters, digits, `-`, `_` and `.`, and begins with a letter or a digit",
            }),
        }
    }
}

impl Address {
    /// True if it names no host, as 0.0.0.0 does: others cannot reach it.
    pub fn is_unspecified(&self) -> bool {
        match self {
            Address::Udp(socket) | Address::Verbs(socket) => socket.ip().is_unspecified(),
            Address::Shm(_) => false,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Udp(socket) => write!(f, "udp://{socket}"),
            Address::Shm(name) => write!(f, "shm://{name}"),
            Address::Verbs(socket) => write!(f, "verbs://{socket}"),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |detail| AddressError {
            text: text.into(),
            detail,
        };
        let (transport, place) = text.split_once("://").ok_or_else(|| wrong(""))?;
        let socket = || {
            let detail = "; HOST is an IP address (IPv6 in brackets)";
            place.parse().map_err(|_| wrong(detail))
        };
        match transport {
            "udp" => Ok(Address::Udp(socket()?)),
            "shm" => match place.parse() {
                Ok(name) => Ok(Address::Shm(name)),
                Err(AddressError { detail, .. }) => Err(wrong(detail)),
            },
            "verbs" => Ok(Address::Verbs(socket()?)),
            _ => Err(wrong("")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addresses() -> impl Strategy<Value = Address> {
        prop_oneof![
            any::<SocketAddr>().prop_map(Address::Udp),
            any::<SocketAddr>().prop_map(Address::Verbs),
            "[A-Za-z0-9][A-Za-z0-9._-]{0,63}".prop_map(|name| Address::Shm(name.parse().unwrap())),
        ]
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(address in addresses()) {
            // A flow label is no part of an address.
            let plain = match address {
                Address::Udp(SocketAddr::V6(ip)) => Address::Udp((*ip.ip(), ip.port()).into()),
                Address::Verbs(SocketAddr::V6(ip)) => Address::Verbs((*ip.ip(), ip.port()).into()),
                other => other,
            };
            prop_assert_eq!(plain.to_string().parse(), Ok(plain));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "127.0.0.1:7000",
            "tcp://127.0.0.1:7000",
            "udp://127.0.0.1",
            "udp://node2:7000",
            "shm://",
            "shm://../etc",
            "shm://a/b",
            "shm://.hidden",
            "shm://a:b",
            "verbs://rxe0",
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(
                error.to_string().contains("is not an address"),
                "{text}: {error}"
            );
        }
        let long = format!("shm://{}", "x".repeat(LONGEST_NAME + 1));
        assert!(long.parse::<Address>().is_err());
    }
}

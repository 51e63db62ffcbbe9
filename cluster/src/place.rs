//! The place of a host.

use std::fmt;
use std::str::FromStr;

use jitterlab_base::units::UnitError;
use jitterlab_base::yaml::of_text;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// The place of a host, as the worker there is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// This machine: `local`.
    Local,
    /// A network namespace of this machine: `netns NAME`.
    Netns(String),
    /// The end of an ssh command: `ssh HOST`, `ssh USER@HOST`, or with a port `ssh ssh://USER@HOST:PORT`.
    Ssh(String),
}

impl Place {
    /// True if it is on this machine.
    pub fn is_here(&self) -> bool {
        !matches!(self, Place::Ssh(_))
    }
}

const EXPECTED: &str = "a place: `local`, `netns NAME` or `ssh USER@HOST`";

/// Names become arguments of `ip netns exec` and `ssh`: no option, no path, nothing that a shell
/// would read more into.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-@:".contains(c))
}

/// True if it is the number of a port, in digits alone: Rust's numbers may have a sign.
pub fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The destination that ssh takes. An IPv6 address with a port stands in brackets.
fn is_destination(text: &str) -> bool {
    let Some((host, port)) = text
        .strip_prefix("ssh://")
        .and_then(|address| address.rsplit_once(':'))
    else {
        return is_name(text);
    };
    let bare = host.replacen('[', "", 1).replacen(']', "", 1);
    let is_bare = bare == host || (host.ends_with(']') && bare.contains(':'));
    is_bare && is_name(&bare) && is_port(port)
}

impl Place {
    /// The name or address that ssh reaches it by, without user and port; nothing of a place on this machine.
    pub fn target(&self) -> Option<&str> {
        let Place::Ssh(destination) = self else {
            return None;
        };
        let host = match destination.strip_prefix("ssh://") {
            Some(address) => address.rsplit_once(':')?.0,
            None => destination,
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        Some(host.trim_start_matches('[').trim_end_matches(']'))
    }
}

impl FromStr for Place {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["local"] => Ok(Place::Local),
            ["netns", name] if is_name(name) => Ok(Place::Netns(name.into())),
            ["ssh", host] if is_destination(host) => Ok(Place::Ssh(host.into())),
            _ => Err(UnitError {
                text: text.into(),
                expected: EXPECTED,
            }),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Local => f.write_str("local"),
            Place::Netns(name) => write!(f, "netns {name}"),
            Place::Ssh(host) => write!(f, "ssh {host}"),
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_text(deserializer, EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_an_option_or_a_shell_command_is_no_place() {
        for text in [
            "",
            "here",
            "netns",
            "netns -x",
            "netns ../a",
            "ssh -oProxyCommand=x",
            "ssh a;b",
            "ssh a b",
            "ssh $(x)",
            "ssh ssh://a",
            "ssh ssh://a:0",
            "ssh ssh://a:x",
            "ssh ssh://a:+22",
            "ssh ssh://-a:22",
            "ssh ssh://[a]:22",
            "ssh ssh://a;b:22",
            "ssh [::1]",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        for text in [
            "local",
            "netns a-1",
            "ssh me@host.example",
            "ssh 10.0.0.1",
            "ssh ssh://me@host:2222",
            "ssh ssh://[fd00::1]:22",
            "ssh ssh://me@[fd00::1]:22",
        ] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_target_of_ssh_has_no_user_and_no_port() {
        for (text, target) in [
            ("local", None),
            ("netns a", None),
            ("ssh a", Some("a")),
            ("ssh me@a.b", Some("a.b")),
            ("ssh ssh://me@a.b:22", Some("a.b")),
            ("ssh ssh://me@[fd00::1]:22", Some("fd00::1")),
        ] {
            assert_eq!(text.parse::<Place>().unwrap().target(), target, "{text}");
        }
    }
}

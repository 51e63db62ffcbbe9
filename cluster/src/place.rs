//! Where a host is.

use std::fmt;
use std::str::FromStr;

use jitterlab_base::units::UnitError;
use jitterlab_base::yaml::of_text;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// Where a host is, as the worker there is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// This machine: `local`.
    Local,
    /// A network namespace of this machine: `netns NAME`.
    Netns(String),
    /// The end of an ssh command: `ssh HOST` or `ssh USER@HOST`.
    Ssh(String),
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

impl FromStr for Place {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["local"] => Ok(Place::Local),
            ["netns", name] if is_name(name) => Ok(Place::Netns(name.into())),
            ["ssh", host] if is_name(host) => Ok(Place::Ssh(host.into())),
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
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        for text in ["local", "netns a-1", "ssh me@host.example", "ssh 10.0.0.1"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
    }
}

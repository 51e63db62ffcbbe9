//! A host as files describe it.

use std::net::{IpAddr, ToSocketAddrs};

use jitterlab_base::input::shortened;
use jitterlab_base::yaml::Step::Key;
use jitterlab_base::yaml::{Checked, wrong};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::trust::HostKey;

/// Said of a host that others have to reach and that says no address.
pub const NO_ADDRESS: &str =
    "needs an `address` (of an inventory: `jitterlab_address`, unless its name leads to one)";

/// A machine, or a network namespace of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its place.
    pub at: Place,
    /// The address that the others reach it by [default: 127.0.0.1 where `at` is local].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The CPU that whatever is measured there stays on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
    /// Its RDMA device, for what goes over verbs [default: the one that has the address].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The program there, at the end of ssh [default: `jitterlab`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitterlab: Option<String>,
    /// The private key that ssh logs in with [default: as ssh is configured].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The keys that it is known by, at the end of ssh [default: those that ssh knows of it].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_keys: Vec<HostKey>,
    /// Ranks that it takes, where nothing else says how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
}

impl Host {
    /// A host that nothing else is said of.
    pub fn at(at: Place) -> Self {
        Host {
            at,
            address: None,
            cpu: None,
            device: None,
            jitterlab: None,
            key_file: None,
            host_keys: Vec::new(),
            slots: None,
        }
    }

    /// Finds its address by the name that ssh reaches it by, if none is said. A loopback address is none to others.
    pub fn find_address(&mut self) {
        let Some(target) = self.at.target().filter(|_| self.address.is_none()) else {
            return;
        };
        let found = (target, 0).to_socket_addrs().into_iter().flatten();
        let mut found = found.map(|found| found.ip());
        self.address = found.find(|address| !address.is_loopback());
    }

    /// The address that the others reach it by.
    pub fn address(&self) -> Option<IpAddr> {
        let local = matches!(self.at, Place::Local).then(|| IpAddr::from([127, 0, 0, 1]));
        self.address.or(local)
    }

    /// Checks it, as `name` of a section of a file.
    ///
    /// # Errors
    /// Something is wrong with it, or with its name.
    pub fn check<'a>(&self, section: &'a str, name: &'a str) -> Checked<'a> {
        match self.problem(name) {
            None => Ok(()),
            Some((None, problem)) => wrong(&[Key(section), Key(name)], problem),
            Some((Some(key), problem)) => wrong(&[Key(section), Key(name), Key(key)], problem),
        }
    }

    /// Something that is wrong with it, and the key that says so; without a key it is its name.
    pub(crate) fn problem(&self, name: &str) -> Option<(Option<&'static str>, String)> {
        let of = |key, problem: &str| Some((Some(key), problem.to_string()));
        if !is_host_name(name) {
            let problem = format!(
                "`{}` is no name of a host: use letters, digits, `.` and `-`, and begin with a letter or digit",
                shortened(name)
            );
            return Some((None, problem));
        }
        if let Some(address) = self.address
            && (address.is_unspecified() || address.is_multicast())
        {
            let problem = format!("{address} is no address that a host is reached by");
            return of("address", &problem);
        }
        if self.slots == Some(0) {
            return of("slots", "a host takes at least one rank");
        }
        if let Place::Ssh(_) = self.at {
            let is_wrong = |path: &str| !is_path(path);
            let key_file = self.key_file.as_deref();
            let key_file = key_file.map(|path| path.strip_prefix('~').unwrap_or(path));
            return match (
                self.jitterlab.as_deref().is_some_and(is_wrong),
                key_file.is_some_and(is_wrong),
            ) {
                (true, _) => of(
                    "jitterlab",
                    "the path of a program has letters, digits and any of `/._-` only",
                ),
                (_, true) => of(
                    "key_file",
                    "the path of a key has letters, digits and any of `/._-` only, or begins with `~/`",
                ),
                _ => None,
            };
        }
        if !self.host_keys.is_empty() {
            return of(
                "host_keys",
                "`host_keys` say which host ssh may lead to; this one is on this machine",
            );
        }
        if self.key_file.is_some() {
            return of(
                "key_file",
                "`key_file` says by which key ssh logs in; this host is on this machine",
            );
        }
        self.jitterlab.as_ref().and_then(|_| {
            of(
                "jitterlab",
                "`jitterlab` says which program ssh starts; hosts on this machine use this one",
            )
        })
    }
}

fn is_host_name(text: &str) -> bool {
    text.len() <= 253
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
}

/// The end of an ssh command is read by a shell.
pub(crate) fn is_path(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

//! A host as files describe it.

use std::net::IpAddr;

use jitterlab_base::input::shortened;
use jitterlab_base::yaml::Step::Key;
use jitterlab_base::yaml::{Checked, wrong};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::trust::HostKey;

/// A machine, or a network namespace of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Where it is.
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
            host_keys: Vec::new(),
            slots: None,
        }
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
        let at = [Key(section), Key(name)];
        if !is_host_name(name) {
            return wrong(
                &at,
                format!(
                    "`{}` is no name of a host: use letters, digits, `.` and `-`, and begin with a letter or digit",
                    shortened(name)
                ),
            );
        }
        if let Some(address) = self.address
            && (address.is_unspecified() || address.is_multicast())
        {
            return wrong(
                &[at[0], at[1], Key("address")],
                format!("{address} is no address that a host is reached by"),
            );
        }
        if self.slots == Some(0) {
            return wrong(
                &[at[0], at[1], Key("slots")],
                "a host takes at least one rank",
            );
        }
        if !self.host_keys.is_empty() && !matches!(self.at, Place::Ssh(_)) {
            return wrong(
                &[at[0], at[1], Key("host_keys")],
                "`host_keys` say which host ssh may lead to; this one is on this machine",
            );
        }
        match (&self.at, &self.jitterlab) {
            (Place::Ssh(_), Some(path)) if is_path(path) => Ok(()),
            (_, None) => Ok(()),
            (Place::Ssh(_), _) => wrong(
                &[at[0], at[1], Key("jitterlab")],
                "the path of a program has letters, digits and any of `/._-` only",
            ),
            _ => wrong(
                &[at[0], at[1], Key("jitterlab")],
                "`jitterlab` says which program ssh starts; hosts on this machine use this one",
            ),
        }
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

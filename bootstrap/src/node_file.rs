//! `node.yaml`: what a node is to be.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jitterlab_base::input::shortened;
use jitterlab_base::named;
use jitterlab_base::yaml::{Checked, FileError, Step, of_text, parse, text_in, text_of, wrong};
use jitterlab_cluster::KnownHost;
use serde::{Deserialize, Deserializer};

/// A node, as its file describes it. What the file does not say is as [`NodeFile::default`] has it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeFile {
    /// Its name [jitterlab, and the end of the first interface's hardware address].
    pub hostname: Option<String>,
    /// Addresses by interface [every Ethernet interface asks for one by DHCP].
    pub addresses: BTreeMap<String, Address>,
    /// The keys of those who may log in as root over SSH: lines of `authorized_keys`. Without any, nobody may, and there is no SSH server.
    pub ssh_keys: Vec<String>,
    /// The host keys that ssh on the node knows: lines of `known_hosts`.
    pub known_hosts: Vec<KnownHost>,
    /// The network interface or RDMA device that is measured with [the likeliest].
    pub device: Option<String>,
    /// Programs (MPI ranks) that measure at once [as many as there are cores for].
    pub ranks: Option<usize>,
    /// The tuning of the node.
    pub tuning: Tuning,
    /// The experiment that is run when the node is ready, without anybody there [nothing: it waits for somebody].
    pub experiment: Option<Headless>,
}

/// The way that an interface gets its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// The address that the network gives.
    Dhcp,
    /// This one, with the length of the network's prefix.
    Static(IpAddr, u8),
}

const EXPECTED: &str = "dhcp, or one with its prefix like 10.0.0.1/24";

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{} is no address: expected {EXPECTED}", shortened(text));
        if text == "dhcp" {
            return Ok(Address::Dhcp);
        }
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        match prefix.parse() {
            Ok(prefix) if (1..=most).contains(&prefix) => Ok(Address::Static(address, prefix)),
            _ => Err(wrong()),
        }
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_text(deserializer, EXPECTED)
    }
}

/// The tuning of the node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tuning {
    /// Nothing is tuned.
    None,
    /// Everything that disturbs measurements of microseconds.
    #[default]
    Measure,
    /// The settings among them that need no kernel parameters.
    Reversible,
    /// The settings of the paper on latency variation.
    Paper,
}

named!(
    Tuning, serde,
    None => "none", Measure => "measure", Reversible => "reversible", Paper => "paper",
);

impl Tuning {
    /// The profile's name for `jitterlab tune`; none where nothing is to be tuned.
    pub fn profile(self) -> Option<&'static str> {
        (self != Tuning::None).then(|| self.name())
    }

    /// True if some of its settings are kernel parameters.
    pub fn takes_parameters(self) -> bool {
        matches!(self, Tuning::Measure | Tuning::Paper)
    }
}

/// An experiment without anybody there.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headless {
    /// The experiment file: on the volume, with `/` before it anywhere, or an http(s) address.
    pub file: PathBuf,
    /// The target that the result folder is sent to at the end, besides being kept on the volume:
    /// `user@host:folder`, over ssh with the key that the volume holds as `ssh_key`.
    pub push: Option<String>,
    /// True if the node is switched off at the end.
    #[serde(default = "yes")]
    pub power_off: bool,
}

fn yes() -> bool {
    true
}

/// The name of the file where it cannot be read.
const KIND: &str = "node.yaml";

impl NodeFile {
    /// The text of a node file.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub fn text(path: &Path) -> Result<String, FileError> {
        text_of(KIND, path)
    }

    /// The text in what came for an address; `path` is for messages.
    ///
    /// # Errors
    /// It is no text.
    pub fn text_in(bytes: Vec<u8>, path: &Path) -> Result<String, FileError> {
        text_in(bytes, KIND, path)
    }

    /// Reads the text of a node file; `path` is for messages.
    ///
    /// # Errors
    /// Something in it is wrong: with its place.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        // A file of comments is one that says nothing.
        if text
            .lines()
            .all(|line| matches!(line.trim_start().chars().next(), None | Some('#')))
        {
            return Ok(NodeFile::default());
        }
        parse(text, path, check)
    }
}

fn check(node: &NodeFile) -> Checked<'_> {
    if node
        .hostname
        .as_deref()
        .is_some_and(|name| !is_hostname(name))
    {
        return wrong(
            &[Step::Key("hostname")],
            "a host name has letters, digits and -, at most 63",
        );
    }
    if let Some(name) = node.addresses.keys().find(|name| !is_interface(name)) {
        let at = [Step::Key("addresses"), Step::Key(name)];
        return wrong(
            &at,
            "an interface's name has at most 15 characters, no / and no space",
        );
    }
    for (i, key) in node.ssh_keys.iter().enumerate() {
        if !is_public_key(key) {
            let at = [Step::Key("ssh_keys"), Step::Index(i)];
            return wrong(
                &at,
                "this is no public key: expected a line like `ssh-ed25519 AAAA… name`",
            );
        }
    }
    if node.ranks == Some(0) {
        return wrong(&[Step::Key("ranks")], "at least 1 program measures");
    }
    if let Some(headless) = &node.experiment {
        let at = |key| [Step::Key("experiment"), Step::Key(key)];
        if headless.file.as_os_str().is_empty() {
            return wrong(&at("file"), "expected the path of an experiment file");
        }
        if headless
            .push
            .as_deref()
            .is_some_and(|target| !is_ssh_target(target))
        {
            return wrong(&at("push"), "expected user@host:folder");
        }
    }
    Ok(())
}

fn is_hostname(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=63).contains(&name.len())
        && name.chars().all(inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn is_interface(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_graphic() && c != '/' && c != ':';
    (1..=15).contains(&name.len()) && name.chars().all(inside) && name != "." && name != ".."
}

/// One line, of a type, a blob and a name: nothing that gives it options of its own.
fn is_public_key(line: &str) -> bool {
    let mut words = line.split(' ');
    let (kind, blob) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let known = ["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"]
        .iter()
        .any(|kinds| kind.starts_with(kinds));
    let is_blob = blob.len() >= 40
        && blob
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c));
    known && is_blob && !line.chars().any(char::is_control)
}

/// True if ssh cannot take it for an option, nor a shell for a command, nor scp for a file of this node.
fn is_ssh_target(target: &str) -> bool {
    let plain = |text: &str, more: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c) || more.contains(c);
        !text.is_empty() && !text.starts_with('-') && text.chars().all(inside)
    };
    target
        .split_once('@')
        .and_then(|(user, rest)| Some((user, rest.split_once(':')?)))
        .is_some_and(|(user, (host, folder))| {
            plain(user, "") && plain(host, "") && plain(folder, "/~")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<NodeFile, String> {
        NodeFile::parse(text, Path::new("node.yaml")).map_err(|error| error.to_string())
    }

    #[test]
    fn all_of_it_is_read() {
        let node = read(
            "hostname: node-1\n\
             addresses: { eth0: 10.0.0.1/24, eth1: dhcp, eth2: fd00::1/64 }\n\
             ssh_keys: [ ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0000000000000000000000000000000000000000 me ]\n\
             known_hosts: [ \"node-2,10.0.0.2 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti x\" ]\n\
             device: eth1\nranks: 4\ntuning: reversible\n\
             experiment: { file: quick.yaml, push: lab@store:jitter, power_off: false }\n",
        )
        .unwrap();
        assert_eq!(
            node.addresses["eth0"],
            Address::Static([10, 0, 0, 1].into(), 24)
        );
        assert_eq!(node.addresses["eth1"], Address::Dhcp);
        assert_eq!(
            node.known_hosts[0].to_string(),
            "node-2,10.0.0.2 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti"
        );
        assert_eq!(node.tuning.profile(), Some("reversible"));
        assert_eq!(
            node.experiment,
            Some(Headless {
                file: "quick.yaml".into(),
                push: Some("lab@store:jitter".into()),
                power_off: false,
            })
        );
    }

    #[test]
    fn a_file_that_says_nothing_leaves_everything_as_it_is_by_default() {
        assert_eq!(read(""), Ok(NodeFile::default()));
        assert_eq!(read("# later\n\n"), Ok(NodeFile::default()));
        assert_eq!(NodeFile::default().tuning, Tuning::Measure);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, said) in [
            ("hostnam: a\n", "node.yaml:1:1: unknown key `hostnam`"),
            (
                "ranks: 2\nranks: 3\n",
                "node.yaml:2:1: `ranks` is given twice",
            ),
            ("ranks: 0\n", "node.yaml:1:8: at least 1 program measures"),
            ("hostname: a b\n", "node.yaml:1:11: a host name has"),
            (
                "addresses: { eth0: 10.0.0.1 }\n",
                "node.yaml:1:20: addresses.eth0: 10.0.0.1 is no address: expected dhcp",
            ),
            (
                "addresses: { eth0: [dhcp] }\n",
                "node.yaml:1:20: addresses.eth0: found a list, expected dhcp, or one",
            ),
            (
                "5\n",
                "node.yaml:1:1: found the number 5, expected keys with values",
            ),
            ("- a\n", "found a list, expected keys with values"),
            (
                "ranks: two\n",
                "1:8: ranks: found the text \"two\", expected a whole number from 0",
            ),
            (
                "ranks: 2\n---\nranks: 3\n",
                "node.yaml:3:1: a second document begins before this",
            ),
            ("addresses: { eth0: 10.0.0.1/33 }\n", "is no address"),
            ("addresses: { eth0/1: dhcp }\n", "an interface's name has"),
            (
                "ssh_keys:\n- secret\n",
                "node.yaml:2:3: this is no public key",
            ),
            (
                "ssh_keys: ['command=\"x\" ssh-ed25519 AAAA']\n",
                "this is no public key",
            ),
            (
                "known_hosts:\n- node2 secret\n",
                "node.yaml:2:3: known_hosts[0]: expected the public key of a host",
            ),
            (
                "known_hosts: ['* ssh-ed25519 AAAA']\n",
                "expected a line of known_hosts",
            ),
            ("tuning: measur\n", "did you mean `measure`?"),
            (
                "experiment: { file: '' }\n",
                "expected the path of an experiment file",
            ),
            (
                "experiment: { file: a, push: '-oProxy=x@h:f' }\n",
                "expected user@host:folder",
            ),
            (
                "experiment: { file: a, push: 'mnt/u@h:f' }\n",
                "expected user@host:folder",
            ),
            (
                "experiment: { file: a, push: 'u@~h:f' }\n",
                "expected user@host:folder",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn whatever_the_kind_of_a_value_what_is_said_of_it_is_in_plain_words() {
        let keys = [
            "{}",
            "hostname: {}",
            "addresses: {}",
            "addresses: { eth0: {} }",
            "ssh_keys: {}",
            "ssh_keys: [ {} ]",
            "device: {}",
            "ranks: {}",
            "tuning: {}",
            "experiment: {}",
            "experiment: { file: {} }",
            "experiment: { file: a, push: {} }",
            "experiment: { file: a, power_off: {} }",
        ];
        let kinds = [
            "~",
            "true",
            "5",
            "-5",
            "1.5",
            "99999999999999999999",
            "text",
            "''",
            "[]",
            "[ a ]",
            "{ a: 1 }",
            "{ [ a ]: 1 }",
            "!tag a",
            "!tag { a: 1 }",
            "{ <<: { a: 1 } }",
        ];
        let foreign = [
            "struct",
            "NodeFile",
            "Headless",
            "usize",
            "u64",
            "u128",
            "enum",
            "variant",
            "boolean",
            "sequence",
            "invalid",
            "field",
            "unit value",
            "::",
        ];
        for (key, kind) in keys.iter().flat_map(|key| kinds.map(|kind| (key, kind))) {
            let text = key.replacen("{}", kind, 1);
            let said = read(&text).err().unwrap_or_default();
            for word in foreign {
                assert!(!said.contains(word), "{text}: {said}");
            }
        }
    }

    #[test]
    fn what_would_take_long_is_refused() {
        for text in [
            "[".repeat(100_000),
            "{ a: ".repeat(100_000),
            "- ".repeat(100_000),
        ] {
            let said = read(&text).unwrap_err();
            assert!(
                said.contains("more than 64 lists and maps stand in one another here"),
                "{said}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text: String) {
            let _ = read(&text);
        }

        #[test]
        fn an_address_is_read_as_it_is_written(octets: [u8; 4], prefix in 1u8..33) {
            let address = IpAddr::from(octets);
            prop_assert_eq!(format!("{address}/{prefix}").parse(), Ok(Address::Static(address, prefix)));
        }
    }
}

//! The ways that a host at the end of ssh is known to be itself.

use std::fmt;
use std::str::FromStr;

use jitterlab_base::named;
use jitterlab_base::yaml::of_text;
use openssh_keys::PublicKey;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The trust in hosts whose key nobody has named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trust {
    /// ssh has to know them, as it is configured.
    #[default]
    Known,
    /// The key that a host shows first is taken for its own and kept; another one is refused from then on.
    FirstUse,
}

named!(Trust, serde, Known => "known", FirstUse => "first-use");

/// The public key that a host proves itself by, without a comment: `ssh-ed25519 AAAA…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostKey(String);

const EXPECTED: &str = "the public key of a host, like `ssh-ed25519 AAAA…`: what its /etc/ssh/ssh_host_ed25519_key.pub holds";

/// The text is in no message: it may be a private key.
impl FromStr for HostKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut key = PublicKey::parse(text).map_err(|_| format!("expected {EXPECTED}"))?;
        // An option before a key gives it another meaning; a second line is another key.
        if key.options.is_some() || text.trim().contains('\n') {
            return Err(format!("expected {EXPECTED}, and nothing else"));
        }
        key.comment = None;
        Ok(HostKey(key.to_key_format().trim_end().into()))
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for HostKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_text(deserializer, EXPECTED)
    }
}

/// A host as a line of known_hosts tells of it: names and addresses, with commas between them, and a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHost {
    names: String,
    key: HostKey,
}

const EXPECTED_HOST: &str =
    "a line of known_hosts, like `node2,10.0.0.2 ssh-ed25519 AAAA…`: names, and a public key";

impl FromStr for KnownHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected {EXPECTED_HOST}");
        let (names, key) = text.trim().split_once(' ').ok_or_else(wrong)?;
        // A name is neither a pattern nor a mark: each is a host. A host with a port is in brackets.
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == ':' || c == '[')
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-:[]".contains(c))
        };
        if !names.split(',').all(is_name) {
            return Err(wrong());
        }
        Ok(KnownHost {
            names: names.into(),
            key: key.parse()?,
        })
    }
}

impl fmt::Display for KnownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.names, self.key)
    }
}

impl<'de> Deserialize<'de> for KnownHost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_text(deserializer, EXPECTED_HOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    #[test]
    fn a_key_is_a_type_and_its_bytes() {
        for text in [
            KEY.to_string(),
            format!("{KEY} root@node1"),
            format!("\n{KEY}\n"),
        ] {
            assert_eq!(text.parse::<HostKey>().unwrap().to_string(), KEY, "{text}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_repeated() {
        let cut = &KEY[..KEY.len() - 8];
        let other = KEY.replacen("ssh-ed25519", "ssh-rsa", 1);
        for text in [
            "",
            "secret",
            "ssh-ed25519",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n",
            &format!("node1 {KEY}"),
            &format!("* {KEY}"),
            &format!("{KEY} two\nnode2 {KEY}"),
            &format!("@cert-authority * {KEY}"),
            &format!("command=\"secret\" {KEY}"),
            cut,
            &other,
        ] {
            let error = text.parse::<HostKey>().expect_err(text);
            assert!(error.starts_with("expected the public key"), "{text}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_host_is_known_by_names_and_a_key() {
        for names in ["node2", "node2,10.0.0.2", "fd00::2", "::1", "[node2]:2222"] {
            let host: KnownHost = format!("{names} {KEY} root@node2").parse().unwrap();
            assert_eq!(host.to_string(), format!("{names} {KEY}"));
        }
        for text in [
            KEY,
            "node2",
            "node2 secret",
            &format!("* {KEY}"),
            &format!("node? {KEY}"),
            &format!("!node2 {KEY}"),
            &format!("node2,, {KEY}"),
            &format!("-oProxyCommand=x {KEY}"),
            &format!("@cert-authority node2 {KEY}"),
            &format!("# {KEY}"),
            &format!("node2\n* {KEY}"),
            &format!("node2 {KEY}\n* {KEY}"),
        ] {
            let error = text.parse::<KnownHost>().expect_err(text);
            assert!(
                error.starts_with("expected ") && !error.contains("secret"),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_key_has_a_second_line_or_word(text in "(ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI)?[ -~\n]{0,80}") {
            if let Ok(key) = text.parse::<HostKey>() {
                prop_assert_eq!(key.to_string().split_whitespace().count(), 2);
                prop_assert!(!key.to_string().contains('\n'));
            }
        }
    }
}

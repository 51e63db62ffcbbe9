//! Names of endpoints.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The name of an endpoint: 1 to 63 of the characters `a` to `z`, `0` to `9`, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// A text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not the name of an endpoint: a name has 1 to 63 characters of a-z, 0-9, `.`, `_` and `-`"
)]
pub struct NameError {
    /// The text.
    pub text: String,
}

impl Name {
    /// Bytes of the longest name.
    pub const MOST: usize = 63;

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
        match (1..=Self::MOST).contains(&text.len()) && text.bytes().all(is_plain) {
            true => Ok(Name(text.into())),
            false => Err(NameError { text: text.into() }),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

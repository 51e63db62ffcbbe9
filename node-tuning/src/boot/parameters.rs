//! A kernel command line.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A parameter: `nosmt`, `isolcpus=1-3`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// What stands before the first equals sign.
    pub key: String,
    /// What stands behind it.
    pub value: Option<String>,
}

/// Parameters in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters(Vec<Parameter>);

impl Parameter {
    /// A parameter without a value.
    pub fn flag(key: &str) -> Self {
        Parameter {
            key: key.into(),
            value: None,
        }
    }

    /// A parameter with a value.
    pub fn new(key: &str, value: impl Into<String>) -> Self {
        Parameter {
            key: key.into(),
            value: Some(value.into()),
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.key),
            None => f.write_str(&self.key),
        }
    }
}

impl Parameters {
    /// Splits a command line as the kernel does: at white space that is not between double quotes.
    pub fn parse(line: &str) -> Self {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            quoted ^= c == '"';
            match words.last_mut() {
                Some(word) if quoted || !c.is_whitespace() => word.push(c),
                _ => words.push(String::new()),
            }
        }
        let words = words.iter().filter(|word| !word.is_empty());
        Parameters(
            words
                .map(|word| match word.split_once('=') {
                    Some((key, value)) => Parameter::new(key, value),
                    None => Parameter::flag(word),
                })
                .collect(),
        )
    }

    /// The parameters before what is init's (`--`), in order.
    pub fn of_kernel(&self) -> impl Iterator<Item = &Parameter> {
        self.0.iter().take_while(|parameter| parameter.key != "--")
    }

    /// The parameter with this name that counts: the kernel's last one.
    pub fn last(&self, key: &str) -> Option<&Parameter> {
        // The kernel takes a dash for an underscore.
        let plain = |name: &str| name.replace('-', "_");
        self.of_kernel()
            .filter(|parameter| plain(&parameter.key) == plain(key))
            .last()
    }

    /// Puts a parameter in the place of the others with its name.
    pub fn set(&mut self, parameter: Parameter) {
        self.remove(&parameter.key);
        let end = self
            .0
            .iter()
            .position(|other| other.key == "--")
            .unwrap_or(self.0.len());
        self.0.insert(end, parameter);
    }

    /// Takes all parameters of this name away.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|parameter| parameter.key != key);
    }

    /// The parameters, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.0.iter()
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, parameter) in self.0.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            write!(f, "{space}{parameter}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_one_counts() {
        let line = Parameters::parse(
            "quiet isolcpus=1 dyndbg=\"file a.c +p\" isolcpus=2-3 -- isolcpus=4\n",
        );
        assert_eq!(
            line.last("isolcpus"),
            Some(&Parameter::new("isolcpus", "2-3"))
        );
        assert_eq!(
            line.last("dyndbg").unwrap().value.as_deref(),
            Some("\"file a.c +p\"")
        );
        assert_eq!(line.last("quiet"), Some(&Parameter::flag("quiet")));
        assert_eq!(line.last("nosmt"), None);
    }

    #[test]
    fn what_is_set_stands_once_and_before_what_is_inits() {
        let mut line = Parameters::parse("a=1 b a=2 -- c");
        line.set(Parameter::new("a", "3"));
        assert_eq!(line.to_string(), "b a=3 -- c");
    }

    proptest! {
        #[test]
        fn lines_are_read_back(words in proptest::collection::vec("[a-z_.]{1,8}(=[a-z0-9,\\-]{0,8})?", 0..12)) {
            let line = words.join(" ");
            prop_assert_eq!(Parameters::parse(&line).to_string(), line);
        }
    }
}

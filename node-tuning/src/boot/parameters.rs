//! A kernel command line.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A parameter: `nosmt`, `isolcpus=1-3`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// The text before the first equals sign.
    pub key: String,
    /// The text behind it.
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

    /// Its name as the kernel compares it, which takes a dash for an underscore (`parameq`), without a quote before it.
    pub fn name(&self) -> String {
        self.key.trim_start_matches('"').replace('-', "_")
    }

    /// Its value as the kernel hands it on: without quotes around it, or around the whole parameter (`next_arg`).
    pub fn plain(&self) -> Option<&str> {
        let value = self.value.as_deref()?;
        let (rest, mut quoted) = match value.strip_prefix('"') {
            Some(rest) => (rest, true),
            None => (value, false),
        };
        quoted |= self.key.starts_with('"');
        Some(rest.strip_suffix('"').filter(|_| quoted).unwrap_or(rest))
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
        let words = words(line).into_iter();
        Parameters(words.map(|(_, word)| parameter(&word)).collect())
    }

    /// The parameters before what is init's (`--`), in order.
    pub fn of_kernel(&self) -> impl Iterator<Item = &Parameter> {
        self.0.iter().take_while(|parameter| parameter.key != "--")
    }

    /// The last parameter with this name, which counts where the kernel does not heed the first.
    pub fn last(&self, key: &str) -> Option<&Parameter> {
        let name = Parameter::flag(key).name();
        self.of_kernel()
            .filter(|parameter| parameter.name() == name)
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
        let name = Parameter::flag(key).name();
        self.0.retain(|parameter| parameter.name() != name);
    }

    /// The parameters, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.0.iter()
    }
}

/// The words of a command line, each with the number of its first character.
pub(super) fn words(line: &str) -> Vec<(usize, String)> {
    let mut words = vec![(0, String::new())];
    let mut quoted = false;
    for (index, c) in line.chars().enumerate() {
        quoted ^= c == '"';
        match words.last_mut() {
            Some((_, word)) if quoted || !c.is_whitespace() => word.push(c),
            _ => words.push((index + 1, String::new())),
        }
    }
    words.retain(|(_, word)| !word.is_empty());
    words
}

fn parameter(word: &str) -> Parameter {
    match word.split_once('=') {
        Some((key, value)) => Parameter::new(key, value),
        None => Parameter::flag(word),
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

//! A first look at a YAML text, before any of it is taken for a value: that its reading comes to an end soon, and that
//! no key stands in its map twice.
//!
//! The parser reads a text as a whole, in a time that grows with its length times the depth of its brackets, and what
//! an alias stands for is read as often as it is named. So there are limits, far above what a file of ours needs.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::words::{self, At};
use crate::input::shortened;

/// The bytes of a file: 10,000 hosts have less.
pub const MOST_BYTES: u64 = 512 << 10;
/// Lists and maps in one another.
const DEEPEST: usize = 64;
/// Scalars, lists and maps, each as often as aliases repeat it.
const MOST_VALUES: usize = 200_000;
/// The parser is shown this many more brackets at a time, so that no more of them can be open than the deepest and these.
const BRACKETS: usize = 1024;
const MOST_BRACKETS: usize = 16 * BRACKETS;
/// The most directives: the parser looks at all for each of them.
const MOST_DIRECTIVES: usize = 64;

/// The fault of a text whatever it is to say, and its place.
///
/// Nothing where it is not YAML: what is to be said of that, the parser says when it is asked for values.
pub fn survey(text: &str) -> Option<(String, At)> {
    if text.matches("%TAG").count() > MOST_DIRECTIVES {
        return Some((
            format!("more than {MOST_DIRECTIVES} times %TAG, which no file needs"),
            (1, 1),
        ));
    }
    let brackets = text.match_indices(['[', '{']).map(|(at, _)| at);
    for (i, at) in brackets.enumerate().skip(BRACKETS).step_by(BRACKETS) {
        if i >= MOST_BRACKETS {
            let lines = text[..at].split('\n');
            let problem = format!("more than {MOST_BRACKETS} lists and maps in brackets");
            return Some((problem, (lines.count(), 1)));
        }
        let part = &text[..at];
        let (objection, error) = walk(part);
        if objection.is_some() {
            return objection;
        }
        // A value that cannot be looked at hides what comes after it. Where the text was cut, it is no YAML.
        let not_yaml = ignore(part).map(|error| error.to_string());
        if let Some(error) = error.filter(|error| Some(error.to_string()) != not_yaml) {
            return Some(words::explained(&error));
        }
    }
    match walk(text) {
        (None, Some(error)) if error.to_string().starts_with(DOCUMENTS) => second_document(text),
        (objection, _) => objection,
    }
}

/// The parser's words, without a place, for a text that is read to the end of its first document and has more.
const DOCUMENTS: &str = "deserializing from YAML containing more than one document";

/// The objection to a text; also the parser's own error, if it is that.
fn walk(text: &str) -> (Option<(String, At)>, Option<serde_yaml::Error>) {
    let mut survey = Survey::default();
    let deserializer = serde_yaml::Deserializer::from_str(text);
    let error = Value(&mut survey, 0).deserialize(deserializer).err();
    match (survey.objection, error) {
        (Some(objection), Some(error)) => (Some((objection, words::place(&error))), None),
        (_, Some(error)) if error.to_string() == REPETITION => {
            (Some((too_many(), words::place(&error))), None)
        }
        (_, error) => (None, error),
    }
}

/// The parser's words, without a place, for aliases that are very many for so short a text.
const REPETITION: &str = "repetition limit exceeded";

fn too_many() -> String {
    format!("more than {MOST_VALUES} values, or too much that aliases (`*name`) repeat")
}

fn ignore(text: &str) -> Option<serde_yaml::Error> {
    IgnoredAny::deserialize(serde_yaml::Deserializer::from_str(text)).err()
}

/// The parser tells places only where it refuses something. So it is made to refuse what the second document is.
fn second_document(text: &str) -> Option<(String, At)> {
    struct Refusal;

    impl Visitor<'_> for Refusal {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("nothing")
        }
    }

    let second = serde_yaml::Deserializer::from_str(text).nth(1)?;
    let error = second.deserialize_any(Refusal).err()?;
    let problem = "a second document begins before this, with `---` or after `...`; a file has one";
    Some((problem.into(), words::place(&error)))
}

#[derive(Default)]
struct Survey {
    values: usize,
    objection: Option<String>,
}

impl Survey {
    fn object<E: Error>(&mut self, problem: String) -> E {
        self.objection = Some(problem);
        // Whatever is said here, the parser adds the place.
        E::custom("here")
    }

    fn count<E: Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        match self.values > MOST_VALUES {
            true => Err(self.object(too_many())),
            false => Ok(()),
        }
    }
}

/// A value inside of so many lists and maps.
struct Value<'a>(&'a mut Survey, usize);

impl Value<'_> {
    fn inner(&mut self) -> Value<'_> {
        Value(self.0, self.1 + 1)
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        match self.1 >= DEEPEST {
            true => Err(self.0.object(format!(
                "more than {DEEPEST} lists and maps stand in one another here"
            ))),
            false => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.count()?;
        deserializer.deserialize_any(self)
    }
}

macro_rules! accept {
    ($($visit:ident: $type:ty),*) => {$(
        fn $visit<E>(self, _: $type) -> Result<(), E> {
            Ok(())
        }
    )*};
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }

    accept!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.enter()?;
        while list.next_element_seed(self.inner())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.enter()?;
        let mut seen = BTreeSet::new();
        while map.next_key_seed(Key(self.inner(), &mut seen))?.is_some() {
            map.next_value_seed(self.inner())?;
        }
        Ok(())
    }

    /// A value with a tag.
    fn visit_enum<A: EnumAccess<'de>>(mut self, value: A) -> Result<(), A::Error> {
        self.enter()?;
        let (IgnoredAny, value) = value.variant()?;
        value.newtype_variant_seed(self.inner())
    }
}

/// A key that is not among those of its map so far. The parser tells the place of a key that is
/// refused while it is read.
struct Key<'a>(Value<'a>, &'a mut BTreeSet<String>);

impl Key<'_> {
    fn insert<E: Error>(self, key: impl Into<String>) -> Result<(), E> {
        let key = key.into();
        let problem = format!("`{}` is given twice", shortened(&key));
        match self.1.insert(key) {
            true => Ok(()),
            false => Err(self.0.0.object(problem)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.0.count()?;
        deserializer.deserialize_any(self)
    }
}

macro_rules! name {
    ($($visit:ident: $type:ty),*) => {$(
        fn $visit<E: Error>(self, key: $type) -> Result<(), E> {
            self.insert(key.to_string())
        }
    )*};
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    name!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64, visit_str: &str);

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.insert("")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.0.visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.visit_map(map)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, key: A) -> Result<(), A::Error> {
        self.0.visit_enum(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_long_is_refused_at_its_limit() {
        let deep = "more than 64 lists and maps stand in one another";
        let many = "more than 200000 values, or too much that aliases";
        let bomb = (1..9).fold("a0: &a0 [x, x]\n".to_string(), |text, i| {
            let before = format!("*a{}", i - 1);
            text + &format!("a{i}: &a{i} [{}]\n", vec![before; 9].join(", "))
        });
        let wide = format!(
            "a: &a [{}]\nb: [{}]\n",
            "x,".repeat(1000),
            "*a,".repeat(1000)
        );
        let merge = format!("{bomb}b:\n  <<: [*a7, *a8]\n");
        let hidden = format!("a: !!int x\nb: {}", "[".repeat(100_000));
        let quoted = format!("a: |\n  '\"\nb: \"[\"\nc: {}", "[\"]\",".repeat(30_000));
        for (text, said) in [
            ("[".repeat(100_000), deep),
            ("{a: ".repeat(100_000), deep),
            (
                format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
                deep,
            ),
            ("- ".repeat(100_000), deep),
            ("? ".repeat(100_000), deep),
            ("- ? ".repeat(50_000), deep),
            ((0..700).map(|i| " ".repeat(i) + "a:\n").collect(), deep),
            (quoted, deep),
            (bomb, many),
            (wide, many),
            (merge, many),
            (
                "[],".repeat(100_000),
                "more than 16384 lists and maps in brackets",
            ),
            (
                "%TAG !a! b\n".repeat(1000) + "--- a",
                "more than 64 times %TAG",
            ),
            (hidden, "found the text \"x\""),
        ] {
            let found = survey(&text).map(|(problem, _)| problem);
            let begin = &text[..text.len().min(60)];
            assert!(
                found.as_ref().is_some_and(|found| found.contains(said)),
                "{begin}: {found:?}"
            );
        }
    }

    #[test]
    fn many_hosts_are_within_the_limits() {
        let host = |i| format!("  node{i}: {{ at: ssh node{i}, address: '10.0.0.1' }}\n");
        let text = format!("hosts:\n{}", (0..8_000).map(host).collect::<String>());
        assert!(text.len() as u64 <= MOST_BYTES);
        assert_eq!(survey(&text), None);
    }

    #[test]
    fn keys_of_any_kind_stand_there_once() {
        for (text, key, place) in [
            ("a: 1\nb: 2\na: 3\n", "a", (3, 1)),
            ("b: { a: 1, a: 2 }\n", "a", (1, 12)),
            ("5: 1\n5: 2\n", "5", (2, 1)),
            ("~: 1\n~: 2\n", "", (2, 1)),
            ("[a]: { true: 1, true: 2 }\n", "true", (1, 17)),
            ("!t a: 1\nb: !u { c: 1, c: 2 }\n", "c", (2, 15)),
        ] {
            let expected = (format!("`{key}` is given twice"), place);
            assert_eq!(survey(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_second_document_is_told_with_its_place() {
        for (text, place) in [
            ("a: 1\n---\nb: 2\n", Some((3, 1))),
            ("a: 1\n...\nb: 2\n", Some((3, 1))),
            ("---\na: 1\n...\n---\nb: 2\n", Some((5, 1))),
            ("a: 1\n...\n", None),
            ("---\na: 1\n", None),
        ] {
            assert_eq!(survey(text).map(|(_, at)| at), place, "{text}");
        }
    }
}

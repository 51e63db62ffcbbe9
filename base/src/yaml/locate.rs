//! The places of things in a YAML text.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A step from a value into one that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The value of a key.
    Key(&'a str),
    /// The element of a list, counted from 0.
    Index(usize),
}

/// Line and column, counted from 1, of the value at `path`; of the last one there is on the way to
/// it, if it is not there.
///
/// The parser tells places only where it refuses something. So it is made to refuse what stands at
/// the path.
pub fn locate(text: &str, path: &[Step]) -> Option<(usize, usize)> {
    let deserializer = serde_yaml::Deserializer::from_str(text);
    let error = Probe(path).deserialize(deserializer).err()?;
    let location = error.location()?;
    Some((location.line(), location.column()))
}

struct Probe<'a>(&'a [Step<'a>]);

impl<'de> DeserializeSeed<'de> for Probe<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Probe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("something else")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if let [Step::Key(wanted), rest @ ..] = self.0 {
            while let Some(key) = map.next_key::<String>()? {
                if key == *wanted {
                    return map.next_value_seed(Probe(rest));
                }
                map.next_value::<IgnoredAny>()?;
            }
        }
        Err(serde::de::Error::custom("here"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if let [Step::Index(wanted), rest @ ..] = self.0 {
            for _ in 0..*wanted {
                list.next_element::<IgnoredAny>()?;
            }
            list.next_element_seed(Probe(rest))?;
        }
        Err(serde::de::Error::custom("here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{Index, Key};

    #[test]
    fn values_are_found_at_any_depth() {
        let text = "a: 1\nb:\n  - c: [x, y]\n    d: {e: 2}\n  - f\n";
        for (path, place) in [
            (&[Key("a")][..], (1, 4)),
            (&[Key("b"), Index(0), Key("c"), Index(1)], (3, 12)),
            (&[Key("b"), Index(0), Key("d"), Key("e")], (4, 12)),
            (&[Key("b"), Index(1)], (5, 5)),
            (&[Key("b"), Index(0), Key("missing")], (3, 5)),
        ] {
            assert_eq!(locate(text, path), Some(place), "{path:?}");
        }
    }
}

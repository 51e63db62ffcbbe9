//! The number of times that each run is done.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of times that each run is done: the number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetitions {
    /// The number that the file says.
    Fixed(u32),
    /// The number that it takes to find what is to be resolved (`benches/experiment/src/enough.rs`).
    Auto,
}

impl Repetitions {
    /// Blocks of a pilot. From so many on, runs that are repeated until they are enough find 6.2 % of changes that are not there at a
    /// level of 5 %
    /// (`benches/experiment/tests/enough.rs`).
    pub const PILOT: u32 = 8;
    /// More than these are not done.
    pub const MOST: u32 = 10_000;

    /// Blocks that are done in any case.
    pub fn first(self) -> u32 {
        match self {
            Repetitions::Fixed(blocks) => blocks,
            Repetitions::Auto => Repetitions::PILOT,
        }
    }
}

impl Serialize for Repetitions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Repetitions::Fixed(blocks) => serializer.serialize_u32(*blocks),
            Repetitions::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for Repetitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Repetitions;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number from 1 to 10000, or `auto`")
            }

            fn visit_u64<E: Error>(self, blocks: u64) -> Result<Repetitions, E> {
                match u32::try_from(blocks) {
                    Ok(blocks @ 1..=Repetitions::MOST) => Ok(Repetitions::Fixed(blocks)),
                    _ => Err(E::custom("give 1 to 10000, or `auto`")),
                }
            }

            fn visit_i64<E: Error>(self, blocks: i64) -> Result<Repetitions, E> {
                self.visit_u64(u64::try_from(blocks).unwrap_or(0))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Repetitions, E> {
                match text {
                    "auto" => Ok(Repetitions::Auto),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

//! Choices that have a name in options, files or reports: one list gives the names, the reader and the writer.
//!
//! Every choice that a person types or reads by the name which files have is [`named!`](crate::named). serde's own derive names what has
//! fields, and choices that programs alone read, or whose text for people is another.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, VariantAccess, Visitor};

#[doc(hidden)]
pub use serde;

/// Gives a field-less enumeration its names: `ALL` in the order of the list, `name` and `Display`.
///
/// ```
/// #[derive(Clone, Copy)]
/// enum Standing { Holds, DoesNotHold }
/// jitterlab_base::named!(Standing, Holds => "holds", DoesNotHold => "does not hold");
/// assert_eq!(Standing::DoesNotHold.to_string(), "does not hold");
/// assert_eq!(Standing::ALL.len(), 2);
/// # let _ = Standing::Holds;
/// ```
///
/// A word for what it is adds `FromStr`, which refuses any other text with a [`UnitError`](crate::units::UnitError) that
/// lists the names. `serde` adds `Serialize` and `Deserialize` by the same names.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq)]
/// enum Inline { Auto, On, Off }
/// jitterlab_base::named!(Inline, serde, "a choice", Auto => "auto", On => "on", Off => "off");
/// assert_eq!("off".parse(), Ok(Inline::Off));
/// assert_eq!("no".parse::<Inline>().unwrap_err().to_string(), "`no` is not a choice; write auto, on or off");
/// assert_eq!(serde_json::to_string(&Inline::On).unwrap(), r#""on""#);
/// assert_eq!(serde_json::from_str::<Inline>(r#""auto""#).unwrap(), Inline::Auto);
/// ```
#[macro_export]
macro_rules! named {
    ($type:ident, serde, $($what:literal,)? $($variant:ident => $name:literal),+ $(,)?) => {
        $crate::named!($type, $($what,)? $($variant => $name),+);

        impl $crate::named::serde::Serialize for $type {
            fn serialize<S>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error>
            where
                S: $crate::named::serde::Serializer,
            {
                serializer.serialize_unit_variant(stringify!($type), *self as u32, self.name())
            }
        }

        impl<'de> $crate::named::serde::Deserialize<'de> for $type {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: $crate::named::serde::Deserializer<'de>,
            {
                const NAMES: &[&str] = &[$($name),+];
                let index = $crate::named::read(deserializer, stringify!($type), NAMES)?;
                Ok(Self::ALL[index])
            }
        }
    };
    ($type:ident, $what:literal, $($variant:ident => $name:literal),+ $(,)?) => {
        $crate::named!($type, $($variant => $name),+);

        impl ::std::str::FromStr for $type {
            type Err = $crate::units::UnitError;

            fn from_str(text: &str) -> ::std::result::Result<Self, $crate::units::UnitError> {
                let named = Self::ALL.into_iter().find(|value| value.name() == text);
                named.ok_or_else(|| $crate::units::UnitError {
                    text: text.into(),
                    expected: concat!($what, "; write ", $crate::named!(@list $($name),+)),
                })
            }
        }
    };
    ($type:ident, $($variant:ident => $name:literal),+ $(,)?) => {
        impl $type {
            /// Every one.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The name in options, files and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
    (@list $only:literal) => { $only };
    (@list $one:literal, $last:literal) => { concat!($one, " or ", $last) };
    (@list $first:literal, $($rest:literal),+) => {
        concat!($first, ", ", $crate::named!(@list $($rest),+))
    };
}

/// The index in `names` of what is read: as serde's own derive reads a field-less enumeration, errors included.
#[doc(hidden)]
pub fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
    of: &'static str,
    names: &'static [&'static str],
) -> Result<usize, D::Error> {
    deserializer.deserialize_enum(of, names, Choice { of, names })
}

#[derive(Clone, Copy)]
struct Choice {
    of: &'static str,
    names: &'static [&'static str],
}

impl<'de> Visitor<'de> for Choice {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "enum {}", self.of)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<usize, A::Error> {
        let (index, content) = access.variant_seed(Name(self.names))?;
        content.unit_variant()?;
        Ok(index)
    }
}

struct Name(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variant identifier")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        let index = self.0.iter().position(|&name| name == text);
        index.ok_or_else(|| E::unknown_variant(text, self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Ours {
        PingPong,
        Barrier,
    }

    named!(Ours, serde, "a case", PingPong => "ping-pong", Barrier => "barrier");

    /// The serde implementations of the same.
    mod derived {
        #[derive(Debug, super::Serialize, super::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Ours {
            PingPong,
            Barrier,
        }
    }

    #[test]
    fn values_and_errors_are_those_of_serde() {
        for (ours, derived) in [
            (Ours::PingPong, derived::Ours::PingPong),
            (Ours::Barrier, derived::Ours::Barrier),
        ] {
            let text = serde_json::to_string(&derived).unwrap();
            assert_eq!(serde_json::to_string(&ours).unwrap(), text);
            assert_eq!(serde_json::from_str::<Ours>(&text).unwrap(), ours);
        }
        for text in [
            r#""ping_pong""#,
            r#""""#,
            "1",
            "null",
            "{}",
            "[]",
            r#"{"barrier":1}"#,
        ] {
            let ours = serde_json::from_str::<Ours>(text).unwrap_err().to_string();
            let derived = serde_json::from_str::<derived::Ours>(text).unwrap_err();
            assert_eq!(ours, derived.to_string(), "{text}");
        }
    }

    #[test]
    fn names_are_read_back_and_nothing_else() {
        for ours in Ours::ALL {
            assert_eq!(ours.to_string().parse(), Ok(ours));
        }
        assert_eq!(format!("{:>8}|", Ours::Barrier), " barrier|");
        let error = "Barrier".parse::<Ours>().unwrap_err().to_string();
        assert_eq!(error, "`Barrier` is not a case; write ping-pong or barrier");
    }
}

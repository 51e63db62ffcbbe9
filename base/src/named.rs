//! Choices that have a name in options and files: one list gives the names, the reader and the writer.

/// Gives a field-less enumeration its names: `ALL`, `name`, `Display` and `FromStr`, which refuses any other text with a
/// [`UnitError`](crate::units::UnitError) that says what was expected.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq)]
/// enum Service { Rc, Ud }
/// jitterlab_base::named!(Service, "a service: rc or ud", Rc => "rc", Ud => "ud");
/// assert_eq!("ud".parse(), Ok(Service::Ud));
/// assert_eq!(Service::Rc.to_string(), "rc");
/// assert_eq!("xy".parse::<Service>().unwrap_err().to_string(), "`xy` is not a service: rc or ud");
/// ```
#[macro_export]
macro_rules! named {
    ($type:ident, $expected:literal, $($variant:ident => $name:literal),+ $(,)?) => {
        impl $type {
            /// Every one.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            /// The name in options and files.
            pub fn name(self) -> &'static str {
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

        impl ::std::str::FromStr for $type {
            type Err = $crate::units::UnitError;

            fn from_str(text: &str) -> Result<Self, $crate::units::UnitError> {
                let mut all = Self::ALL.iter().copied();
                all.find(|value| value.name() == text).ok_or_else(|| $crate::units::UnitError {
                    text: text.into(),
                    expected: $expected,
                })
            }
        }
    };
}

//! Options that take one of some names, which help and completions list.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jitterlab_base::units::UnitError;

/// Reads one of the names.
pub fn choice<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnitError> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

//! Reading a report whose field `case` says which type it has.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The case of a report, and the report.
///
/// # Errors
/// It names no case, or one that is not known.
pub fn by_case<'de, C: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(C, Value), D::Error> {
    let value = Value::deserialize(deserializer)?;
    let case = value.get("case").cloned();
    let case = case.ok_or_else(|| D::Error::missing_field("case"))?;
    Ok((read(case)?, value))
}

/// The report, as the type of its case.
///
/// # Errors
/// A field is missing, or has no such value.
pub fn read<T: DeserializeOwned, E: Error>(value: Value) -> Result<T, E> {
    serde_json::from_value(value).map_err(E::custom)
}

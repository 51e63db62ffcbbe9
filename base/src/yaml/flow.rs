//! Values in one line, as people write them in braces.

use serde::Serialize;
use serde_yaml::{Mapping, Value};

/// A value as a file has it.
pub fn value(of: &impl Serialize) -> Value {
    // Values that are read from files can be written.
    serde_yaml::to_value(of).unwrap_or_default()
}

/// A value in one line, as in `{ sizes: [1B, 4KiB], wait: poll }`.
pub fn flow(value: &Value) -> String {
    match value {
        Value::Sequence(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Mapping(parts) => {
            let parts = parts.iter();
            let parts: Vec<String> = parts
                .map(|(key, value)| format!("{}: {}", flow(key), flow(value)))
                .collect();
            format!("{{ {} }}", parts.join(", "))
        }
        Value::String(text) if text.contains([',', '[', ']', '{', '}']) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        scalar => {
            let text = serde_yaml::to_string(scalar).unwrap_or_default();
            text.trim_end().into()
        }
    }
}

/// A value without its parts that say nothing, such as no value, an empty one, or a choice that is not made. None where nothing is left.
pub fn said(value: &Value) -> Option<Value> {
    let is_said = match value {
        Value::Null => false,
        Value::Bool(chosen) => *chosen,
        Value::String(text) => !text.is_empty(),
        Value::Sequence(items) => !items.is_empty(),
        Value::Mapping(parts) => {
            let parts = parts.iter();
            let parts = parts.filter_map(|(key, value)| Some((key.clone(), said(value)?)));
            let parts: Mapping = parts.collect();
            return (!parts.is_empty()).then_some(Value::Mapping(parts));
        }
        Value::Number(_) | Value::Tagged(_) => true,
    };
    is_said.then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_one_line_is_read_back() {
        for text in [
            "{ sizes: [1B, 4KiB], chance: 1e-6, retries: 2, on: 'true', accept: true, none: null }",
            "['a, b', '{x}', \"it's\", '[', plain text]",
            "[]",
        ] {
            let value: Value = serde_yaml::from_str(text).unwrap();
            let again = flow(&value);
            assert!(!again.contains('\n'), "{again}");
            assert_eq!(serde_yaml::from_str::<Value>(&again).unwrap(), value);
        }
    }

    #[test]
    fn parts_that_say_nothing_are_left_out() {
        for (text, left) in [
            ("{ a: null, b: [], c: '', d: false, e: {} }", None),
            ("{ a: { b: 0, c: null }, d: [] }", Some("{ a: { b: 0 } }")),
            ("true", Some("true")),
        ] {
            let value = serde_yaml::from_str(text).unwrap();
            assert_eq!(said(&value).map(|value| flow(&value)).as_deref(), left);
        }
    }
}

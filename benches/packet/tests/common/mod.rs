//! What holds for whatever is stored: it is read back as it was, and no field of it can go missing unseen.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Stores a result and reads it back; then gives each of its fields, however deep, another name, and expects the reader
/// to refuse that.
pub fn assert_kept<T: Serialize + DeserializeOwned>(result: &T) {
    let stored = serde_json::to_string(result).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let read: T = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), stored);
    let renamed = renamed(&stored);
    assert!(!renamed.is_empty());
    for (field, wrong) in renamed {
        let read: Result<T, _> = serde_json::from_value(wrong);
        assert!(read.is_err(), "`{field}` may go missing: {stored}");
    }
}

/// A value once for each field of it, with that one renamed.
fn renamed(value: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let with = |name: &str, inner: Value| {
                    let mut fields = fields.clone();
                    fields.insert(name.into(), inner);
                    Value::Object(fields)
                };
                let mut without = fields.clone();
                without.remove(name);
                without.insert(format!("{name}_renamed"), inner.clone());
                all.push((name.clone(), Value::Object(without)));
                let deeper = self::renamed(inner).into_iter();
                all.extend(
                    deeper.map(|(field, wrong)| (format!("{name}.{field}"), with(name, wrong))),
                );
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                for (field, wrong) in renamed(item) {
                    let mut items = items.clone();
                    items[i] = wrong;
                    all.push((format!("{i}.{field}"), Value::Array(items)));
                }
            }
        }
        _ => {}
    }
    all
}

//! In what a job that is there differs from one that is wanted.

use serde::Serialize;
use serde_json::Value;

/// The fields that are wanted and have another value, as paths. Fields that only the other has are the server's defaults.
pub(super) fn difference(wanted: &impl Serialize, there: &impl Serialize) -> Vec<String> {
    let mut fields = Vec::new();
    match (serde_json::to_value(wanted), serde_json::to_value(there)) {
        (Ok(wanted), Ok(there)) => compare("spec", &wanted, &there, &mut fields),
        // It is said to differ rather than to be the same.
        _ => fields.push("spec".into()),
    }
    fields
}

fn compare(path: &str, wanted: &Value, there: &Value, fields: &mut Vec<String>) {
    match (wanted, there) {
        (Value::Object(wanted), Value::Object(there)) => {
            for (name, value) in wanted {
                compare(&format!("{path}.{name}"), value, there.get(name).unwrap_or(&Value::Null), fields);
            }
        }
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => {
            for (k, (wanted, there)) in wanted.iter().zip(there).enumerate() {
                compare(&format!("{path}[{k}]"), wanted, there, fields);
            }
        }
        // A server drops what is empty.
        (Value::Object(wanted), Value::Null) if wanted.is_empty() => {}
        (wanted, there) if wanted == there => {}
        _ => fields.push(path.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::difference;
    use serde_json::json;

    #[test]
    fn fields_are_named_by_their_paths() {
        let wanted = json!({"a": 1, "b": {"c": [1, {"d": "x"}]}, "e": {}});
        let defaults = json!({"a": 1, "b": {"c": [1, {"d": "x", "f": 2}]}, "g": true});
        assert!(difference(&wanted, &defaults).is_empty());
        let other = json!({"a": 2, "b": {"c": [1, {"d": "y"}]}});
        assert_eq!(difference(&wanted, &other), ["spec.a", "spec.b.c[1].d"]);
        let longer = json!({"a": 1, "b": {"c": [1]}});
        assert_eq!(difference(&wanted, &longer), ["spec.b.c"]);
    }
}

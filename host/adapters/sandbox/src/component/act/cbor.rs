//! JSON as deterministic CBOR (RFC 8949, 4.2.1), and CBOR as JSON. Byte strings are
//! `{"$bytes": BASE64}` in JSON, as in the host of ACT itself.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ciborium::value::Value as Cbor;
use serde_json::{Map, Number, Value, json};

/// The key of an object that stands for bytes.
const BYTES_KEY: &str = "$bytes";

/// The most bytes of CBOR that are read: each may become a value of 40 bytes or more.
const MAX_BYTES: usize = 400_000;

/// The deepest nesting, which is that of JSON.
const MAX_DEPTH: usize = 120;

/// Encodes the arguments of a call. A whole number is a float where the schema has `number`: ACT's
/// SDK does not read an integer as a float, and a model writes `2` for `2.0`.
pub(super) fn encode(arguments: &Map<String, Value>, schema: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let types = Types { root: schema };
    // A vector takes all bytes, and these values have no form that CBOR lacks.
    let _ = ciborium::into_writer(&types.of_object(arguments, schema), &mut bytes);
    bytes
}

/// The types in a schema.
struct Types<'a> {
    root: &'a Value,
}

impl<'a> Types<'a> {
    fn of_json(&self, value: &Value, schema: &'a Value) -> Cbor {
        let schema = self.resolved(schema);
        match value {
            Value::Null => Cbor::Null,
            Value::Bool(value) => Cbor::Bool(*value),
            Value::Number(number) => of_number(number, self.is_float(schema)),
            Value::String(text) => Cbor::Text(text.clone()),
            Value::Array(items) => {
                let schema = schema.get("items").unwrap_or(&Value::Null);
                Cbor::Array(
                    items
                        .iter()
                        .map(|item| self.of_json(item, schema))
                        .collect(),
                )
            }
            Value::Object(object) => match bytes_of(object) {
                Some(bytes) => Cbor::Bytes(bytes),
                None => self.of_object(object, schema),
            },
        }
    }

    /// Keys are in the order of their encoded form, in which the length comes first.
    fn of_object(&self, object: &Map<String, Value>, schema: &'a Value) -> Cbor {
        let mut entries: Vec<(&String, &Value)> = object.iter().collect();
        entries.sort_by_key(|(key, _)| (key.len(), key.as_bytes()));
        let schema_of = |key: &str| {
            let property = schema.get("properties").and_then(|all| all.get(key));
            let other = schema.get("additionalProperties");
            property.or(other).unwrap_or(&Value::Null)
        };
        let entries = entries.into_iter().map(|(key, value)| {
            let value = self.of_json(value, schema_of(key));
            (Cbor::Text(key.clone()), value)
        });
        Cbor::Map(entries.collect())
    }

    /// Follows a reference to a definition of the same schema.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        let found = pointer.and_then(|pointer| self.root.pointer(pointer));
        found.unwrap_or(schema)
    }

    /// Returns whether a value is a number that need not be whole, or nothing.
    fn is_float(&self, schema: &'a Value) -> bool {
        let is_number = |ty: &Value| ty == "number";
        let by_type = schema.get("type").is_some_and(|ty| match ty {
            Value::Array(types) => types.iter().any(is_number),
            ty => is_number(ty),
        });
        let among = schema.get("anyOf").and_then(Value::as_array);
        let mut among = among.into_iter().flatten();
        by_type || among.any(|schema| schema.get("type").is_some_and(is_number))
    }
}

fn of_number(number: &Number, is_float: bool) -> Cbor {
    let whole = number.as_i64().map(i128::from);
    match whole.or_else(|| number.as_u64().map(i128::from)) {
        Some(whole) if !is_float => match ciborium::value::Integer::try_from(whole) {
            Ok(whole) => Cbor::Integer(whole),
            Err(_) => Cbor::Null,
        },
        _ => Cbor::Float(number.as_f64().unwrap_or_default()),
    }
}

fn bytes_of(object: &Map<String, Value>) -> Option<Vec<u8>> {
    let text = object.get(BYTES_KEY).filter(|_| object.len() == 1)?;
    STANDARD.decode(text.as_str()?).ok()
}

/// Decodes what a component sent.
///
/// # Errors
/// It is too large, or no CBOR: a fragment of a sentence.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let mut rest = bytes;
    let value: Cbor = ciborium::de::from_reader_with_recursion_limit(&mut rest, MAX_DEPTH)
        .map_err(|_| "it is not valid".to_owned())?;
    if !rest.is_empty() {
        return Err("it has more than one value".to_owned());
    }
    Ok(to_json(value))
}

fn to_json(value: Cbor) -> Value {
    match value {
        Cbor::Integer(whole) => {
            let whole = i128::from(whole);
            let number = i64::try_from(whole).map(Number::from);
            let number = number.or_else(|_| u64::try_from(whole).map(Number::from));
            number.map_or_else(|_| Value::String(whole.to_string()), Value::Number)
        }
        Cbor::Float(float) => match Number::from_f64(float) {
            Some(number) => Value::Number(number),
            None => Value::String(float.to_string()),
        },
        Cbor::Bytes(bytes) => json!({ BYTES_KEY: STANDARD.encode(bytes) }),
        Cbor::Text(text) => Value::String(text),
        Cbor::Bool(value) => Value::Bool(value),
        Cbor::Tag(_, value) => to_json(*value),
        Cbor::Array(items) => items.into_iter().map(to_json).collect(),
        Cbor::Map(entries) => {
            let entries = entries.into_iter().map(|(key, value)| {
                let key = match to_json(key) {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                (key, to_json(value))
            });
            Value::Object(entries.collect())
        }
        _ => Value::Null,
    }
}

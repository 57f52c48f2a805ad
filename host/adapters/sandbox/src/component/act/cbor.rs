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

/// Encodes the arguments of a call.
pub(super) fn encode(arguments: &Map<String, Value>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A vector takes all bytes, and these values have no form that CBOR lacks.
    let _ = ciborium::into_writer(&of_object(arguments), &mut bytes);
    bytes
}

fn of_json(value: &Value) -> Cbor {
    match value {
        Value::Null => Cbor::Null,
        Value::Bool(value) => Cbor::Bool(*value),
        Value::Number(number) => of_number(number),
        Value::String(text) => Cbor::Text(text.clone()),
        Value::Array(items) => Cbor::Array(items.iter().map(of_json).collect()),
        Value::Object(object) => match bytes_of(object) {
            Some(bytes) => Cbor::Bytes(bytes),
            None => of_object(object),
        },
    }
}

fn of_number(number: &Number) -> Cbor {
    if let Some(whole) = number.as_i64() {
        Cbor::Integer(whole.into())
    } else if let Some(whole) = number.as_u64() {
        Cbor::Integer(whole.into())
    } else {
        Cbor::Float(number.as_f64().unwrap_or_default())
    }
}

/// Keys are in the order of their encoded form, in which the length comes first.
fn of_object(object: &Map<String, Value>) -> Cbor {
    let mut entries: Vec<(&String, &Value)> = object.iter().collect();
    entries.sort_by_key(|(key, _)| (key.len(), key.as_bytes()));
    let entries = entries.into_iter();
    Cbor::Map(
        entries
            .map(|(key, value)| (Cbor::Text(key.clone()), of_json(value)))
            .collect(),
    )
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

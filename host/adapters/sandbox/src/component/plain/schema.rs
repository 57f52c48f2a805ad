//! JSON Schemas of WIT types. A value that fits the schema fits the type, except for what no
//! bounded schema can express: the digits of an integer in text form, and the alphabet of base64.

use super::wit_type::{CaseKind, Cases, IntType, NamedTypes, Signature, WitType};
use serde_json::{Map, Number, Value, json};

/// The texts for floats that JSON has no numbers for.
pub(super) const NOT_A_NUMBER: &str = "NaN";
pub(super) const INFINITY: &str = "Infinity";
pub(super) const MINUS_INFINITY: &str = "-Infinity";

/// The most digits of a 64-bit integer, with its sign.
const MAX_DIGITS: usize = 20;

/// Returns the schema of an object with exactly these fields.
pub(super) fn object(fields: &NamedTypes) -> Value {
    let shown = fields
        .iter()
        .map(|(name, ty)| (name.clone(), of(ty), !ty.is_optional()));
    object_of(shown)
}

/// Returns the schema of a function's result if that is JSON; of the `ok` of a `result`, since the
/// `err` is an error.
pub(super) fn of_result(signature: &Signature) -> Option<Value> {
    let ty = match signature.result.as_ref()? {
        WitType::Cases(CaseKind::Result, cases) => cases.get("ok")?.as_ref()?,
        ty => ty,
    };
    match ty {
        // Text has no schema.
        WitType::String | WitType::Stream(_) => None,
        WitType::Future(item) if **item == WitType::String => None,
        ty => Some(of(ty)),
    }
}

fn of(ty: &WitType) -> Value {
    match ty {
        WitType::Bool => json!({ "type": "boolean" }),
        WitType::Int(int) => integer(*int),
        WitType::Float32 => float(&json!({
            "type": "number",
            "minimum": widened(f32::MIN),
            "maximum": widened(f32::MAX),
        })),
        WitType::Float64 => float(&json!({ "type": "number" })),
        WitType::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        WitType::String => json!({ "type": "string" }),
        WitType::Bytes => json!({
            "type": "string",
            "contentEncoding": "base64",
            "description": "Bytes in base64.",
        }),
        WitType::Stream(item) if **item == WitType::BYTE => of(&WitType::Bytes),
        WitType::List(item) | WitType::Stream(item) => {
            json!({ "type": "array", "items": of(item) })
        }
        WitType::Tuple(items) => json!({
            "type": "array",
            "prefixItems": items.iter().map(of).collect::<Vec<_>>(),
            "minItems": items.len(),
            "maxItems": items.len(),
        }),
        WitType::Record(fields) => object(fields),
        WitType::Cases(_, cases) => cases_schema(cases),
        WitType::Enum(names) => json!({ "type": "string", "enum": names }),
        WitType::Flags(names) => json!({
            "type": "array",
            "items": { "type": "string", "enum": names },
            "uniqueItems": true,
        }),
        WitType::Option(inner) => json!({ "anyOf": [of(inner), { "type": "null" }] }),
        WitType::Future(item) => of(item),
    }
}

fn object_of(fields: impl Iterator<Item = (String, Value, bool)>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, schema, is_required) in fields {
        if is_required {
            required.push(Value::String(name.clone()));
        }
        properties.insert(name, schema);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// `{"tag": CASE, "val": VALUE}`, as in other component hosts.
fn cases_schema(cases: &Cases) -> Value {
    let cases = cases.iter().map(|(name, ty)| {
        let tag = ("tag".to_owned(), json!({ "const": name }), true);
        let val = ty
            .as_ref()
            .map(|ty| ("val".to_owned(), of(ty), !ty.is_optional()));
        object_of([tag].into_iter().chain(val))
    });
    json!({ "oneOf": cases.collect::<Vec<_>>() })
}

fn integer(int: IntType) -> Value {
    let (least, most) = int.range();
    let (minimum, maximum) = (Number::from_i128(least), Number::from_i128(most));
    if int.is_wide() {
        json!({
            "type": ["integer", "string"],
            "minimum": minimum,
            "maximum": maximum,
            "maxLength": MAX_DIGITS,
            "description": format!("An integer from {least} to {most}; as a string of digits where a number would be \
                inexact."),
        })
    } else {
        json!({ "type": "integer", "minimum": minimum, "maximum": maximum })
    }
}

/// Returns the number with the fewest digits that reads back as this `f32`: 0.1, where the exact
/// value is 0.10000000149011612.
pub(super) fn widened(float: f32) -> f64 {
    float.to_string().parse().unwrap_or(f64::from(float))
}

fn float(number: &Value) -> Value {
    json!({ "anyOf": [number, { "enum": [NOT_A_NUMBER, INFINITY, MINUS_INFINITY] }] })
}

//! Conversions from JSON to WIT values and back. Arguments were checked against the schema; results
//! are of their type, since the engine made them. Both are bounded.

use super::{
    schema::{INFINITY, MINUS_INFINITY, NOT_A_NUMBER, widened},
    wit_type::{CaseKind, IntType, NamedTypes, Signature, WitType},
};
use crate::bindings::types as wit;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value, json};
use std::fmt;
use wasmtime::{bail, component::Val, format_err};

/// The most WIT values in the arguments of one call, each byte of a list of bytes among them: one
/// takes up to 40 bytes of memory. A result may have about as many by the default of
/// `max-transfer-bytes`.
pub(super) const MAX_VALUES: usize = 400_000;

/// The largest integer up to which a 64-bit float holds all exactly (`Number.MAX_SAFE_INTEGER`).
const MAX_EXACT: i128 = (1 << 53) - 1;

/// A result of more values and bytes of text takes longer to convert than a quick call may last.
const QUICK_WEIGHT: usize = 2_000;

/// An argument that fits the schema but is no value of its type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {why}")]
pub(super) struct ArgumentError {
    /// From the arguments to the value, with a `/` before each part.
    path: String,
    why: String,
}

impl ArgumentError {
    fn new(why: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            why: why.into(),
        }
    }

    fn within(mut self, part: impl fmt::Display) -> Self {
        self.path = format!("/{part}{}", self.path);
        self
    }
}

/// Converts the arguments of a function.
pub(super) fn arguments(
    params: &NamedTypes,
    input: &Map<String, Value>,
) -> Result<Vec<Val>, ArgumentError> {
    let fields = ArgumentConverter { left: MAX_VALUES }.fields(params, input)?;
    Ok(fields.into_iter().map(|(_, val)| val).collect())
}

/// Converts the arguments of one call and counts their values.
struct ArgumentConverter {
    left: usize,
}

impl ArgumentConverter {
    fn spend(&mut self, values: usize) -> Result<(), ArgumentError> {
        self.left = self.left.checked_sub(values).ok_or_else(|| {
            ArgumentError::new(format!(
                "is too large: all arguments together may have at most {MAX_VALUES} values, counting each byte in a \
                 list of bytes"
            ))
        })?;
        Ok(())
    }

    fn val(&mut self, ty: &WitType, value: &Value) -> Result<Val, ArgumentError> {
        self.spend(1)?;
        match (ty, value) {
            (WitType::Bool, Value::Bool(value)) => Ok(Val::Bool(*value)),
            (WitType::Int(int), value) => integer(*int, value),
            (WitType::Float32, value) => float(value).and_then(narrowed).map(Val::Float32),
            (WitType::Float64, value) => float(value).map(Val::Float64),
            (WitType::Char, Value::String(text)) => {
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) => Ok(Val::Char(only)),
                    _ => Err(ArgumentError::new("is not one character")),
                }
            }
            (WitType::String, Value::String(text)) => Ok(Val::String(text.clone())),
            (WitType::Bytes, Value::String(text)) => self.bytes(text),
            // An argument becomes a stream when the function is called.
            (WitType::Stream(item), Value::String(text)) if **item == WitType::BYTE => {
                self.bytes(text)
            }
            (WitType::List(item) | WitType::Stream(item), Value::Array(items)) => {
                let types = std::iter::repeat(&**item);
                self.items(types, items).map(Val::List)
            }
            (WitType::Tuple(types), Value::Array(items)) if types.len() == items.len() => {
                self.items(types.iter(), items).map(Val::Tuple)
            }
            (WitType::Record(fields), Value::Object(object)) => {
                self.fields(fields, object).map(Val::Record)
            }
            (WitType::Cases(kind, cases), Value::Object(object)) => {
                let tag = object.get("tag").and_then(Value::as_str);
                let (tag, ty) = tag
                    .and_then(|tag| cases.get_key_value(tag))
                    .ok_or_else(|| {
                        ArgumentError::new("has no `tag` that names one of its cases")
                    })?;
                let val = ty.as_ref().map(|ty| self.field("val", ty, object));
                Ok(kind.val(tag, val.transpose()?.map(Box::new)))
            }
            (WitType::Enum(_), Value::String(name)) => Ok(Val::Enum(name.clone())),
            (WitType::Flags(_), Value::Array(names)) => {
                let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                let names: Option<Vec<String>> = names.collect();
                names
                    .map(Val::Flags)
                    .ok_or_else(|| ArgumentError::new("has no names"))
            }
            (WitType::Option(_), Value::Null) => Ok(Val::Option(None)),
            (WitType::Option(inner), value) => {
                let val = self.val(inner, value)?;
                Ok(Val::Option(Some(Box::new(val))))
            }
            _ => Err(ArgumentError::new("has the wrong type")),
        }
    }

    fn bytes(&mut self, text: &str) -> Result<Val, ArgumentError> {
        self.spend(base64::decoded_len_estimate(text.len()))?;
        let bytes = STANDARD
            .decode(text)
            .map_err(|_| ArgumentError::new("is not standard base64 with its padding"))?;
        Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
    }

    fn items<'a>(
        &mut self,
        types: impl Iterator<Item = &'a WitType>,
        items: &[Value],
    ) -> Result<Vec<Val>, ArgumentError> {
        let items = types.zip(items).enumerate();
        items
            .map(|(index, (ty, item))| self.val(ty, item).map_err(|error| error.within(index)))
            .collect()
    }

    fn fields(
        &mut self,
        fields: &NamedTypes,
        object: &Map<String, Value>,
    ) -> Result<Vec<(String, Val)>, ArgumentError> {
        fields
            .iter()
            .map(|(name, ty)| Ok((name.clone(), self.field(name, ty, object)?)))
            .collect()
    }

    /// Converts a field; a missing one is `null`.
    fn field(
        &mut self,
        name: &str,
        ty: &WitType,
        object: &Map<String, Value>,
    ) -> Result<Val, ArgumentError> {
        self.val(ty, object.get(name).unwrap_or(&Value::Null))
            .map_err(|error| error.within(name))
    }
}

impl CaseKind {
    fn val(self, tag: &str, val: Option<Box<Val>>) -> Val {
        match self {
            Self::Variant => Val::Variant(tag.to_owned(), val),
            Self::Result if tag == "ok" => Val::Result(Ok(val)),
            Self::Result => Val::Result(Err(val)),
            Self::Option => Val::Option(val),
        }
    }
}

fn integer(int: IntType, value: &Value) -> Result<Val, ArgumentError> {
    let whole = match value {
        Value::Number(number) => whole(number),
        Value::String(digits) if int.is_wide() => digits.parse().ok(),
        _ => None,
    };
    whole
        .and_then(|whole| int.val(whole))
        .ok_or_else(|| ArgumentError::new("is not an integer in the valid range"))
}

/// Returns the integer value of a number. `1.0` and `1e3` are integers, too.
fn whole(number: &Number) -> Option<i128> {
    let exact = number.as_i64().map(i128::from);
    exact
        .or_else(|| number.as_u64().map(i128::from))
        .or_else(|| {
            let float = number.as_f64()?;
            // The cast saturates, far beyond every range.
            (float.fract() == 0.0).then_some(float as i128)
        })
}

fn float(value: &Value) -> Result<f64, ArgumentError> {
    let float = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            NOT_A_NUMBER => Some(f64::NAN),
            INFINITY => Some(f64::INFINITY),
            MINUS_INFINITY => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    float.ok_or_else(|| ArgumentError::new("is not a number"))
}

/// Returns the nearest `f32`; a finite number does not become infinite.
fn narrowed(float: f64) -> Result<f32, ArgumentError> {
    let narrow = float as f32;
    if float.is_finite() && narrow.is_infinite() {
        return Err(ArgumentError::new("is too large for an f32"));
    }
    Ok(narrow)
}

/// Returns whether converting these takes longer than a quick call may last.
pub(super) fn takes_long(results: &[Val]) -> bool {
    let mut left = QUICK_WEIGHT;
    !results.iter().all(|val| spend(val, &mut left))
}

/// Subtracts the weight of a value, and returns whether enough was left.
fn spend(val: &Val, left: &mut usize) -> bool {
    let text = match val {
        Val::String(text) => text.len(),
        _ => 0,
    };
    let Some(rest) = left.checked_sub(1 + text) else {
        return false;
    };
    *left = rest;
    match val {
        Val::List(items) | Val::Tuple(items) => items.iter().all(|item| spend(item, left)),
        Val::Record(fields) => fields.iter().all(|(_, item)| spend(item, left)),
        Val::Variant(_, Some(item))
        | Val::Option(Some(item))
        | Val::Result(Ok(Some(item)) | Err(Some(item))) => spend(item, left),
        _ => true,
    }
}

/// Converts the result of a function. Text stays text, no value is `null`, and the `err` of a
/// `result` is an error.
pub(super) fn output(
    signature: &Signature,
    result: Option<Val>,
) -> wasmtime::Result<wit::ToolResultOutput> {
    use wit::ToolResultOutput as Output;
    let (is_error, ty, val) = match (&signature.result, result) {
        (Some(WitType::Cases(CaseKind::Result, cases)), Some(Val::Result(result))) => {
            let (is_error, tag, val) = match result {
                Ok(val) => (false, "ok", val),
                Err(val) => (true, "err", val),
            };
            let ty = cases.get(tag).and_then(Option::as_ref);
            (is_error, ty, val.map(|val| *val))
        }
        (ty, val) => (false, ty.as_ref(), val),
    };
    Ok(match (is_error, ty, val) {
        (false, None, _) => Output::Json(Value::Null.to_string()),
        (true, None, _) => Output::ErrorText("The function failed without a reason.".to_owned()),
        (false, _, Some(Val::String(text))) => Output::Text(text),
        (true, _, Some(Val::String(text))) => Output::ErrorText(text),
        (false, Some(WitType::Stream(item)), Some(Val::List(items))) => {
            let lines = items.iter().map(|val| line(item, val));
            Output::Text(lines.collect::<wasmtime::Result<_>>()?)
        }
        (false, Some(ty), Some(val)) => Output::Json(json(ty, &val)?.to_string()),
        (true, Some(ty), Some(val)) => Output::ErrorJson(json(ty, &val)?.to_string()),
        (_, Some(_), None) => bail!("it has no value"),
    })
}

/// Returns an item of a stream as one line of JSON.
fn line(ty: &WitType, val: &Val) -> wasmtime::Result<String> {
    Ok(format!("{}\n", json(ty, val)?))
}

/// Converts a value to JSON. One that is not of its type is an error; the engine has checked all of
/// them.
fn json(ty: &WitType, val: &Val) -> wasmtime::Result<Value> {
    Ok(match (ty, val) {
        (WitType::Bool, Val::Bool(value)) => Value::Bool(*value),
        (WitType::Int(_), val) => integer_json(val)?,
        (WitType::Float32, Val::Float32(value)) => float_json(widened(*value)),
        (WitType::Float64, Val::Float64(value)) => float_json(*value),
        (WitType::Char, Val::Char(value)) => Value::String(value.to_string()),
        (WitType::String, Val::String(text)) => Value::String(text.clone()),
        (WitType::Bytes, Val::List(bytes)) => {
            let bytes = bytes.iter().map(|byte| match byte {
                Val::U8(byte) => Ok(*byte),
                _ => Err(untyped()),
            });
            Value::String(STANDARD.encode(bytes.collect::<wasmtime::Result<Vec<u8>>>()?))
        }
        // A stream was read to its end.
        (WitType::Stream(item), bytes) if **item == WitType::BYTE => json(&WitType::Bytes, bytes)?,
        (WitType::List(item) | WitType::Stream(item), Val::List(items)) => {
            let items = items.iter().map(|val| json(item, val));
            Value::Array(items.collect::<wasmtime::Result<_>>()?)
        }
        (WitType::Tuple(types), Val::Tuple(items)) => {
            let items = types.iter().zip(items).map(|(ty, val)| json(ty, val));
            Value::Array(items.collect::<wasmtime::Result<_>>()?)
        }
        (WitType::Record(types), Val::Record(fields)) => {
            let fields = types.iter().zip(fields);
            let fields = fields.map(|((name, ty), (_, val))| Ok((name.clone(), json(ty, val)?)));
            Value::Object(fields.collect::<wasmtime::Result<_>>()?)
        }
        (WitType::Cases(_, cases), val) => {
            let (tag, val) = case(val)?;
            let ty = cases.get(tag).ok_or_else(untyped)?;
            match (ty, val) {
                (Some(ty), Some(val)) => json!({ "tag": tag, "val": json(ty, val)? }),
                _ => json!({ "tag": tag }),
            }
        }
        (WitType::Enum(_), Val::Enum(name)) => Value::String(name.clone()),
        (WitType::Flags(_), Val::Flags(names)) => json!(names),
        (WitType::Option(_), Val::Option(None)) => Value::Null,
        (WitType::Option(inner), Val::Option(Some(val))) => json(inner, val)?,
        (WitType::Future(item), val) => json(item, val)?,
        _ => return Err(untyped()),
    })
}

/// Returns the name of a value's case and the value in it.
fn case(val: &Val) -> wasmtime::Result<(&str, Option<&Val>)> {
    Ok(match val {
        Val::Variant(tag, val) => (tag, val.as_deref()),
        Val::Result(Ok(val)) => ("ok", val.as_deref()),
        Val::Result(Err(val)) => ("err", val.as_deref()),
        Val::Option(Some(val)) => ("some", Some(val)),
        Val::Option(None) => ("none", None),
        _ => return Err(untyped()),
    })
}

/// Returns a number, or text in digits if the number would not be exact.
fn integer_json(val: &Val) -> wasmtime::Result<Value> {
    let whole = match val {
        Val::S8(value) => i128::from(*value),
        Val::U8(value) => i128::from(*value),
        Val::S16(value) => i128::from(*value),
        Val::U16(value) => i128::from(*value),
        Val::S32(value) => i128::from(*value),
        Val::U32(value) => i128::from(*value),
        Val::S64(value) => i128::from(*value),
        Val::U64(value) => i128::from(*value),
        _ => return Err(untyped()),
    };
    Ok(match i64::try_from(whole) {
        Ok(exact) if (-MAX_EXACT..=MAX_EXACT).contains(&whole) => Value::from(exact),
        _ => Value::String(whole.to_string()),
    })
}

fn float_json(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        // JSON has numbers for finite ones only.
        None if value.is_nan() => NOT_A_NUMBER.into(),
        None if value > 0.0 => INFINITY.into(),
        None => MINUS_INFINITY.into(),
    }
}

pub(super) fn untyped() -> wasmtime::Error {
    format_err!("a value is not of the type of the function")
}

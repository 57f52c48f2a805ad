//! Writes the integers of a value as such, by its schema. Gateways that pass arguments through
//! `google.protobuf.Struct` write 5 as `5.0`, and its JSON form writes 64-bit integers as text; to
//! JSON Schema `5.0` is an integer, but the parsers of tools refuse it.

#[cfg(test)]
mod tests;

use super::references::find;
use serde_json::{Map, Number, Value};

/// The most steps through schema and value. What is left then stays as it is.
const MAX_STEPS: usize = 200_000;

/// The most references and choices in each other. Deeper ones say nothing.
const MAX_DEPTH: usize = 32;

/// The largest number below which every integer is a floating-point number of its own.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns an input with integers where its schema has only them: of numbers with a fraction of
/// zero, and of text that is one. Those beyond the exact range of floating-point numbers stay as
/// they are.
#[must_use]
pub fn with_integers(schema: &Value, input: Map<String, Value>) -> Map<String, Value> {
    let mut input = Value::Object(input);
    normalize(schema, &mut input);
    match input {
        Value::Object(input) => input,
        _ => Map::new(),
    }
}

/// Writes the integers of a value as such. Returns the JSON pointer to the first number that may
/// have lost digits before it arrived, and would lose them as an integer.
pub(super) fn normalize(schema: &Value, value: &mut Value) -> Option<String> {
    if !may_change(value) {
        return None;
    }
    let mut walk = Walk {
        root: schema,
        steps: MAX_STEPS,
        path: Vec::new(),
        inexact: None,
    };
    walk.visit(&[schema], value);
    walk.inexact
}

/// Whether a value has a number or text that may have to be an integer.
fn may_change(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::String(text) => is_integer(text),
        Value::Array(items) => items.iter().any(may_change),
        Value::Object(fields) => fields.values().any(may_change),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Whether text is an integer as JSON writes one.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_canonical = digits == "0" || !digits.starts_with('0');
    is_canonical && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether schemas take integers in the place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Takes {
    /// They say nothing of it.
    Unsaid,
    /// Integers, and not the value as it is.
    Integer,
    /// The value as it is.
    Value,
}

struct Walk<'s> {
    root: &'s Value,
    steps: usize,
    path: Vec<String>,
    inexact: Option<String>,
}

impl<'s> Walk<'s> {
    /// Visits a value to which all of these schemas apply, or one of several.
    fn visit(&mut self, schemas: &[&'s Value], value: &mut Value) {
        match value {
            Value::Number(number) if number.is_f64() => self.number(schemas, value),
            Value::String(text) if is_integer(text) => {
                if self.takes(schemas, "string") == Takes::Integer
                    && let Some(number) = parsed(value)
                {
                    *value = Value::Number(number);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let within = self.within(schemas, |schema| item_schema(schema, index), None);
                    self.step_into(index.to_string(), &within, item);
                }
            }
            Value::Object(fields) => {
                let names: Vec<String> = fields.keys().cloned().collect();
                for name in names {
                    let of = |schema: &'s Value| field_schema(schema, &name);
                    let within = self.within(schemas, of, Some(fields));
                    if let Some(field) = fields.get_mut(&name) {
                        self.step_into(name, &within, field);
                    }
                }
            }
            Value::Number(_) | Value::String(_) | Value::Null | Value::Bool(_) => {}
        }
    }

    fn step_into(&mut self, name: String, schemas: &[&'s Value], value: &mut Value) {
        if schemas.is_empty() {
            return;
        }
        self.path.push(name);
        self.visit(schemas, value);
        self.path.pop();
    }

    fn number(&mut self, schemas: &[&'s Value], value: &mut Value) {
        let Some(float) = value.as_f64().filter(|float| float.fract() == 0.0) else {
            return;
        };
        if self.takes(schemas, "number") != Takes::Integer {
            return;
        }
        if float.abs() < MAX_EXACT {
            // Exact in this range.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it is an integer of 53 bits"
            )]
            let integer = float as i64;
            *value = integer.into();
        } else if self.inexact.is_none() {
            let names = self.path.iter();
            let pointer = names.map(|name| format!("/{}", escaped(name))).collect();
            self.inexact = Some(pointer);
        }
    }

    /// Returns whether schemas take integers in the place of a value of this type.
    fn takes(&mut self, schemas: &[&'s Value], value_type: &str) -> Takes {
        let mut takes = Takes::Unsaid;
        for schema in schemas {
            takes = takes.max(self.takes_one(schema, value_type, 0));
        }
        takes
    }

    fn takes_one(&mut self, schema: &'s Value, value_type: &str, depth: usize) -> Takes {
        if !self.may_step(depth) {
            return Takes::Unsaid;
        }
        let Value::Object(keywords) = schema else {
            return Takes::Value;
        };
        if keywords.is_empty() {
            return Takes::Value;
        }
        let of_type = |name: &Value| match name.as_str() {
            Some(name) if name == value_type => Takes::Value,
            Some("integer") => Takes::Integer,
            _ => Takes::Unsaid,
        };
        let mut takes = match keywords.get("type") {
            Some(Value::Array(names)) => names.iter().map(of_type).max(),
            Some(name) => Some(of_type(name)),
            None => None,
        }
        .unwrap_or(Takes::Unsaid);
        for inner in self.in_place(keywords) {
            takes = takes.max(self.takes_one(inner, value_type, depth + 1));
        }
        takes
    }

    /// Returns the schemas of a part of a value: those that `of` finds in these schemas, and in
    /// what they refer to. A choice that the fields of the value rule out says nothing.
    fn within(
        &mut self,
        schemas: &[&'s Value],
        of: impl Fn(&'s Value) -> Option<&'s Value>,
        fields: Option<&Map<String, Value>>,
    ) -> Vec<&'s Value> {
        let mut found = Vec::new();
        let mut open: Vec<(&'s Value, usize)> = schemas.iter().map(|schema| (*schema, 0)).collect();
        while let Some((schema, depth)) = open.pop() {
            if !self.may_step(depth) {
                continue;
            }
            let is_ruled_out = fields.is_some_and(|fields| excludes(schema, fields));
            let (Value::Object(keywords), false) = (schema, is_ruled_out) else {
                continue;
            };
            found.extend(of(schema));
            let inner = self.in_place(keywords);
            if inner.len() > self.steps {
                break;
            }
            self.steps -= inner.len();
            open.extend(inner.into_iter().map(|schema| (schema, depth + 1)));
        }
        found
    }

    /// Returns the schemas that apply to the same value, all or one of them.
    fn in_place(&self, keywords: &'s Map<String, Value>) -> Vec<&'s Value> {
        let reference = keywords.get("$ref").and_then(Value::as_str);
        let referred = reference.and_then(|reference| find(self.root, reference));
        let groups = ["allOf", "anyOf", "oneOf"];
        let groups = groups
            .iter()
            .filter_map(|group| keywords.get(*group)?.as_array());
        referred.into_iter().chain(groups.flatten()).collect()
    }

    fn may_step(&mut self, depth: usize) -> bool {
        self.steps = self.steps.saturating_sub(1);
        depth < MAX_DEPTH && self.steps > 0
    }
}

/// Whether an object lacks a required field, or has another value in one with a fixed value.
fn excludes(schema: &Value, fields: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    if names.into_iter().any(|name| !fields.contains_key(name)) {
        return true;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().any(|(name, of)| {
        let differs = |value: &Value| match (of.get("const"), of.get("enum")) {
            (Some(fixed), _) => fixed != value,
            (None, Some(Value::Array(values))) => value.is_string() && !values.contains(value),
            (None, _) => false,
        };
        fields.get(name).is_some_and(differs)
    })
}

fn field_schema<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let property = schema.get("properties").and_then(|them| them.get(name));
    property.or_else(|| schema.get("additionalProperties"))
}

fn item_schema(schema: &Value, index: usize) -> Option<&Value> {
    let first = schema.get("prefixItems").and_then(|items| items.get(index));
    first.or_else(|| match schema.get("items")? {
        // Before draft 2020-12.
        Value::Array(items) => items.get(index),
        items => Some(items),
    })
}

/// Returns the integer of text, if it has at most 64 bits.
fn parsed(value: &Value) -> Option<Number> {
    let text = value.as_str()?;
    let signed = text.parse::<i64>().map(Number::from);
    signed
        .or_else(|_| text.parse::<u64>().map(Number::from))
        .ok()
}

/// Returns a name as a JSON pointer has it (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

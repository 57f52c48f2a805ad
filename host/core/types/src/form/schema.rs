//! Forms from JSON Schemas and back. A keyword that the host would not check is refused.

use super::{
    FieldChoice, FieldKind, Form, FormField, MAX_FIELD_CHOICES, MAX_FIELDS, MAX_SCHEMA_BYTES,
    MAX_TEXT_BYTES, NumberRange, quoted,
};
use crate::reason::Reason;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Number, Value, json};
use std::{collections::BTreeSet, fmt};

/// The keywords of every field.
const FIELD_KEYWORDS: [&str; 4] = ["type", "title", "description", "default"];

/// The formats of a text that MCP has.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// The schema of a form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormSchema {
    r#type: String,
    #[serde(deserialize_with = "in_order")]
    properties: Vec<(String, Value)>,
    #[serde(default)]
    required: BTreeSet<String>,
    /// Without a meaning for the answer, which has no other fields in any case.
    #[serde(default, rename = "additionalProperties")]
    _additional: Option<bool>,
    #[serde(default, rename = "$schema")]
    _dialect: Option<IgnoredAny>,
    #[serde(default, rename = "title")]
    _title: Option<IgnoredAny>,
    #[serde(default, rename = "description")]
    _description: Option<IgnoredAny>,
}

/// Deserializes the properties in their order, which the user sees.
fn in_order<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<(String, Value)>, D::Error> {
    struct InOrder;
    impl<'de> Visitor<'de> for InOrder {
        type Value = Vec<(String, Value)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of fields")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields: Self::Value = Vec::new();
            while let Some((name, schema)) = map.next_entry::<String, Value>()? {
                if fields.len() == MAX_FIELDS {
                    return Err(A::Error::custom(format!("more than {MAX_FIELDS} fields")));
                }
                if fields.iter().any(|(other, _)| *other == name) {
                    let name = quoted(&name);
                    return Err(A::Error::custom(format!("two fields `{name}`")));
                }
                fields.push((name, schema));
            }
            Ok(fields)
        }
    }
    source.deserialize_map(InOrder)
}

impl Form {
    /// Parses the JSON Schema of a form: an object of 1 to 32 fields, each a string, a number, an
    /// integer, a boolean or one of at most 64 choices. The schema has at most 64 KiB, and each
    /// text in it at most 2 KiB.
    ///
    /// # Errors
    /// The bound or the rule that it breaks, as a clause.
    pub fn parse(schema: &str) -> Result<Self, Reason> {
        if schema.len() > MAX_SCHEMA_BYTES {
            return Err(format!("its schema has more than {MAX_SCHEMA_BYTES} bytes").into());
        }
        let FormSchema {
            r#type,
            properties,
            required,
            ..
        } = serde_json::from_str(schema).map_err(|error| {
            format!(
                "its schema does not consist of flat fields ({})",
                quoted_all(&error)
            )
        })?;
        if r#type != "object" {
            return Err("its schema does not have the type `object`".into());
        }
        if properties.is_empty() {
            return Err("it has no fields".into());
        }
        if let Some(other) = required
            .iter()
            .find(|name| properties.iter().all(|(known, _)| known != *name))
        {
            return Err(Reason::from(format!(
                "it requires `{}`, which is not one of its fields",
                quoted(other)
            )));
        }
        let fields = properties.iter().map(|(name, schema)| {
            let field = FormField::from_schema(name, schema, required.contains(name));
            let field = field.and_then(|field| match field.kind {
                FieldKind::Many { .. } => Err("is a list, but a field has one value".into()),
                _ => Ok(field),
            });
            field.map_err(|why| format!("its field `{}` {why}", quoted(name)).into())
        });
        fields.collect::<Result<_, _>>().map(Self)
    }
}

/// Returns an error of the parser, which may quote a name of any length.
fn quoted_all(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.chars()
        .take(200)
        .flat_map(char::escape_debug)
        .collect()
}

impl FormField {
    /// Reads a field from its schema. A default that does not fit is left out: it would be refused
    /// as an answer.
    ///
    /// # Errors
    /// The bound or the rule that it breaks, as a clause that follows the name of the field.
    pub fn from_schema(name: &str, schema: &Value, required: bool) -> Result<Self, Reason> {
        let schema = schema.as_object().ok_or("has no schema")?;
        let kind = kind(schema)?;
        if !kind.has_values() {
            return Err("has bounds that no value satisfies".into());
        }
        let known = keywords(&kind);
        if let Some(other) = schema
            .keys()
            .find(|key| !FIELD_KEYWORDS.contains(&key.as_str()) && !known.contains(&key.as_str()))
        {
            return Err(Reason::from(format!(
                "has `{}`, which is not allowed in a flat field",
                quoted(other)
            )));
        }
        let mut field = Self {
            name: bounded(name)?,
            title: text(schema, "title")?,
            description: text(schema, "description")?,
            required,
            default: None,
            kind,
        };
        let default = schema.get("default");
        let is_integer = matches!(field.kind, FieldKind::Integer(_));
        field.default = default
            .filter(|value| field.check(value).is_ok() && (!is_integer || value.is_i64()))
            .cloned();
        Ok(field)
    }

    /// Returns the field as a JSON Schema.
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut schema = match &self.kind {
            FieldKind::Text {
                format,
                min_length,
                max_length,
            } => json!({
                "type": "string", "format": format, "minLength": min_length, "maxLength": max_length,
            }),
            FieldKind::Number(NumberRange { minimum, maximum }) => {
                json!({ "type": "number", "minimum": minimum, "maximum": maximum })
            }
            FieldKind::Integer(NumberRange { minimum, maximum }) => {
                json!({ "type": "integer", "minimum": minimum, "maximum": maximum })
            }
            FieldKind::Boolean => json!({ "type": "boolean" }),
            FieldKind::One { choices } if choices.iter().all(|choice| choice.title.is_none()) => {
                let values: Vec<&str> = choices.iter().map(|choice| &*choice.value).collect();
                json!({ "type": "string", "enum": values })
            }
            FieldKind::One { choices } => json!({ "type": "string", "oneOf": titled(choices) }),
            FieldKind::Many {
                choices,
                min_items,
                max_items,
            } => json!({
                "type": "array", "items": { "anyOf": titled(choices) },
                "minItems": min_items, "maxItems": max_items,
            }),
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("title".to_owned(), json!(self.title));
            schema.insert("description".to_owned(), json!(self.description));
            schema.insert("default".to_owned(), json!(self.default));
            schema.retain(|_, value| !value.is_null());
        }
        schema
    }
}

fn titled(choices: &[FieldChoice]) -> Vec<Value> {
    let choice = |choice: &FieldChoice| json!({ "const": choice.value, "title": choice.label() });
    choices.iter().map(choice).collect()
}

fn keywords(kind: &FieldKind) -> &'static [&'static str] {
    match kind {
        FieldKind::Text { .. } => &["format", "minLength", "maxLength"],
        FieldKind::Number(_) | FieldKind::Integer(_) => &["minimum", "maximum"],
        FieldKind::Boolean => &[],
        FieldKind::One { .. } => &["enum", "enumNames", "oneOf"],
        FieldKind::Many { .. } => &["items", "minItems", "maxItems"],
    }
}

fn kind(schema: &Map<String, Value>) -> Result<FieldKind, Reason> {
    let kind = schema.get("type").and_then(Value::as_str);
    if kind == Some("array") {
        let items = schema.get("items").and_then(Value::as_object);
        let choices = items.map(choices).transpose()?.flatten();
        return Ok(FieldKind::Many {
            choices: choices.ok_or("is a list without choices")?,
            min_items: count(schema, "minItems")?,
            max_items: count(schema, "maxItems")?,
        });
    }
    if kind == Some("string")
        && let Some(choices) = choices(schema)?
    {
        return Ok(FieldKind::One { choices });
    }
    let range = || {
        Ok::<_, Reason>(NumberRange {
            minimum: number(schema, "minimum")?,
            maximum: number(schema, "maximum")?,
        })
    };
    match kind {
        Some("string") => Ok(FieldKind::Text {
            format: format(schema)?,
            min_length: count(schema, "minLength")?,
            max_length: count(schema, "maxLength")?,
        }),
        Some("number") => range().map(FieldKind::Number),
        Some("integer") => {
            let range = range()?;
            let bounds = [&range.minimum, &range.maximum];
            let is_whole = bounds.into_iter().flatten().all(Number::is_i64);
            match is_whole {
                true => Ok(FieldKind::Integer(range)),
                false => Err("has a bound that is not a 64-bit integer".into()),
            }
        }
        Some("boolean") => Ok(FieldKind::Boolean),
        _ => Err("is not a string, number, integer or boolean".into()),
    }
}

/// Returns the choices of a schema: `enum` with or without `enumNames`, or titled constants.
fn choices(schema: &Map<String, Value>) -> Result<Option<Vec<FieldChoice>>, Reason> {
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    let names = schema.get("enumNames").and_then(Value::as_array);
    let name = |index: usize| names.and_then(|names| names.get(index)?.as_str());
    let list = |value: &'_ Value| match value.as_array() {
        Some(list) if (1..=MAX_FIELD_CHOICES).contains(&list.len()) => Ok(list.clone()),
        _ => Err(Reason::from(format!(
            "does not have 1 to {MAX_FIELD_CHOICES} choices"
        ))),
    };
    let choice = |value: Option<&Value>, title: Option<&str>| {
        let value = value.and_then(Value::as_str);
        let value = bounded(value.ok_or("has a choice that is not a string")?)?;
        let title = title.filter(|title| *title != value);
        let title = title.map(bounded).transpose()?;
        Ok::<_, Reason>(FieldChoice { value, title })
    };
    let choices: Vec<FieldChoice> = match (schema.get("enum"), titled) {
        (Some(_), Some(_)) => return Err("lists its choices twice".into()),
        (Some(values), None) => {
            let values = list(values)?.into_iter().enumerate();
            values
                .map(|(index, value)| choice(Some(&value), name(index)))
                .collect::<Result<_, _>>()?
        }
        (None, Some(values)) => {
            let values = list(values)?.into_iter();
            values
                .map(|value| {
                    choice(
                        value.get("const"),
                        value.get("title").and_then(Value::as_str),
                    )
                })
                .collect::<Result<_, _>>()?
        }
        (None, None) => return Ok(None),
    };
    let different: BTreeSet<&str> = choices.iter().map(|choice| &*choice.value).collect();
    match different.len() == choices.len() {
        true => Ok(Some(choices)),
        false => Err("lists a choice twice".into()),
    }
}

fn bounded(text: &str) -> Result<String, Reason> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("has a string of more than {MAX_TEXT_BYTES} bytes").into());
    }
    Ok(text.to_owned())
}

fn text(schema: &Map<String, Value>, key: &str) -> Result<Option<String>, Reason> {
    match schema.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => bounded(text).map(Some),
        Some(_) => Err(format!("has a `{key}` that is not a string").into()),
    }
}

fn format(schema: &Map<String, Value>) -> Result<Option<String>, Reason> {
    match text(schema, "format")? {
        Some(format) if !FORMATS.contains(&format.as_str()) => {
            Err(format!("has a `format` that is not one of {}", FORMATS.join(", ")).into())
        }
        format => Ok(format),
    }
}

fn count(schema: &Map<String, Value>, key: &str) -> Result<Option<u64>, Reason> {
    match schema.get(key) {
        None => Ok(None),
        Some(value) => {
            let count = value.as_u64().filter(|count| *count <= u64::from(u32::MAX));
            count.map(Some).ok_or_else(|| {
                format!("has a `{key}` that is not a whole number of at least 0").into()
            })
        }
    }
}

fn number(schema: &Map<String, Value>, key: &str) -> Result<Option<Number>, Reason> {
    match schema.get(key) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.clone())),
        Some(_) => Err(format!("has a `{key}` that is not a number").into()),
    }
}

//! Forms: several flat fields that are asked for at once, in the subset of JSON Schema of MCP's
//! form elicitation. They come from untrusted components and servers, so each is bounded.

mod check;
mod schema;
#[cfg(test)]
mod tests;
mod typed;

use crate::reason::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// The most fields of a form; each is a prompt.
pub const MAX_FIELDS: usize = 32;

/// The most choices of a field.
pub const MAX_FIELD_CHOICES: usize = 64;

/// The longest name, title, description or choice, in bytes.
const MAX_TEXT_BYTES: usize = 2 * 1024;

/// The longest schema of a form, in bytes.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// The longest text in an answer, in bytes.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// The fields that a tool asks for, in its order. [`Form::parse`] bounds them.
///
/// ```
/// use agent_host_types::form::Form;
///
/// let schema = r#"{"type": "object", "properties": {"port": {"type": "integer"}}}"#;
/// let form = Form::parse(schema)?;
/// assert_eq!(form.fields().len(), 1);
/// assert_eq!(form.fields()[0].name, "port");
/// # Ok::<(), agent_host_types::reason::Reason>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Form(Vec<FormField>);

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormField {
    /// The key of the value.
    pub name: String,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the form needs a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The value of an empty answer. It fits the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The kind of value.
    pub kind: FieldKind,
}

/// The kind of a field's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FieldKind {
    /// A text.
    Text {
        /// The format of the text, such as `email`; a hint that is not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
        /// The least characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u64>,
        /// The most characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u64>,
    },
    /// A number.
    Number(NumberRange),
    /// A number without a fraction.
    Integer(NumberRange),
    /// Yes or no.
    Boolean,
    /// One of these.
    One {
        /// The choices.
        choices: Vec<FieldChoice>,
    },
    /// Several of these. Only MCP servers ask for them.
    Many {
        /// The choices.
        choices: Vec<FieldChoice>,
        /// The least choices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_items: Option<u64>,
        /// The most choices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_items: Option<u64>,
    },
}

/// The bounds of a number, both included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumberRange {
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub minimum: Option<Number>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub maximum: Option<Number>,
}

/// A choice of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldChoice {
    /// The value that is sent.
    pub value: String,
    /// The text for the user, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl FieldChoice {
    /// Returns the text for the user.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

impl FormField {
    /// Returns the text that names the field for the user.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl Form {
    /// Returns the fields, in the order of the schema.
    #[must_use]
    pub fn fields(&self) -> &[FormField] {
        &self.0
    }

    /// Applies a redaction to each text of the form.
    pub fn redact(&mut self, redact: impl Fn(&mut String)) {
        for field in &mut self.0 {
            redact(&mut field.name);
            field.title.iter_mut().for_each(&redact);
            field.description.iter_mut().for_each(&redact);
            if let Some(Value::String(text)) = &mut field.default {
                redact(text);
            }
            match &mut field.kind {
                FieldKind::Text { format, .. } => format.iter_mut().for_each(&redact),
                FieldKind::One { choices } | FieldKind::Many { choices, .. } => {
                    for choice in choices {
                        redact(&mut choice.value);
                        choice.title.iter_mut().for_each(&redact);
                    }
                }
                FieldKind::Number(_) | FieldKind::Integer(_) | FieldKind::Boolean => {}
            }
        }
    }

    /// Checks the values of an answer: each fits its field, and none is missing or unknown.
    ///
    /// # Errors
    /// The escaped name of a field and why its value cannot be taken, as a clause.
    pub fn check(&self, values: &Map<String, Value>) -> Result<(), Reason> {
        if let Some(other) = values
            .keys()
            .find(|name| self.0.iter().all(|field| field.name != **name))
        {
            return Err(format!("the form has no field `{}`", quoted(other)).into());
        }
        for field in &self.0 {
            match values.get(&field.name) {
                Some(value) => field
                    .check(value)
                    .map_err(|why| format!("the field `{}` {why}", quoted(&field.name)))?,
                None if field.required => {
                    return Err(format!("the field `{}` needs a value", quoted(&field.name)).into());
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// Returns the first 80 characters of a text, escaped for a message.
fn quoted(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

//! Questions of a server to the user (`elicitation/create`): bounded forms of primitive fields, and
//! addresses that the user opens. Every text in them is the server's.

use agent_host_engine::{BoxFuture, schema::AnswerSchema};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// The maximum length of a message, in bytes; that of a tool's question.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// The maximum of fields of a form; each is a prompt.
const MAX_FIELDS: usize = 32;

/// The maximum of choices of a field.
const MAX_CHOICES: usize = 64;

/// The maximum length of a title, a description, a choice or an address, in bytes.
const MAX_TEXT_BYTES: usize = 2 * 1024;

/// Asks the user on behalf of servers.
pub trait Elicitor: fmt::Debug + Send + Sync {
    /// Asks one question. The answer to a form fits its fields.
    fn ask(&self, elicitation: Elicitation) -> BoxFuture<'static, ElicitationAnswer>;
}

/// A question of a server.
#[derive(Debug)]
pub struct Elicitation {
    /// The configured name of the server.
    pub server: String,
    /// The server's words.
    pub message: String,
    /// The kind of answer.
    pub kind: ElicitationKind,
}

/// The kind of answer that a server wants.
#[derive(Debug)]
pub enum ElicitationKind {
    /// A form.
    Form(Vec<Field>),
    /// An `http` or `https` address that the user is to open; the answer goes elsewhere.
    Url(String),
}

/// The user's answer to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// The values of the fields; empty for an address that the user agreed to open.
    Accept(Map<String, Value>),
    /// The user refused.
    Decline,
    /// The user made no choice.
    Cancel,
}

/// A field of a form.
#[derive(Debug)]
pub struct Field {
    /// The key of the value.
    pub name: String,
    /// The title, if it has one.
    pub title: Option<String>,
    /// The description, if it has one.
    pub description: Option<String>,
    /// Whether the form needs a value.
    pub required: bool,
    /// The value of an empty answer.
    pub default: Option<Value>,
    /// The kind of value.
    pub kind: FieldKind,
    schema: Arc<AnswerSchema>,
}

/// The kind of a field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A text; the format that the server names, such as `email`.
    Text(Option<String>),
    /// A number.
    Number,
    /// A number without a fraction.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of these.
    One(Vec<Choice>),
    /// Any of these.
    Many(Vec<Choice>),
}

/// A choice of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value that is sent.
    pub value: String,
    /// The text for the user.
    pub title: String,
}

impl Field {
    /// Parses what the user typed: a number of a choice, several with commas between them, `y` or
    /// `n`, a number, or text. Nothing typed is the default, or no value.
    ///
    /// # Errors
    /// The reason why it is no value of the field, as a sentence that may quote the server.
    pub fn parse(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        let value = match (typed, &self.default) {
            ("", Some(default)) => default.clone(),
            ("", None) if self.required => return Err("A value is required.".to_owned()),
            ("", None) => return Ok(None),
            _ => self.kind.parse(typed)?,
        };
        let checked = self.schema.parse(&value.to_string());
        checked.map(Some).map_err(|error| error.to_string())
    }

    fn new(name: &str, schema: &Value, required: bool) -> Result<Self, String> {
        let text = |key: &str| {
            let text = schema.get(key).and_then(Value::as_str);
            text.map(bounded).transpose()
        };
        let kind = FieldKind::of(schema)?;
        let compiled = AnswerSchema::compile(schema).map_err(|error| error.to_string())?;
        let default = schema.get("default").filter(|default| {
            // One that does not fit would be refused as an answer.
            compiled.parse(&default.to_string()).is_ok()
        });
        Ok(Self {
            name: bounded(name)?,
            title: text("title")?,
            description: text("description")?,
            required,
            default: default.cloned(),
            kind,
            schema: Arc::new(compiled),
        })
    }
}

impl FieldKind {
    fn of(schema: &Value) -> Result<Self, String> {
        let kind = schema.get("type").and_then(Value::as_str);
        if kind == Some("array") {
            let items = schema.get("items").unwrap_or(&Value::Null);
            let choices = choices(items)?.ok_or("a list without choices")?;
            return Ok(Self::Many(choices));
        }
        if let Some(choices) = choices(schema)? {
            return Ok(Self::One(choices));
        }
        match kind {
            Some("string") => {
                let format = schema.get("format").and_then(Value::as_str);
                Ok(Self::Text(format.map(bounded).transpose()?))
            }
            Some("number") => Ok(Self::Number),
            Some("integer") => Ok(Self::Integer),
            Some("boolean") => Ok(Self::Boolean),
            _ => Err("a field of an unknown type".to_owned()),
        }
    }

    fn parse(&self, typed: &str) -> Result<Value, String> {
        match self {
            Self::Text(_) => Ok(typed.into()),
            Self::Number | Self::Integer => match serde_json::from_str(typed) {
                Ok(Value::Number(number)) => Ok(Value::Number(number)),
                _ => Err("Type a number, such as 12.".to_owned()),
            },
            Self::Boolean => match typed.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("Type y or n.".to_owned()),
            },
            Self::One(choices) => chosen(choices, typed),
            Self::Many(choices) => {
                let each = typed.split(',').map(|one| chosen(choices, one.trim()));
                each.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
        }
    }
}

/// Returns the choice of a number, counted from 1.
fn chosen(choices: &[Choice], typed: &str) -> Result<Value, String> {
    let index = typed.parse::<usize>().ok();
    let choice = index.and_then(|number| choices.get(number.checked_sub(1)?));
    choice
        .map(|choice| choice.value.as_str().into())
        .ok_or_else(|| format!("Type the number of a choice, 1 to {}.", choices.len()))
}

/// Returns the choices of a schema: `enum` with or without `enumNames`, or titled constants.
fn choices(schema: &Value) -> Result<Option<Vec<Choice>>, String> {
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    let titled = titled.and_then(Value::as_array);
    let pairs: Vec<(Option<&str>, Option<&str>)> =
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let names = schema.get("enumNames").and_then(Value::as_array);
            let name = |index: usize| names.and_then(|names| names.get(index)?.as_str());
            let values = values.iter().enumerate();
            values
                .map(|(index, value)| (value.as_str(), name(index)))
                .collect()
        } else if let Some(values) = titled {
            let values = values.iter();
            values
                .map(|value| {
                    let (value, title) = (value.get("const"), value.get("title"));
                    (value.and_then(Value::as_str), title.and_then(Value::as_str))
                })
                .collect()
        } else {
            return Ok(None);
        };
    if pairs.is_empty() || pairs.len() > MAX_CHOICES {
        return Err(format!("a field has not 1 to {MAX_CHOICES} choices"));
    }
    let choice = |(value, title): (Option<&str>, Option<&str>)| {
        let value = bounded(value.ok_or("a choice is no text")?)?;
        let title = title.map(bounded).transpose()?;
        Ok(Choice {
            title: title.unwrap_or_else(|| value.clone()),
            value,
        })
    };
    let choices: Result<_, String> = pairs.into_iter().map(choice).collect();
    choices.map(Some)
}

fn bounded(text: &str) -> Result<String, String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("a text of it has more than {MAX_TEXT_BYTES} bytes"));
    }
    Ok(text.to_owned())
}

impl Elicitation {
    /// Checks the bounds of a question.
    ///
    /// # Errors
    /// The bound that it exceeds, as a clause.
    pub(crate) fn new(server: &str, params: ElicitRequestParams) -> Result<Self, String> {
        let (message, kind) = match params {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => (message, ElicitationKind::Form(fields(&requested_schema)?)),
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, ElicitationKind::Url(web_address(&url)?))
            }
            _ => return Err("it is of an unknown mode".to_owned()),
        };
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(format!(
                "its message has more than {MAX_MESSAGE_BYTES} bytes"
            ));
        }
        Ok(Self {
            server: server.to_owned(),
            message,
            kind,
        })
    }
}

/// Returns the fields in the server's order.
fn fields(schema: &ElicitationSchema) -> Result<Vec<Field>, String> {
    if schema.properties.len() > MAX_FIELDS {
        return Err(format!("its form has more than {MAX_FIELDS} fields"));
    }
    let required = schema.required.as_deref().unwrap_or_default();
    let sorted = || schema.properties.keys().cloned().collect();
    let names: Vec<String> = schema.property_order.clone().unwrap_or_else(sorted);
    let definitions = names.iter().filter_map(|name| {
        let definition = schema.properties.get(name)?;
        Some((name, definition))
    });
    definitions
        .map(|(name, definition)| {
            let definition = serde_json::to_value(definition).map_err(|error| error.to_string())?;
            Field::new(name, &definition, required.contains(name))
        })
        .collect()
}

/// Returns an address that a browser may be shown: `http` or `https`, with a host and without a
/// user, which would be taken for the host.
fn web_address(text: &str) -> Result<String, String> {
    let address: reqwest::Url = bounded(text)?
        .parse()
        .map_err(|_| "its address is none".to_owned())?;
    if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
        return Err("its address is not one of http or https".to_owned());
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err("its address has a user in it".to_owned());
    }
    // In the form that browsers use: the host in ASCII.
    Ok(address.into())
}

impl From<ElicitationAnswer> for ElicitResult {
    fn from(answer: ElicitationAnswer) -> Self {
        match answer {
            ElicitationAnswer::Accept(values) if values.is_empty() => {
                Self::new(ElicitationAction::Accept)
            }
            ElicitationAnswer::Accept(values) => {
                Self::new(ElicitationAction::Accept).with_content(Value::Object(values))
            }
            ElicitationAnswer::Decline => Self::new(ElicitationAction::Decline),
            ElicitationAnswer::Cancel => Self::new(ElicitationAction::Cancel),
        }
    }
}

#[cfg(test)]
mod tests;
